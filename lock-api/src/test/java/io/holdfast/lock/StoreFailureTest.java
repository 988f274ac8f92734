package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.EXTEND;
import static io.holdfast.lock.simulation.ScriptedStore.Op.FORCE_RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.INSPECT;
import static io.holdfast.lock.simulation.ScriptedStore.Op.LEAVE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.POLL;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static io.holdfast.lock.simulation.ScriptedStore.Op.WITHDRAW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.spi.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class StoreFailureTest extends EngineTest {
  private static final Duration TWO_SECONDS = Duration.ofSeconds(2);

  @Test
  void aStoreThatRefusesIsAnExceptionWithItsCauseAndNeverBusy() {
    store.breakDown();

    assertThatThrownBy(() -> held("x"))
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("'x'")
        .hasCauseInstanceOf(StoreException.class);
    assertThatThrownBy(() -> lock("x").lockWithin(TWO_SECONDS))
        .isInstanceOf(LockStoreException.class);
    assertThatThrownBy(() -> lock("x").run(lease -> {})).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(() -> lock("x").tryRun(lease -> {})).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(() -> lock("x").asLock().lock()).isInstanceOf(LockStoreException.class);
    assertThat(store.count(WITHDRAW)).isZero();
  }

  /** L-8.7: it answered nothing, whatever it threw. */
  @Test
  void anErrorOfTheStoreDuringAVerificationLeavesTheLeaseUncertain() {
    Lease lease = held("x");
    store.next(VERIFY, call -> {
      throw new NoClassDefFoundError("the class loader is closed");
    });

    assertThatThrownBy(lease::verify).isInstanceOf(NoClassDefFoundError.class);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    lease.verify();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void aStoreThatBreaksItsPromiseIsAnExceptionToo() throws Exception {
    store.next(TRY_ACQUIRE, call -> {
      throw new IllegalStateException("broken");
    });
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    store.next(INSPECT, call -> {
      throw new IllegalStateException("broken");
    });
    assertThatThrownBy(() -> lock("x").inspect()).isInstanceOf(LockStoreException.class);
    try (Lease lease = held("x")) {
      store.next(VERIFY, call -> {
        throw new IllegalStateException("broken");
      });
      assertThatThrownBy(lease::verify).isInstanceOf(LockStoreException.class);
      assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    }
  }

  @Test
  void anErrorInTheStoreIsThrownAndTheNextThreadMayAsk() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> failing = start("failing", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> lock("x").lock()).awaitParked();
    gate.openWith(new NoClassDefFoundError("gone"));

    assertThatThrownBy(failing::result).hasRootCauseInstanceOf(NoClassDefFoundError.class);
    assertThat(behind.result().isHeld()).isTrue();
  }

  @Test
  void aLostReplyIsWithdrawnAtOnceAndTwiceMoreForRequestsThatArriveLate() throws Exception {
    store.loseNextAnswer(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);

    store.awaitCount(WITHDRAW, 1);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    pass(STORE_TIMEOUT);
    store.awaitCount(WITHDRAW, 2);
    pass(TTL);
    store.awaitCount(WITHDRAW, 3);
    pass(TTL);
    assertThat(store.count(WITHDRAW)).isEqualTo(3);
    assertThat(store.calls(WITHDRAW))
        .extracting(call -> call.claims())
        .containsOnly(store.calls(TRY_ACQUIRE).get(0).claims());
  }

  @Test
  void aWithdrawalThatFailsIsRepeated() throws Exception {
    store.loseNextAnswer(TRY_ACQUIRE);
    store.failNext(WITHDRAW);
    store.failNext(WITHDRAW);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);

    store.awaitCount(WITHDRAW, 1);
    settle();
    assertThat(store.holder("x")).isPresent();
    pass(Duration.ofMillis(100));
    pass(Duration.ofMillis(200));
    store.awaitCount(WITHDRAW, 3);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  /** L-6.14. */
  @Test
  void aNameIsNotBusyBecauseOfAnEarlierAttemptOfTheSameClient() throws Exception {
    store.loseNextAnswer(TRY_ACQUIRE);
    store.failNext(WITHDRAW);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    store.awaitCount(WITHDRAW, 1);
    settle();
    assertThat(store.holder("x")).isPresent();

    assertThat(lock("x").tryLock()).isPresent();
  }

  /** L-6.14. */
  @Test
  void whetherANameIsBusyIsNotKnownWhileAnEarlierAttemptCannotBeWithdrawn() throws Exception {
    store.loseNextAnswer(TRY_ACQUIRE);
    store.failNext(WITHDRAW);
    store.failNext(WITHDRAW);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    store.awaitCount(WITHDRAW, 1);
    settle();

    assertThatThrownBy(() -> lock("x").tryLock()).isInstanceOf(LockStoreException.class);
    assertThat(lock("x").tryLock()).isPresent();
  }

  @Test
  void aRequestThatCertainlyChangedNothingIsNotWithdrawn() {
    store.failNext(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    settle();

    assertThat(store.count(WITHDRAW)).isZero();
    held("x").close();
  }

  @Test
  void thoseBehindAFailingThreadGetItsFailureWithoutAsking() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> first = start("first", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Lease> second = start("second", () -> lock("x").lock()).awaitParked();
    Actor<Lease> third = start("third", () -> lock("x").lockWithin(TWO_SECONDS)).awaitParked();
    gate.openWith(StoreException.unanswered("timed out", null));

    assertThatThrownBy(first::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(second::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(third::result).isInstanceOf(LockStoreException.class);
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isOne();
    held("x").close();
  }

  @Test
  void aWaiterWhoseTimeIsOverStaysForTheAnswerOfTheThreadAhead() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> first = start("first", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Optional<Lease>> second =
        start("second", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    time.advance(TWO_SECONDS);
    second.awaitParked();
    assertThat(second.isDone()).isFalse();
    gate.open();

    assertThat(second.result()).isEmpty();
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isOne();
    first.result();
  }

  @Test
  void aWaiterIsNeverToldBusyWhileTheStoreHasNotAnswered() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> first = start("first", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Optional<Lease>> second =
        start("second", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    time.advance(TWO_SECONDS.plus(STORE_TIMEOUT));

    assertThatThrownBy(second::result).isInstanceOf(LockStoreException.class);
    gate.open();
    first.result();
  }

  /** L-6.2. */
  @Test
  void aWaiterWhoseTimeIsOverAsksOnceWhenTheThreadAheadGivesUp() throws Exception {
    Gate gate = store.holdNextAnswer(ACQUIRE_OR_QUEUE);
    Actor<Lease> first = start("first", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Optional<Lease>> second =
        start("second", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    time.advance(TWO_SECONDS);
    second.awaitParked();
    first.interrupt();
    gate.open();

    assertThatThrownBy(first::result).isInstanceOf(InterruptedException.class);
    assertThat(second.result()).isPresent();
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  /** L-6.3: while the lock is being given back nobody has it, and nobody knows that it is taken. */
  @Test
  void thoseWhoseTimeIsOverDuringAReleaseHaveTheLockIfThatGetsThrough() throws Exception {
    Gate gate = releasing();
    Actor<Optional<Lease>> timed =
        start("timed", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    Actor<Optional<Lease>> untimed = start("untimed", () -> lock("x").tryLock()).awaitParked();
    time.advance(TWO_SECONDS);
    timed.awaitParked();
    untimed.awaitParked();
    gate.open();

    assertThat(timed.result()).isPresent();
    assertThat(untimed.result()).isEmpty();
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
  }

  /** L-6.3. */
  @Test
  void thoseWhoseTimeIsOverDuringAReleaseAreToldIfThatFails() throws Exception {
    Gate gate = releasing();
    Actor<Optional<Lease>> timed =
        start("timed", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    Actor<Optional<Lease>> untimed = start("untimed", () -> lock("x").tryLock()).awaitParked();
    time.advance(TWO_SECONDS);
    timed.awaitParked();
    untimed.awaitParked();
    gate.openWith(StoreException.unanswered("timed out", null));

    assertThatThrownBy(timed::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(untimed::result).isInstanceOf(LockStoreException.class);
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  /** L-6.2, L-6.3. */
  @Test
  void nobodyWaitsForAReleaseLongerThanItsTimeAndOneStoreTimeout() throws Exception {
    Gate gate = releasing();
    Actor<Optional<Lease>> timed =
        start("timed", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    Actor<Optional<Lease>> untimed = start("untimed", () -> lock("x").tryLock()).awaitParked();
    time.advance(STORE_TIMEOUT);
    assertThatThrownBy(untimed::result).isInstanceOf(LockStoreException.class);
    timed.awaitParked();
    time.advance(TWO_SECONDS);

    assertThatThrownBy(timed::result).isInstanceOf(LockStoreException.class);
    gate.open();
  }

  /** A lease of 'x' whose release has come to the gate. */
  private Gate releasing() {
    Gate gate = store.holdNext(RELEASE);
    Actor<Boolean> unused = start("releasing", () -> {
      held("x").close();
      return true;
    });
    gate.awaitCall();
    return gate;
  }

  @Test
  void aLookThatFailsEndsTheWaitLeavesTheLineAndIsWithdrawn() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    store.next(POLL, call -> {
      throw StoreException.unanswered("timed out", null);
    });
    others.close();

    assertThatThrownBy(waiter::result).isInstanceOf(LockStoreException.class);
    store.awaitCount(LEAVE, 1);
    store.awaitCount(WITHDRAW, 1);
    Eventually.await("the line to be empty", () -> others("x").tryLock().isPresent());
  }

  @Test
  void anErrorInALookLeavesTheLineToo() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    store.next(POLL, call -> {
      throw new NoClassDefFoundError("gone");
    });
    others.close();

    assertThatThrownBy(waiter::result).hasRootCauseInstanceOf(NoClassDefFoundError.class);
    store.awaitCount(LEAVE, 1);
  }

  @Test
  void aPlaceInLineThatCannotBeLeftIsWithdrawn() throws Exception {
    Lease others = others("x").lock();
    store.failNext(LEAVE);
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    time.advance(TWO_SECONDS);

    assertThat(waiter.result()).isEmpty();
    store.awaitCount(WITHDRAW, 1);
    others.close();
  }

  @Test
  void aStoreThatIsDownAtTheEndOfAWaitIsNotMistakenForATakenLock() throws Exception {
    Lease others = others("x").lock();
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(TWO_SECONDS)).awaitParked();
    store.breakDown();
    time.advance(TWO_SECONDS);

    assertThatThrownBy(waiter::result).isInstanceOf(LockStoreException.class);
    others.close();
  }

  @Test
  void aReleaseThatFailsDoesNotThrowAndIsRepeatedUntilItGetsThrough() throws Exception {
    Lease lease = held("x");
    store.failNext(RELEASE);
    store.failNext(RELEASE);
    lease.close();

    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    store.awaitCount(RELEASE, 2);
    settle();
    pass(Duration.ofMillis(100));
    store.awaitCount(RELEASE, 3);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  @Test
  void aReleaseIsGivenUpWhenTheTtlIsOver() throws Exception {
    Lease lease = held("x");
    store.breakDown();
    lease.close();
    for (int i = 0; i < 20; i++) {
      pass(Duration.ofSeconds(5));
    }
    int tries = store.count(RELEASE);
    pass(TTL);

    assertThat(tries).isBetween(5, 20);
    assertThat(store.count(RELEASE)).isEqualTo(tries);
  }

  /** L-7.3, L-5.8: the store may have the lease extended, whether it answered or not. */
  @Test
  void aReleaseOfAnExtendedLeaseIsRepeatedForItsWholeTime() throws Exception {
    Duration extension = TTL.multipliedBy(10);
    Lease answered = held("x", LockOptions.fixed(TTL));
    answered.extend(extension);
    Lease unanswered = held("y", LockOptions.fixed(TTL));
    store.loseNextAnswer(EXTEND);
    assertThatThrownBy(() -> unanswered.extend(extension)).isInstanceOf(LockStoreException.class);
    assertThat(answered.crashBound()).isEqualTo(extension);
    assertThat(unanswered.crashBound()).isEqualTo(extension);
    store.breakDown();
    answered.close();
    unanswered.close();
    for (int i = 0; i < 20; i++) {
      pass(TTL.dividedBy(10));
    }
    assertThat(store.holder("x")).isPresent();
    assertThat(store.holder("y")).isPresent();
    store.heal();
    pass(TTL.dividedBy(10));

    Eventually.await(
        "the names to be free",
        () -> store.holder("x").isEmpty() && store.holder("y").isEmpty());
  }

  /** L-7.3: stores in other languages throw what they did not declare. */
  @Test
  void whateverAReleaseThrowsLeavesNothingLocked() throws Exception {
    for (Exception thrown :
        List.of(new IllegalStateException("broken"), new IOException("in another language"))) {
      Lease lease = held("x");
      store.next(RELEASE, call -> {
        throw thrown;
      });
      lease.close();
      assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
      Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    }

    Lease second = held("x");
    store.next(RELEASE, call -> {
      throw new NoClassDefFoundError("gone");
    });
    assertThatThrownBy(second::close).isInstanceOf(NoClassDefFoundError.class);
    assertThat(second.state()).isEqualTo(LeaseState.RELEASED);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    held("x").close();
  }

  @Test
  void administrationTellsOfAStoreThatIsDown() {
    store.breakDown();

    assertThatThrownBy(() -> lock("x").inspect()).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(() -> lock("x").forceRelease(1024)).isInstanceOf(LockStoreException.class);
    assertThat(store.count(FORCE_RELEASE)).isOne();
  }

  /** L-7.3. */
  @Test
  void anErrorInTheBackgroundDoesNotEndTheRetriesOfARelease() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    store.next(RELEASE, call -> {
      throw new OutOfMemoryError("Java heap space");
    });
    lease.close();
    store.awaitCount(RELEASE, 2);
    settle();
    pass(Duration.ofMillis(100));

    store.awaitCount(RELEASE, 3);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  @Test
  void ofAnOutageThatOutlastsTheTtlTheLogSaysOnceThatLocksAreNotCleanedUp() {
    List<String> lines = new CopyOnWriteArrayList<>();
    EngineLog log = new EngineLog(Level.WARN, line -> lines.add(line.getFormattedMessage()));
    try {
      for (int outage = 1; outage <= 2; outage++) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
          leases.add(held("x" + i));
        }
        store.breakDown();
        for (Lease lease : leases) {
          lease.close();
          pass(Duration.ofSeconds(1));
        }
        int trials = -1;
        for (int seconds = 0; store.count(RELEASE) > trials; seconds += 10) {
          assertThat(seconds).as("seconds of the outage").isLessThan(300);
          trials = store.count(RELEASE);
          pass(Duration.ofSeconds(10));
        }
        store.heal();
        assertThat(lines.stream().filter(line -> line.contains("could not be cleaned up")))
            .as("lines after outage %d", outage)
            .hasSize(outage);
      }
    } finally {
      log.close();
    }
  }

  /** L-6.3, L-6.9. */
  @Test
  void aCheckedExceptionInAQuestionIsAStoreThatFailed() {
    for (ScriptedStore.Op op : List.of(TRY_ACQUIRE, ACQUIRE_OR_QUEUE)) {
      store.next(op, call -> {
        Object unused = call.call();
        throw new IOException("a store in another language");
      });
      int withdrawals = store.count(WITHDRAW);
      assertThatThrownBy(() -> {
            Lease unused = op == TRY_ACQUIRE ? held("x") : lock("x").lock();
          })
          .isInstanceOf(LockStoreException.class)
          .hasRootCauseInstanceOf(IOException.class);
      store.awaitCount(WITHDRAW, withdrawals + 1);
      Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    }
  }
}
