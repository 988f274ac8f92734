package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdministrationTest extends EngineTest {

  @Test
  void inspectTellsWhoHasTheLockAndForHowLong() {
    assertThat(lock("x").inspect()).isEmpty();
    Lease lease = held("x");
    time.advance(Duration.ofSeconds(4));
    LockHolder holder = others("x").inspect().orElseThrow();

    assertThat(holder.token()).isEqualTo(lease.token());
    assertThat(holder.description())
        .contains("test", String.valueOf(ProcessHandle.current().pid()))
        .contains(Thread.currentThread().getName());
    assertThat(holder.remaining()).isEqualTo(Duration.ofSeconds(26));
    assertThat(holder.isReleased()).isFalse();
    lease.close();
    assertThat(others("x").inspect()).isEmpty();
  }

  @Test
  void inspectTellsThatOnlyAMinimumHoldIsLeft() {
    held("x", LockOptions.defaults().withMinHold(Duration.ofMinutes(1))).close();

    assertThat(lock("x").inspect().orElseThrow().isReleased()).isTrue();
    assertThat(lock("x").forceRelease(lock("x").inspect().orElseThrow().token()))
        .isTrue();
    held("x").close();
  }

  @Test
  void forceReleaseFreesTheExpectedGrantAndNoOther() {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token() + 1024)).isFalse();
    assertThat(others("x").forceRelease(lease.token() - 1024 > 0 ? lease.token() - 1024 : 1))
        .isFalse();
    assertThat(lease.isHeld()).isTrue();
    lease.verify();
    assertThat(others("x").forceRelease(lease.token())).isTrue();

    assertThat(others("x").forceRelease(lease.token())).isFalse();
    assertThatThrownBy(lease::verify).isInstanceOf(LockLostException.class);
  }

  @Test
  void theHolderInTheSameClientLearnsAtOnce() {
    Lease lease = held("x");
    assertThat(lock("x").forceRelease(lease.token())).isTrue();

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aTokenThatCannotBeIsMisuse() {
    assertThatThrownBy(() -> lock("x").forceRelease(0))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> lock("x").forceRelease(-1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theCrashBoundCanBeReadFromTheLease() {
    Lease lease = held("x");

    assertThat(lease.crashBound()).isEqualTo(TTL);
    lease.close();
    assertThat(lease.crashBound()).isEqualTo(TTL);
    assertThat(lease.token()).isPositive();
    assertThat(lease.name()).isEqualTo("x");
  }
}
