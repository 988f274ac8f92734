package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.WITHDRAW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScarceThreads;
import io.holdfast.lock.simulation.TappedTime;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** A process that has no threads, or no memory, for a while: what was to be done is done later. */
class ExhaustionTest extends EngineTest {
  private static final Duration STEP = Duration.ofMillis(10);
  private static final Duration FIRST_RETRY = Duration.ofMillis(100);

  private final ScarceThreads threads = new ScarceThreads();
  private final TappedTime tapped = new TappedTime(time);
  private final List<String> events = new CopyOnWriteArrayList<>();

  @Override
  protected synchronized SemaphoreClient client() {
    return client(builder -> builder.timeSource(tapped).addListener(new LockListener() {
      @Override
      public void lost(Lost event) {
        events.add("lost " + event.lockName());
      }
    }));
  }

  /** From now on the client has no threads, but for its keeper. */
  private void runOutOfThreads() {
    EngineProbe.changeThreads(client(), threads::factory);
    EngineProbe.keepNoIdleThreads(client());
    settle();
    Eventually.await("idle threads to end", () -> EngineProbe.threads(client()) == 0);
    threads.runOut();
  }

  /** There are threads again, and time goes on until it is so. */
  private void recoverUntil(String what, BooleanSupplier condition) {
    threads.recover();
    Eventually.await(what, () -> {
      time.advance(STEP);
      // What found no thread is tried again as time goes on.
      return condition.getAsBoolean() && EngineProbe.areWorkersIdle(client());
    });
    settle();
  }

  /** L-10.9. */
  @Test
  void noListenerIsSilencedByAThreadThatCannotBeStarted() {
    Lease lease = held("first");
    runOutOfThreads();
    store.events().lost(store.grant("first"), LeaseLoss.Reason.TAKEN);
    threads.awaitRefusal();
    assertThat(lease.isHeld()).isFalse();
    assertThat(events).isEmpty();
    recoverUntil("the first event", () -> events.size() == 1);
    held("second").detach();
    store.events().lost(store.grant("second"), LeaseLoss.Reason.TAKEN);
    Eventually.await("the second event", () -> events.size() == 2);

    assertThat(events).containsExactly("lost first", "lost second");
  }

  /** L-8.4. */
  @Test
  void aLossIsToldOnceThereAreThreadsAgainAndOnce() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    AtomicInteger told = new AtomicInteger();
    lease.onLost(loss -> told.incrementAndGet());
    runOutOfThreads();
    advance(UNTIL_DEADLINE);
    threads.awaitRefusal();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    recoverUntil("the call", () -> told.get() > 0);
    pass(Duration.ofSeconds(1));

    assertThat(told).hasValue(1);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  /** L-8.5. */
  @Test
  void aListenerThatComesAfterTheLossIsToldLaterThen() {
    Lease lease = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);
    AtomicInteger told = new AtomicInteger();
    runOutOfThreads();
    lease.onLost(loss -> told.incrementAndGet());
    assertThat(told).hasValue(0);
    recoverUntil("the call", () -> told.get() > 0);

    assertThat(told).hasValue(1);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  /** L-4.5: who only asks is not the one to suffer. */
  @Test
  void aLookAtALeaseThrowsNothingThoughItFindsALossThatNobodyCanBeToldOf() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    runOutOfThreads();
    // The holder is to be quicker than the keeper.
    Gate keeper = new Gate();
    tapped.tap(EngineProbe.keeper(client()), (call, nth) -> {
      if (call == TappedTime.Call.PARKED) {
        LossTest.passQuietly(keeper);
      }
    });
    time.advance(UNTIL_DEADLINE);
    keeper.awaitCall();

    assertThat(lease.isHeld()).isFalse();
    assertThat(threads.refused()).isPositive();
    assertThat(lease.remaining()).isZero();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    keeper.open();
    recoverUntil("the event", () -> events.size() == 1);
  }

  /** L-2.3. */
  @Test
  void aGuardThatEndsWithoutAThreadIsReleasedLater() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    runOutOfThreads();
    guard.close();
    assertThat(threads.refused()).isPositive();
    assertThat(store.holder("x")).isPresent();
    recoverUntil("the name to be free", () -> store.holder("x").isEmpty());

    held("x").close();
  }

  /** L-7.3. */
  @Test
  void aReleaseThatCannotBeTriedAgainForWantOfAThreadIsTriedLater() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    store.failNext(RELEASE);
    lease.close();
    store.awaitCount(RELEASE, 2);
    runOutOfThreads();
    time.advance(FIRST_RETRY);
    threads.awaitRefusal();
    assertThat(store.count(RELEASE)).isEqualTo(2);
    recoverUntil("the name to be free", () -> store.holder("x").isEmpty());

    assertThat(store.count(RELEASE)).isEqualTo(3);
  }

  /** L-6.9. */
  @Test
  void aWithdrawalThatFindsNoThreadIsMadeLater() {
    runOutOfThreads();
    store.loseNextAnswer(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    assertThat(threads.refused()).isPositive();
    assertThat(store.count(WITHDRAW)).isZero();
    recoverUntil("the name to be free", () -> store.holder("x").isEmpty());

    assertThat(store.count(WITHDRAW)).isOne();
  }

  /** L-5.5. */
  @Test
  void aRenewalThatFindsNoThreadIsSentLater() {
    Lease lease = held("x");
    runOutOfThreads();
    time.advance(AT_RENEWAL);
    threads.awaitRefusal();
    assertThat(store.count(RENEW)).isZero();
    recoverUntil("the renewal", () -> store.count(RENEW) == 1);

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isEqualTo(2);
    lease.close();
  }

  /** L-6.4: the next in the queue waits for no thread of the client's. */
  @Test
  void aReleaseAndAHandOffNeedNoThread() throws Exception {
    Lease lease = held("x");
    runOutOfThreads();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    lease.close();
    Lease handedOn = waiter.result();
    handedOn.close();

    assertThat(store.holder("x")).isEmpty();
    assertThat(threads.refused()).isZero();
  }

  /** L-10.1. */
  @Test
  void aClientThatIsClosedWithoutThreadsGivesItsLeasesBackItself() {
    for (int i = 0; i < 10; i++) {
      held("x" + i).detach();
    }
    runOutOfThreads();
    time.runDuring(client()::close);

    assertThat(threads.refused()).isPositive();
    assertThat(store.count(RELEASE)).isEqualTo(10);
    assertThat(server.size()).isZero();
  }

  /** L-6.4: wherever a close breaks off, the lease is the next one's, or the store's again. */
  @Test
  void anErrorAnywhereInACloseLeavesTheLockToTheNext() throws Exception {
    int failures = 0;
    for (TappedTime.Call failing : List.of(TappedTime.Call.NANOS, TappedTime.Call.WALL_MILLIS)) {
      for (int i = 1; i <= 6; i++) {
        int failingNth = i;
        String name = failing + " " + i;
        Lease lease = held(name);
        Actor<Boolean> waiter = start("waiter", () -> {
              try (Lease waited = lock(name).lock()) {
                return waited.isHeld();
              }
            })
            .awaitParked();
        tapped.tap(Thread.currentThread(), (call, nth) -> {
          if (call == failing && nth == failingNth) {
            throw new OutOfMemoryError("Java heap space");
          }
        });
        try {
          lease.close();
        } catch (OutOfMemoryError e) {
          failures++;
        } finally {
          tapped.untap(Thread.currentThread());
        }
        // As callers do that are not sure.
        lease.close();
        assertThat(waiter.result()).as("failing at %s", name).isTrue();
        assertThat(lease.isHeld()).isFalse();
        Eventually.await("the name to be free", () -> store.holder(name).isEmpty());
      }
    }

    assertThat(failures).isPositive();
    assertThat(EngineProbe.kept(client())).isZero();
  }
}
