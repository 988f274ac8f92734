package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.LEAVE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.POLL;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.TappedTime;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AcquireTest extends EngineTest {
  private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

  @Test
  void anUncontendedAcquireAndItsReleaseAreOneCallEach() {
    held("x").close();

    assertThat(store.calls()).extracting(call -> call.op()).containsExactly(TRY_ACQUIRE, RELEASE);
    assertThat(store.calls())
        .extracting(call -> call.thread())
        .containsOnly(Thread.currentThread());
  }

  @Test
  void aWaitThatFindsTheLockFreeIsOneCall() throws Exception {
    Lease lease = lock("x").lock();

    assertThat(store.calls()).extracting(call -> call.op()).containsExactly(ACQUIRE_OR_QUEUE);
    lease.close();
  }

  @Test
  void tryLockIsEmptyWithoutAskingWhileAThreadOfTheSameClientHolds() throws Exception {
    Lease lease = held("x");

    assertThat(start("other", () -> lock("x").tryLock()).result()).isEmpty();
    assertThat(store.count(TRY_ACQUIRE)).isOne();
    lease.close();
  }

  /** L-6.1. */
  @Test
  void tryLockWaitsForTheAnswerOfTheThreadThatAsksAndIsEmptyIfThatOneIsGranted() throws Exception {
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Optional<Lease>> asking = start("asking", () -> lock("x").tryLock());
    gate.awaitCall();
    Actor<Optional<Lease>> behind = start("behind", () -> lock("x").tryLock()).awaitParked();
    assertThat(behind.isDone()).isFalse();
    gate.open();

    assertThat(asking.result()).isPresent();
    assertThat(behind.result()).isEmpty();
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  /** L-6.1. */
  @Test
  void tryLockIsEmptyIfTheThreadThatAsksIsToldThatTheLockIsTaken() throws Exception {
    Lease others = others("x").lock();
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> asking = start("asking", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Optional<Lease>> behind = start("behind", () -> lock("x").tryLock()).awaitParked();
    gate.open();

    assertThat(behind.result()).isEmpty();
    assertThat(asking.isDone()).isFalse();
    assertThat(lock("x").tryLock()).isEmpty();
    assertThat(store.calls()).extracting(call -> call.op()).containsOnly(ACQUIRE_OR_QUEUE);
    others.close();
    asking.result();
  }

  /** L-6.3: "busy" means that another does the work; nobody does. */
  @Test
  void tryLockIsAnExceptionIfTheThreadThatAsksGetsNoAnswer() throws Exception {
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Optional<Lease>> asking = start("asking", () -> lock("x").tryLock());
    gate.awaitCall();
    Actor<Optional<Lease>> behind = start("behind", () -> lock("x").tryLock()).awaitParked();
    Actor<Optional<Lease>> zero =
        start("zero", () -> lock("x").tryLock(Duration.ZERO)).awaitParked();
    Actor<Boolean> javaView =
        start("java view", () -> lock("x").asLock().tryLock()).awaitParked();
    gate.openWith(StoreException.unanswered("timed out", null));

    assertThatThrownBy(asking::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(behind::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(zero::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(javaView::result).isInstanceOf(LockStoreException.class);
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  /** L-6.1: the thread ahead learned nothing, so that there is no answer to share. */
  @Test
  void tryLockAsksItselfIfTheThreadThatAsksIsInterruptedBeforeItsAnswer() throws Exception {
    Gate gate = store.holdNextAnswer(ACQUIRE_OR_QUEUE);
    Actor<Lease> asking = start("asking", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Optional<Lease>> behind = start("behind", () -> lock("x").tryLock()).awaitParked();
    asking.interrupt();
    gate.open();

    assertThatThrownBy(asking::result).isInstanceOf(InterruptedException.class);
    assertThat(behind.result()).isPresent();
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  /** L-6.3. */
  @Test
  void tryLockWaitsForTheAnswerOfAnotherThreadForOneStoreTimeoutAtMost() throws Exception {
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Optional<Lease>> asking = start("asking", () -> lock("x").tryLock());
    gate.awaitCall();
    Actor<Optional<Lease>> behind = start("behind", () -> lock("x").tryLock()).awaitParked();
    time.advance(STORE_TIMEOUT.minusNanos(1));
    behind.awaitParked();
    time.advance(Duration.ofNanos(1));

    assertThatThrownBy(behind::result).isInstanceOf(LockStoreException.class);
    assertThat(asking.isDone()).isFalse();
    gate.open();
    asking.result();
  }

  /** L-6.5. */
  @Test
  void anInterruptEndsATimedTryLockThatWaitsForAnAnswerAndIsKeptByAPlainOne() throws Exception {
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Optional<Lease>> asking = start("asking", () -> lock("x").tryLock());
    gate.awaitCall();
    Actor<Optional<Lease>> zero =
        start("zero", () -> lock("x").tryLock(Duration.ZERO)).awaitParked();
    Actor<Boolean> plain = start(
            "plain",
            () -> lock("x").tryLock().isEmpty() && Thread.currentThread().isInterrupted())
        .awaitParked();
    zero.interrupt();
    plain.interrupt();

    assertThatThrownBy(zero::result).isInstanceOf(InterruptedException.class);
    plain.awaitParked();
    gate.open();
    assertThat(asking.result()).isPresent();
    assertThat(plain.result()).isTrue();
  }

  @Test
  void aWaitOfZeroOrLessAsksOnce() throws Exception {
    Lease others = others("x").lock();

    assertThat(lock("x").tryLock(Duration.ZERO)).isEmpty();
    assertThat(lock("x").tryLock(Duration.ofSeconds(-1))).isEmpty();
    assertThat(lock("x").tryLock(Duration.ofSeconds(Long.MIN_VALUE))).isEmpty();
    assertThat(store.calls())
        .extracting(call -> call.op())
        .containsOnly(TRY_ACQUIRE)
        .hasSize(3);
    others.close();
  }

  @Test
  void aTimedWaitEndsEmptyAfterItsTimeAndAskedOnceMoreAtTheEnd() throws Exception {
    Lease others = others("x").lock();
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(Duration.ofSeconds(2))).awaitParked();

    time.advance(Duration.ofMillis(1_999));
    waiter.awaitParked();
    assertThat(waiter.isDone()).isFalse();
    time.advance(Duration.ofMillis(1));

    assertThat(waiter.result()).isEmpty();
    assertThat(store.calls())
        .extracting(call -> call.op())
        .containsExactly(ACQUIRE_OR_QUEUE, POLL, LEAVE);
    others.close();
  }

  @Test
  void lockWithinNamesTheHolderAndTheWaitWhenItRunsOut() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter =
        start("waiter", () -> lock("x").lockWithin(Duration.ofSeconds(2))).awaitParked();
    time.advance(Duration.ofSeconds(2));

    assertThatThrownBy(waiter::result)
        .isInstanceOf(LockTimeoutException.class)
        .hasMessageContaining("'x'")
        .hasMessageContaining("2000 ms")
        .hasMessageContaining("thread " + Thread.currentThread().getName());
    others.close();
  }

  /** L-6.2: a thread can be delayed anywhere, also before it has looked at anything. */
  @Test
  void lockWithinTellsOfAllOfTheWaitThoughItsThreadWasDelayed() throws Exception {
    TappedTime tapped = new TappedTime(time);
    DistributedLock lock = client(builder -> builder.timeSource(tapped)).get("x");
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> {
          tapped.tap(Thread.currentThread(), (call, nth) -> {
            if (call == TappedTime.Call.NANOS && nth == 2) {
              time.advance(Duration.ofMillis(100));
            }
          });
          return lock.lockWithin(Duration.ofSeconds(2));
        })
        .awaitParked();
    time.advance(Duration.ofMillis(1_900));

    assertThatThrownBy(waiter::result)
        .isInstanceOf(LockTimeoutException.class)
        .hasMessageContaining("2000 ms");
    others.close();
  }

  @Test
  void aWaitInTheLocalLineRunsOutWithoutAskingTheStore() throws Exception {
    Lease lease = held("x");
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(Duration.ofSeconds(2))).awaitParked();
    time.advance(Duration.ofSeconds(2));

    assertThat(waiter.result()).isEmpty();
    assertThat(store.calls()).extracting(call -> call.op()).containsExactly(TRY_ACQUIRE);
    lease.close();
  }

  @Test
  void theLongestWaitThereIsDoesNotOverflow() throws Exception {
    Lease others = others("x").lock();
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(FOREVER)).awaitParked();
    Actor<Optional<Lease>> behind =
        start("behind", () -> lock("x").tryLock(FOREVER)).awaitParked();
    others.close();

    waiter.result().orElseThrow().close();
    behind.result().orElseThrow().close();
  }

  @Test
  void aPlaceThatIsGoneIsLeftAndTheStoreIsAskedAnew() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    store.next(POLL, call -> new Ticket.Gone());
    others.close();

    Lease lease = waiter.result();
    assertThat(lease.isHeld()).isTrue();
    assertThat(store.calls())
        .extracting(call -> call.op())
        .containsExactly(ACQUIRE_OR_QUEUE, POLL, LEAVE, ACQUIRE_OR_QUEUE);
    assertThat(store.calls(ACQUIRE_OR_QUEUE))
        .extracting(call -> call.claims().get(0).ownerId())
        .doesNotHaveDuplicates();
    lease.close();
  }

  @Test
  void aTimedWaitWhoseRequestTookAllOfItsTimeAsksNoMore() throws Exception {
    Lease others = others("x").lock();
    store.delayNextAnswer(ACQUIRE_OR_QUEUE, Duration.ofSeconds(4));

    assertThat(lock("x").tryLock(Duration.ofSeconds(2))).isEmpty();
    assertThat(store.count(POLL)).isZero();
    store.awaitCount(LEAVE, 1);
    others.close();
  }

  @Test
  void aTimedWaitNeverTakesLongerThanItsTimeAndOneStoreTimeout() throws Exception {
    Lease others = others("x").lock();
    Gate leaving = store.holdNext(LEAVE);
    store.delayNextAnswer(POLL, STORE_TIMEOUT);
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(Duration.ofSeconds(2))).awaitParked();
    time.advance(Duration.ofSeconds(2));

    assertThat(waiter.result()).isEmpty();
    leaving.awaitCall();
    leaving.open();
    others.close();
  }

  @Test
  void tryCallRefusesANullResultAfterItReleased() {
    assertThatThrownBy(() -> lock("x").tryCall(lease -> null))
        .isInstanceOf(NullPointerException.class)
        .hasMessageContaining("'x'")
        .hasMessageContaining("is done")
        .hasMessageContaining("tryRun");
    assertThat(store.count(RELEASE)).isOne();
  }

  /** A session that flaps must not make of each waiter a loop of requests. */
  @Test
  void aPlaceThatIsGoneAgainAndAgainIsAskedForAtGrowingDistances() throws Exception {
    store.always(ACQUIRE_OR_QUEUE, call -> new Acquisition.Queued(new GoneTicket(), Duration.ZERO));
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(2);
    Duration step = Duration.ofMillis(1);
    Duration passed = Duration.ZERO;
    while (passed.compareTo(Duration.ofSeconds(10)) < 0) {
      time.advance(step);
      passed = passed.plus(step);
      waiter.awaitParked();
      step = step.compareTo(Duration.ofMillis(200)) < 0 ? step.multipliedBy(2) : step;
    }
    // The pauses: none, then 1 ms, 2 ms, 4 ms, and so on up to a second.
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isBetween(12, 24);
    store.heal();
    time.advance(Duration.ofSeconds(1));

    waiter.result().close();
  }

  /** L-6.5. */
  @Test
  void thePauseBeforeAPlaceIsAskedForAnewIsInterruptibleAndPartOfATimedWait() throws Exception {
    store.always(ACQUIRE_OR_QUEUE, call -> new Acquisition.Queued(new GoneTicket(), Duration.ZERO));
    Actor<Lease> interrupted = start("interrupted", () -> lock("x").lock()).awaitParked();
    interrupted.interrupt();
    assertThatThrownBy(interrupted::result).isInstanceOf(InterruptedException.class);
    Actor<Optional<Lease>> timed =
        start("timed", () -> lock("y").tryLock(Duration.ofMillis(2))).awaitParked();
    time.advance(Duration.ofMillis(1));
    timed.awaitParked();
    // The pause would be 2 ms, but the wait is over before.
    time.advance(Duration.ofMillis(1));

    // Its last question is that of tryLock().
    timed.result().orElseThrow().close();
    assertThat(store.count(TRY_ACQUIRE)).isOne();
  }

  private static final class GoneTicket implements Ticket {
    @Override
    public Status poll() {
      return new Gone();
    }

    @Override
    public Optional<String> holder() {
      return Optional.empty();
    }

    @Override
    public void close() {
      // It has no place to leave.
    }
  }

  /** L-6.3: nobody has asked, and so nobody knows that the lock is taken. */
  @Test
  void aWaiterWhoseTimeIsOverAsksItselfIfTheThreadAheadLeavesBeforeItAsked() throws Exception {
    TappedTime tapped = new TappedTime(time);
    client(builder -> builder.timeSource(tapped).localHandOff(false));
    Lease lease = held("x");
    Gate woken = new Gate();
    Actor<Lease> ahead = start("ahead", () -> {
          tapped.tap(Thread.currentThread(), (call, nth) -> {
            if (call == TappedTime.Call.PARKED && nth == 1) {
              LossTest.passQuietly(woken);
            }
          });
          return lock("x").lock();
        })
        .awaitParked();
    Actor<Lease> behind =
        start("behind", () -> lock("x").lockWithin(Duration.ofSeconds(1))).awaitParked();
    lease.close();
    woken.awaitCall();
    time.advance(Duration.ofSeconds(1));
    behind.awaitParked();
    ahead.interrupt();
    woken.open();

    assertThatThrownBy(ahead::result).isInstanceOf(InterruptedException.class);
    assertThat(behind.result().isHeld()).isTrue();
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
  }
}
