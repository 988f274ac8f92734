package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.LIST;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
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
  void theHolderInTheSameClientLearnsAtOnce() {
    Lease lease = held("x");
    assertThat(lock("x").forceRelease(lease.token())).isTrue();

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  /** L-2.9. */
  @Test
  void aListTellsWhatIsHeldByWhomSinceWhenAndForHowLong() {
    held("orders/2", LockOptions.fixed(Duration.ofSeconds(10))).detach();
    Instant since = Instant.ofEpochMilli(time.wallMillis());
    Lease first = held("orders/1").detach();
    held("payouts/1").detach();
    held("orders/free").close();
    time.advance(Duration.ofSeconds(4));

    List<HeldLock> held = client().list("orders/", 10);
    assertThat(held).extracting(HeldLock::name).containsExactly("orders/1", "orders/2");
    assertThat(held.get(0).token()).isEqualTo(first.token());
    assertThat(held.get(0).since()).isEqualTo(since);
    assertThat(held.get(0).description()).contains(Thread.currentThread().getName());
    assertThat(held.get(0).remaining()).isEqualTo(Duration.ofSeconds(26));
    assertThat(held.get(1).remaining()).isEqualTo(Duration.ofSeconds(6));
    assertThat(client().list("", 10)).hasSize(3);
    assertThat(client().list("", 2)).hasSize(2);
    assertThat(client().list("nothing", 10)).isEmpty();
    first.close();
  }

  @Test
  void aListThatCannotBeIsRefusedBeforeTheStoreIsAsked() {
    assertThatThrownBy(() -> client().list("", 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not 0");
    assertThatThrownBy(() -> client().list("", 10_001))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("10001");
    assertThatThrownBy(() -> client().list("x".repeat(201), 1))
        .isInstanceOf(IllegalArgumentException.class);
    client().close();
    assertThatThrownBy(() -> client().list("", 1)).isInstanceOf(LockClientClosedException.class);
    assertThat(store.count(LIST)).isZero();
  }

  /** L-2.9: a list that could not be had is not an empty one. */
  @Test
  void aStoreThatFailsIsNoEmptyList() {
    held("x").detach();
    store.failNext(LIST);

    assertThatThrownBy(() -> client().list("", 1)).isInstanceOf(LockStoreException.class);
    assertThat(client().list("", 1)).hasSize(1);
  }

  @Test
  void aTokenThatCannotBeIsMisuse() {
    assertThatThrownBy(() -> lock("x").forceRelease(0))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> lock("x").forceRelease(-1))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
