package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Threads of one client that want more permits than there are. */
class PermitHandOffTest extends EngineTest {
  private static final LockOptions DEFAULTS = LockOptions.defaults();
  private static final Duration WAIT = Duration.ofSeconds(3);

  private int started;

  private DistributedLock semaphore(int permits) {
    return client().semaphore("s", permits);
  }

  private DistributedLock elsewhere(int permits) {
    return opened(new ScriptedStore(time, server).client().clientName("another").build())
        .semaphore("s", permits);
  }

  private static Lease take(DistributedLock semaphore) {
    return semaphore.tryLock().orElseThrow();
  }

  private Actor<Lease> waiter(DistributedLock semaphore) {
    started++;
    return start("waiter" + started, semaphore::lock).awaitParked();
  }

  private static void assertHandedOn(Lease before, Lease after) {
    assertThat(after.token()).isEqualTo(before.token() + 1);
    assertThat(after.permit()).isEqualTo(before.permit());
  }

  private static void assertGivenBack(Lease before, Lease after) {
    assertThat(after.token() >>> 10).isGreaterThan(before.token() >>> 10);
  }

  @Test
  void aPermitIsHandedOnWithoutARequestWithAHigherToken() throws Exception {
    Lease first = take(semaphore(2));
    Lease second = take(semaphore(2));
    Actor<Lease> waiter = waiter(semaphore(2));
    first.close();
    Lease third = waiter.result();

    assertHandedOn(first, third);
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(third.isHeld()).isTrue();
    assertThat(semaphore(2).holders()).hasSize(2);
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isZero();
    assertThat(store.count(RELEASE)).isZero();
    second.close();
    third.close();
    assertThat(store.count(RELEASE)).isEqualTo(2);
    settle();
    assertThat(server.size()).isZero();
  }

  @Test
  void threadsThatWaitInTheClientAreServedInTheirOrder() throws Exception {
    DistributedLock semaphore = client().semaphore("s", 1, DEFAULTS.withOwnership(Ownership.LEASE));
    Lease lease = take(semaphore);
    List<Actor<Lease>> waiters = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      waiters.add(waiter(semaphore));
    }
    for (Actor<Lease> waiter : waiters) {
      lease.close();
      Lease next = waiter.result();
      assertHandedOn(lease, next);
      lease = next;
    }
    lease.close();
    assertThat(store.count(RELEASE)).isEqualTo(1);
  }

  @Test
  void oneWaitsAtTheStoreForAll() throws Exception {
    DistributedLock holders = elsewhere(2);
    List<Lease> held = List.of(take(holders), take(holders));
    List<Actor<Lease>> waiters = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      waiters.add(waiter(semaphore(2)));
    }
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(1);
    held.forEach(Lease::close);

    // All that became free is theirs.
    Lease first = waiters.get(0).result();
    Lease second = waiters.get(1).result();
    assertThat(List.of(first.permit(), second.permit())).containsExactlyInAnyOrder(0, 1);
    // And more there is not.
    assertThat(waiters.get(2).isDone()).isFalse();
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(2);
  }

  @Test
  void asManyAskAtOnceAsThereArePermits() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Gate second = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> one = start("one", () -> semaphore(2).lock());
    Actor<Lease> other = start("other", () -> semaphore(2).lock());
    store.awaitCount(ACQUIRE_OR_QUEUE, 2);
    Actor<Lease> third = waiter(semaphore(2));
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(2);
    gate.open();
    second.open();

    assertThat(List.of(one.result().permit(), other.result().permit()))
        .containsExactlyInAnyOrder(0, 1);
    assertThat(third.isDone()).isFalse();
  }

  @Test
  void aPermitIsHandedOnForAShortTimeOnly() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Lease> waiter = waiter(semaphore(1));
    time.advance(Duration.ofMillis(100));
    first.close();

    assertGivenBack(first, waiter.result());
    assertThat(store.count(RELEASE)).isEqualTo(1);
  }

  @Test
  void aWaiterOfAnotherClientGetsItsTurnThoughLocalOnesWait() throws Exception {
    Lease first = take(semaphore(1));
    DistributedLock elsewhere = elsewhere(1);
    Actor<Lease> other = waiter(elsewhere);
    Actor<Lease> local = waiter(semaphore(1));
    time.advance(Duration.ofMillis(100));
    first.close();

    Lease others = other.result();
    assertThat(local.isDone()).isFalse();
    start("closer", () -> {
          others.close();
          return true;
        })
        .result();
    assertThat(local.result().token()).isGreaterThan(others.token());
  }

  @Test
  void whoWaitsInTheClientHasATurnWhenALeaseIsLost() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Lease> waiter = waiter(semaphore(1));
    Grant granted = store.grants("s").get(0);
    assertThat(elsewhere(1).forceRelease(first.token())).isTrue();
    store.events().lost(granted, LeaseLoss.Reason.TAKEN);

    // The lost lease is still open.
    assertGivenBack(first, waiter.result());
    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void whoseTimeIsOverAsksTheStoreOnce() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Boolean> waiter =
        start("waiter", () -> semaphore(1).tryLock(WAIT).isPresent()).awaitParked();
    time.advance(WAIT);

    assertThat(waiter.result()).isFalse();
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
    first.close();
    take(semaphore(1)).close();
  }

  @Test
  void whoDoesNotWaitAsksTheStore() {
    Lease first = take(semaphore(1));

    assertThat(semaphore(1).tryLock()).isEmpty();
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
    first.close();
  }

  @Test
  void anotherNumberIsRefusedThoughThreadsWaitInTheClient() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Lease> waiter = waiter(semaphore(1));
    DistributedLock two = semaphore(2);

    assertThatThrownBy(two::lock).isInstanceOf(PermitsMismatchException.class);
    assertThatThrownBy(two::tryLock).isInstanceOf(PermitsMismatchException.class);
    first.close();
    assertHandedOn(first, waiter.result());
  }

  @Test
  void aLeaseThatIsNotHandedOnIsWaitedForAtTheStore() throws Exception {
    for (LockOptions options :
        List.of(LockOptions.fixed(TTL), DEFAULTS.withMaxHold(Duration.ofHours(1)))) {
      int before = store.count(ACQUIRE_OR_QUEUE);
      DistributedLock bounded = client().semaphore("s", 1, options);
      Lease first = take(bounded);
      Actor<Lease> waiter = waiter(bounded);
      assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(before + 1);
      first.close();
      Lease second = waiter.result();

      assertGivenBack(first, second);
      second.close();
    }
  }

  @Test
  void aClientThatIsToldNotToNeverHandsOn() throws Exception {
    client(builder -> builder.localHandOff(false));
    Lease first = take(semaphore(1));
    Actor<Lease> waiter = waiter(semaphore(1));
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(1);
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aClaimWithOtherOptionsIsNotHandedALease() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Lease> waiter =
        waiter(client().semaphore("s", 1, LockOptions.renewed(Duration.ofSeconds(20))));
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseThatWasEverGuardedIsNotHandedOn() throws Exception {
    Lease first = take(semaphore(1));
    LeaseGuard.open(first, Grant.class).close();
    Actor<Lease> waiter = waiter(semaphore(1));
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseThatWasLostIsNotHandedOn() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Lease> waiter = waiter(semaphore(1));
    Grant granted = store.grants("s").get(0);
    first.close();
    Lease second = waiter.result();
    store.events().lost(granted, LeaseLoss.Reason.TAKEN);

    assertThat(second.state()).isEqualTo(LeaseState.LOST);
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Test
  void aFailureOfTheStoreIsThatOfThoseWhoWaitBehind() throws Exception {
    Lease first = take(elsewhere(1));
    Actor<LockStoreException> asks = start("asks", () -> failure(semaphore(1))).awaitParked();
    Actor<LockStoreException> behind =
        start("behind", () -> failure(semaphore(1))).awaitParked();
    store.failNext(ScriptedStore.Op.POLL);
    time.advance(Duration.ofMinutes(1));

    assertThat(asks.result()).isNotNull();
    assertThat(behind.result()).isNotNull();
    assertThat(first.state()).isNotNull();
  }

  private static LockStoreException failure(DistributedLock semaphore) throws Exception {
    try (Lease lease = semaphore.lock()) {
      throw new AssertionError("got " + lease);
    } catch (LockStoreException e) {
      return e;
    }
  }

  @Test
  void whoGivesUpIsHandedNothing() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Boolean> gone = start("gone", () -> {
          try (Lease lease = semaphore(1).lock()) {
            throw new AssertionError("got " + lease);
          } catch (InterruptedException e) {
            return true;
          }
        })
        .awaitParked();
    Actor<Lease> waiter = waiter(semaphore(1));
    gone.interrupt();
    assertThat(gone.result()).isTrue();
    first.close();

    assertHandedOn(first, waiter.result());
  }

  @Test
  void theEndOfTheClientEndsTheWait() throws Exception {
    Lease first = take(semaphore(1));
    Actor<Boolean> waiter = start("waiter", () -> {
          try (Lease lease = semaphore(1).lock()) {
            throw new AssertionError("got " + lease);
          } catch (LockClientClosedException e) {
            return true;
          }
        })
        .awaitParked();
    time.runDuring(client()::close);

    assertThat(waiter.result()).isTrue();
    assertThat(first.state()).isEqualTo(LeaseState.LOST);
  }
}
