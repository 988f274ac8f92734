package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.POLL;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
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

  /** L-6.13. */
  @Test
  void aMachineThatSleptDuringTheRequestAsksTheStoreBeforeItHandsOutTheLease() throws Exception {
    sleepDuring(TRY_ACQUIRE);
    Lease tried = held("x");
    assertThat(store.count(VERIFY)).isOne();
    assertThat(tried.isHeld()).isTrue();
    assertThat(tried.state()).isEqualTo(LeaseState.HELD);
    sleepDuring(ACQUIRE_OR_QUEUE);
    Lease waited = lock("y").lock();

    assertThat(store.count(VERIFY)).isEqualTo(2);
    assertThat(waited.isHeld()).isTrue();
    tried.close();
    waited.close();
  }

  /** L-6.13. */
  @Test
  void aMachineThatSleptDuringItsLookIntoTheStoresQueueAsksTheStoreToo() throws Exception {
    Lease others = others("x").lock();
    Actor<Boolean> waiter = start("waiter", () -> {
          try (Lease lease = lock("x").lock()) {
            return lease.isHeld();
          }
        })
        .awaitParked();
    sleepDuring(POLL);
    others.close();

    assertThat(waiter.result()).isTrue();
    assertThat(store.count(VERIFY)).isOne();
  }

  /** L-6.13: what the store no longer shows is asked for anew. */
  @Test
  void aGrantThatWasGoneWhenTheMachineWokeUpIsAskedForAnew() throws Exception {
    store.next(TRY_ACQUIRE, call -> {
      Object answer = call.call();
      time.jumpWallClock(HOUR);
      assertThat(others("x").forceRelease(others("x").inspect().orElseThrow().token()))
          .isTrue();
      return answer;
    });
    Lease lease = held("x");

    assertThat(lease.isHeld()).isTrue();
    assertThat(store.calls())
        .extracting(call -> call.op())
        .containsExactly(TRY_ACQUIRE, VERIFY, TRY_ACQUIRE);
    assertThat(store.calls(TRY_ACQUIRE))
        .extracting(call -> call.claims().get(0).ownerId())
        .doesNotHaveDuplicates();
    lease.close();
  }

  /** L-6.13. */
  @Test
  void aGrantThatIsAnothersWhenTheMachineWakesUpIsNone() throws Exception {
    AtomicReference<Lease> next = new AtomicReference<>();
    store.next(TRY_ACQUIRE, call -> {
      Object answer = call.call();
      time.jumpWallClock(HOUR);
      assertThat(others("x").forceRelease(others("x").inspect().orElseThrow().token()))
          .isTrue();
      next.set(others("x").tryLock().orElseThrow());
      return answer;
    });

    assertThat(lock("x").tryLock()).isEmpty();
    next.get().verify();
    next.get().close();
  }

  /** L-6.13: without an answer there is no lease, no action, and in the end no grant. */
  @Test
  void aGrantThatNobodyConfirmsAfterTheSleepIsGivenBackAndNoActionRuns() throws Exception {
    sleepDuring(ACQUIRE_OR_QUEUE);
    store.always(VERIFY, call -> {
      throw StoreException.unanswered("no network yet after the sleep", null);
    });
    AtomicBoolean ran = new AtomicBoolean();

    assertThatThrownBy(() -> lock("x").run(lease -> ran.set(true)))
        .isInstanceOf(LockStoreException.class);
    assertThat(ran).isFalse();
    assertThat(store.count(RELEASE)).isOne();
    assertThat(store.holder("x")).isEmpty();
    store.heal();
    held("x").close();
  }

  /** L-6.13. */
  @Test
  void aGrantWhoseConfirmationAnInterruptBrokeIsGivenBackBeforeTheStoreIsAskedAgain()
      throws Exception {
    sleepDuring(ACQUIRE_OR_QUEUE);
    store.next(VERIFY, call -> {
      Thread.currentThread().interrupt();
      throw StoreException.unanswered("interrupted", null);
    });
    Actor<Boolean> locker = start("locker", () -> {
      Lock lock = lock("x").asLock();
      lock.lock();
      try {
        return Thread.currentThread().isInterrupted();
      } finally {
        lock.unlock();
      }
    });

    assertThat(locker.result()).isTrue();
    assertThat(store.calls())
        .extracting(ScriptedStore.Call::op)
        .containsExactly(ACQUIRE_OR_QUEUE, VERIFY, RELEASE, ACQUIRE_OR_QUEUE, RELEASE);
  }

  private void sleepDuring(ScriptedStore.Op op) {
    store.next(op, call -> {
      Object answer = call.call();
      time.jumpWallClock(HOUR);
      return answer;
    });
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

  /** L-7.3. The machine may have slept while another had the lock: nobody says that it did not. */
  @Test
  void aLeaseInDoubtThatIsClosedWithoutAnAnswerIsLost() {
    Lease lease = held("x");
    settle();
    store.breakDown();
    time.jumpWallClock(HOUR);

    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED));
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    store.heal();
  }

  /** L-7.4. The first request may have been carried out, or the lease may have ended before. */
  @Test
  void aLeaseThatTheStoreCannotSayWasReleasedIsLostOnlyIfItWasInDoubt() {
    Lease inDoubt = held("doubted");
    Lease sure = held("sure");
    settle();
    store.always(RELEASE, call -> {
      Object unused = call.call();
      return ReleaseOutcome.RELEASED_OR_LOST;
    });
    store.always(RENEW, call -> {
      throw StoreException.unanswered("no answer", null);
    });
    sure.close();
    time.jumpWallClock(HOUR);

    assertThatThrownBy(inDoubt::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED));
    assertThat(sure.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(inDoubt.state()).isEqualTo(LeaseState.LOST);
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

  /** L-8.14. */
  @Test
  void ensureHeldAsksTheStoreOnlyInDoubt() {
    Lease lease = held("x");
    settle();
    lease.ensureHeld();
    assertThat(store.count(VERIFY)).isZero();
    Gate gate = store.holdNext(RENEW);
    time.jumpWallClock(Duration.ofSeconds(1));
    lease.ensureHeld();

    assertThat(store.count(VERIFY)).isOne();
    assertThat(lease.isHeld()).isTrue();
    gate.open();
    lease.close();
  }

  /** L-8.14. */
  @Test
  void ensureHeldSaysLostOnlyIfTheStoreDoes() {
    Lease lease = held("x");
    settle();
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    Gate gate = store.holdNext(RENEW);
    time.jumpWallClock(Duration.ofSeconds(1));

    assertThatThrownBy(lease::ensureHeld)
        .isInstanceOfSatisfying(
            LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.TAKEN));
    gate.open();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  /** L-8.14. */
  @Test
  void ensureHeldWithoutAnAnswerIsAnExceptionAboutTheStoreAndNoLoss() {
    Lease lease = held("x");
    settle();
    store.breakDown();
    time.jumpWallClock(Duration.ofSeconds(1));
    assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockStoreException.class);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    store.heal();
    lease.ensureHeld();

    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }
}
