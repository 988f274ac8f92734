package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Gate;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class WallClockTest extends EngineTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration ALLOWANCE = Duration.ofMillis(300);

  @Test
  void aWallClockThatRunsAheadMakesTheLeaseUncertainAndNotHeldUntilTheStoreConfirmsIt() {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.remaining()).isZero();
    gate.awaitCall();
    gate.open();
    settle();

    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  /** L-8.14. The keeper, and so the store, can be quicker than the thread that looks. */
  @Test
  void aLeaseThatIsConfirmedWhileItsHolderFindsItInDoubtIsNotLost() {
    Lease outer = held("x");
    Lease fixed = held("y", LockOptions.fixed(TTL));
    for (int i = 0; i < 500; i++) {
      time.jumpWallClock(HOUR);
      fixed.ensureHeld();
      outer.ensureHeld();
      time.jumpWallClock(HOUR);
      held("x").close();
      time.jumpWallClock(HOUR);
      fixed.extend(TTL);
    }
    fixed.close();
    outer.close();
  }

  @Test
  void aWallClockThatIsSetBackChangesNothing() {
    Lease lease = held("x");
    time.jumpWallClock(HOUR.negated());
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(store.count(RENEW)).isZero();
    pass(AT_RENEWAL);
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void aJumpWithinTheAllowanceIsNoDoubtAndTheAllowanceIsPartOfTheMargin() {
    Lease lease = held("x");
    settle(); // Else the keeper may look after the jump, and ask the store.
    time.jumpWallClock(ALLOWANCE);
    assertThat(lease.isHeld()).isTrue();
    time.jumpWallClock(Duration.ofMillis(1));

    assertThat(lease.isHeld()).isFalse();
    lease.close();
  }

  @Test
  void aJumpThatPassesAgainIsNotForgottenBeforeTheStoreConfirmsTheLease() {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    gate.awaitCall();
    time.jumpWallClock(HOUR.negated());

    assertThat(lease.isHeld()).isFalse();
    gate.open();
    settle();
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Test
  void aMachineThatSleptDuringTheRequestDoubtsTheLeaseThatItGot() {
    store.next(TRY_ACQUIRE, call -> {
      Object answer = call.call();
      time.jumpWallClock(HOUR);
      return answer;
    });
    store.breakDown();
    Lease lease = held("x");

    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    store.heal();
    lease.close();
  }

  @Test
  void anAnswerToAQuestionFromBeforeTheSleepDoesNotEndTheDoubt() {
    Lease lease = held("x");
    Gate gate = store.holdNextAnswer(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    Gate second = store.holdNext(RENEW);
    gate.open();
    second.awaitCall();

    assertThat(lease.isHeld()).isFalse();
    second.open();
    settle();
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Test
  void aLeaseInDoubtThatAnotherHasByNowIsLost() throws Exception {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aFixedLeaseInDoubtIsVerifiedAndNotExtended() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    time.advance(Duration.ofSeconds(10));
    settle();
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    settle();

    assertThat(lease.isHeld()).isTrue();
    assertThat(store.count(VERIFY)).isOne();
    assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(20));
    lease.close();
  }

  @Test
  void aDoubtThatNobodySettlesEndsWithTheDeadline() {
    Lease lease = held("x");
    store.breakDown();
    time.jumpWallClock(HOUR);
    assertThat(lease.isHeld()).isFalse();
    pass(UNTIL_DEADLINE);

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Test
  void aThreadThatReentersInDoubtAsksTheStoreFirst() {
    Lease outer = held("x");
    store.failNext(RENEW);
    time.jumpWallClock(HOUR);
    Lease nested = held("x");

    assertThat(store.count(VERIFY)).isOne();
    assertThat(nested.isHeld()).isTrue();
    nested.close();
    outer.close();
  }

  @Test
  void aThreadThatReentersInDoubtWhileTheStoreIsDownIsToldSoAndLeavesNothing() {
    Lease outer = held("x");
    store.breakDown();
    time.jumpWallClock(HOUR);

    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    store.heal();
    outer.close();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aLeaseInDoubtIsNotHandedOn() throws Exception {
    Lease lease = held("x");
    var waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    store.failNext(RENEW);
    time.jumpWallClock(HOUR);
    lease.close();

    assertThat(waiter.result().token() >>> 10).isGreaterThan(lease.token() >>> 10);
  }

  @Test
  void bothClocksAheadIsTimeThatPassed() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    time.advance(UNTIL_DEADLINE.minusNanos(1));

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }
}
