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
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeadlineTest extends EngineTest {
  private static final Duration NANO = Duration.ofNanos(1);

  @Test
  void theDeadlineCountsFromBeforeTheRequestWasSent() {
    store.delayNextAnswer(TRY_ACQUIRE, Duration.ofSeconds(3));
    Lease lease = held("x");

    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(3));
    lease.close();
  }

  @Test
  void aGrantOutOfTheStoresLineCountsFromTheLookThatFoundIt() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    time.advance(Duration.ofSeconds(7));
    store.delayNextAnswer(POLL, Duration.ofSeconds(3));
    others.close();

    assertThat(waiter.result().remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(3));
  }

  @Test
  void aRenewalCountsFromBeforeItWasSent() {
    Lease lease = held("x");
    Gate gate = store.holdNextAnswer(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    time.advance(Duration.ofSeconds(3));
    gate.open();
    settle();

    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(3));
    lease.close();
  }

  @Test
  void aLeaseIsNotHeldFromItsDeadlineOnThoughNoThreadHasRun() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    time.advance(UNTIL_DEADLINE.minus(NANO));
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.remaining()).isEqualTo(NANO);
    time.advance(NANO);

    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.remaining()).isZero();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lease::close).isInstanceOfSatisfying(LockLostException.class, e -> {
      assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED);
      assertThat(e.token()).isEqualTo(lease.token());
      assertThat(e.lockName()).isEqualTo("x");
    });
  }

  @Test
  void aLeaseThatExpiredStaysLostWhateverARenewalSaysLater() {
    Lease lease = held("x");
    Gate gate = store.holdNextAnswer(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    time.advance(UNTIL_DEADLINE);
    assertThat(lease.isHeld()).isFalse();
    gate.open();
    settle();

    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Test
  void aRenewalAfterTheDeadlineDoesNotReviveALeaseThatNobodyAskedAbout() {
    Lease lease = held("x");
    Gate gate = store.holdNextAnswer(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    time.advance(UNTIL_DEADLINE.minus(AT_RENEWAL));
    gate.open();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Test
  void aGrantThatLapsedOnItsWayIsGivenBackAndTheStoreIsAskedAnew() throws Exception {
    store.delayNextAnswer(ACQUIRE_OR_QUEUE, UNTIL_DEADLINE);
    Lease lease = lock("x").lock();

    assertThat(lease.isHeld()).isTrue();
    store.awaitCount(RELEASE, 1);
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(2);
    assertThat(store.calls(RELEASE).get(0).claims())
        .isEqualTo(store.calls(ACQUIRE_OR_QUEUE).get(0).claims());
    lease.close();
  }

  @Test
  void aTryLockWhoseGrantLapsedOnItsWayFails() {
    store.delayNextAnswer(TRY_ACQUIRE, UNTIL_DEADLINE);

    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    store.awaitCount(RELEASE, 1);
  }

  @Test
  void aLeaseThatLapsedBetweenTheGrantAndTheCallerBlocksNobody() throws Exception {
    // The keeper may look at any moment between the store's answer and the caller's lease.
    for (int i = 0; i < 300; i++) {
      String name = "x" + i;
      Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
      Actor<Lease> acquiring =
          start("acquiring", () -> lock(name, LockOptions.fixed(TTL)).tryLock().orElseThrow());
      gate.awaitCall();
      time.advance(UNTIL_DEADLINE.minus(NANO));
      gate.open();
      time.advance(NANO);
      try {
        assertThat(acquiring.result().isHeld()).isFalse();
        // Not closed: yet another thread gets the lock.
      } catch (LockStoreException e) {
        // The keeper found the loss before the caller had the lease.
        assertThat(e).hasMessageContaining("longer");
      }
      settle();
      Lease next = start("next", () -> lock(name).lockWithin(TTL)).result();
      assertThat(next.isHeld()).isTrue();
      next.close();
    }
  }

  @Test
  void aStoreWhoseGrantsAreGoodForLessThanTheTtlBoundsTheLease() {
    store.validFor(claim -> Duration.ofSeconds(6));
    Lease lease = held("x", LockOptions.fixed(TTL));

    assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(5_880));
    lease.close();
  }

  @Test
  void aLeaseIsRenewedInTimeThoughItIsGoodForLessThanItsTtl() {
    store.validFor(claim -> Duration.ofSeconds(6));
    Lease lease = held("x");
    for (int i = 0; i < 10; i++) {
      pass(Duration.ofMillis(2_300));
      assertThat(lease.isHeld()).isTrue();
    }

    assertThat(store.count(RENEW)).isBetween(9, 12);
    lease.close();
  }

  @Test
  void aNewerAnswerMayShortenTheLease() {
    Lease lease = held("x");
    store.validFor(claim -> Duration.ofSeconds(6));
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).isOne();
    assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(5_880));
    lease.close();
  }

  @Test
  void anOlderAnswerThatComesLateChangesNothing() throws Exception {
    Lease lease = held("x", LockOptions.fixed(TTL));
    Gate gate = store.holdNextAnswer(VERIFY);
    Actor<Boolean> early = start("early", () -> {
      lease.verify();
      return true;
    });
    gate.awaitCall();
    time.advance(Duration.ofSeconds(20));
    lease.verify();
    Duration remaining = lease.remaining();
    gate.open();
    early.result();

    assertThat(lease.remaining()).isEqualTo(remaining);
    lease.close();
  }

  @Test
  void anAskedStoreThatShowsAnotherHolderEndsTheLease() throws Exception {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    assertThat(lease.isHeld()).isTrue();

    assertThatThrownBy(lease::verify)
        .isInstanceOfSatisfying(
            LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.TAKEN));
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void verifyReturnsWhileTheStoreShowsTheLeaseAndRefusesAClosedHandle() {
    Lease lease = held("x");
    lease.verify();
    lease.close();

    assertThatThrownBy(lease::verify).isInstanceOf(IllegalStateException.class);
    assertThat(store.count(VERIFY)).isOne();
  }

  @Test
  void verifyOfALeaseThatIsClosedMeanwhileIsMisuseAndNoLoss() throws Exception {
    Lease lease = held("x", LockOptions.defaults().withOwnership(Ownership.LEASE));
    Gate gate = store.holdNext(VERIFY);
    Actor<Boolean> verifying = start("verifying", () -> {
      lease.verify();
      return true;
    });
    gate.awaitCall();
    lease.close();
    gate.open();

    assertThatThrownBy(verifying::result).isInstanceOf(IllegalStateException.class);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  /** L-4.7: the allowance is of the whole TTL, and not of what is left of it. */
  @Test
  void aVerificationMovesADeadlineNotABitLater() {
    store.always(RENEW, call -> {
      throw StoreException.refused("not now", null);
    });
    for (LockOptions options : List.of(LockOptions.fixed(TTL), LockOptions.renewed(TTL))) {
      Lease lease = held("x", options);
      for (int second = 1; second < TTL.toSeconds(); second++) {
        time.advance(Duration.ofSeconds(1));
        lease.verify();
        assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(second));
      }
      lease.close();
    }
  }

  /** L-5.1: the store answered about the time before the renewal. */
  @Test
  void aVerificationThatARenewalOvertookDoesNotShortenTheLease() throws Exception {
    Lease lease = held("x");
    Gate renewal = store.holdNext(RENEW);
    advance(AT_RENEWAL);
    renewal.awaitCall();
    time.advance(Duration.ofSeconds(1));
    Gate verification = store.holdNextAnswer(VERIFY);
    Actor<Boolean> verifying = start("verifying", () -> {
      lease.verify();
      return true;
    });
    verification.awaitCall();
    time.advance(Duration.ofSeconds(1));
    renewal.open();
    settle();
    Duration renewed = lease.remaining();
    verification.open();
    verifying.result();

    assertThat(renewed).isEqualTo(UNTIL_DEADLINE.minusSeconds(2));
    assertThat(lease.remaining()).isEqualTo(renewed);
    lease.close();
  }
}
