package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.CLOSE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.LEAVE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.WITHDRAW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ClientCloseTest extends EngineTest {
  /** So many threads give leases back when a client is closed. */
  private static final int GIVING_BACK = 4;

  private Actor<Boolean> closing() {
    return start("closing", () -> {
      client().close();
      return true;
    });
  }

  @Test
  void everyOpenLeaseIsLostBeforeTheStoreLetsOthersIn() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNext(RELEASE);
    Actor<Boolean> closing = closing();
    gate.awaitCall();
    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(others("x").tryLock()).isEmpty();
    gate.open();
    closing.result();

    assertThat(others("x").tryLock()).isPresent();
    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.CLIENT_CLOSED));
  }

  @Test
  void everyWaiterGetsAnExceptionInBothLines() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> inStoreLine = start("first", () -> lock("x").lock()).awaitParked();
    Actor<Lease> inLocalLine = start("second", () -> lock("x").lock()).awaitParked();
    Actor<Boolean> uninterruptible = start("third", () -> {
          lock("x").asLock().lock();
          return true;
        })
        .awaitParked();
    Actor<Boolean> closing = closing();

    assertThatThrownBy(inStoreLine::result).isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(inLocalLine::result).isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(uninterruptible::result).isInstanceOf(LockClientClosedException.class);
    time.runDuring(() -> awaitDone(closing));
    assertThat(store.count(LEAVE)).isOne();
    others.close();
    others("x").tryLock().orElseThrow().close();
  }

  private static void awaitDone(Actor<?> actor) {
    Eventually.await("the close", actor::isDone);
  }

  @Test
  void aClosedClientRefusesEverything() {
    Lease lease = held("x");
    lease.close();
    client().close();
    client().close();

    assertThatThrownBy(() -> held("x")).isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(() -> lock("x").lock()).isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(() -> lock("x").inspect()).isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(() -> lock("x").forceRelease(1024))
        .isInstanceOf(LockClientClosedException.class);
    assertThat(store.count(CLOSE)).isOne();
  }

  @Test
  void anAcquireThatIsUnderWayIsAwaitedAndGivenBack() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> acquiring = start("acquiring", () -> held("x"));
    gate.awaitCall();
    Actor<Boolean> closing = closing().awaitParked();
    assertThat(store.count(CLOSE)).isZero();
    gate.open();

    assertThatThrownBy(acquiring::result).isInstanceOf(LockClientClosedException.class);
    time.runDuring(() -> awaitDone(closing));
    assertThat(store.holder("x")).isEmpty();
    assertThat(store.calls().get(store.calls().size() - 1).op()).isEqualTo(CLOSE);
  }

  @Test
  void anAcquireThatHangsIsNotAwaitedLongerThanOneStoreTimeoutAndGrantsNothing() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> acquiring = start("acquiring", () -> held("x"));
    gate.awaitCall();
    Actor<Boolean> closing = closing().awaitParked();
    time.advance(STORE_TIMEOUT);

    assertThat(closing.result()).isTrue();
    gate.open();
    assertThatThrownBy(acquiring::result).isInstanceOf(LockClientClosedException.class);
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void anAcquireWhoseAnswerWasLostIsWithdrawnBeforeTheClientIsClosed() {
    for (int i = 0; i < 50; i++) {
      store.loseNextAnswer(TRY_ACQUIRE);
      String name = "x" + i;
      assertThatThrownBy(() -> held(name)).isInstanceOf(LockStoreException.class);
    }
    time.runDuring(client()::close);

    for (int i = 0; i < 50; i++) {
      assertThat(store.holder("x" + i)).isEmpty();
    }
    assertThat(store.calls().get(store.calls().size() - 1).op()).isEqualTo(CLOSE);
  }

  @Test
  void aWithdrawalThatIsUnderWayIsAwaitedAndRepeated() throws Exception {
    Gate gate = store.holdNext(WITHDRAW);
    store.loseNextAnswer(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    gate.awaitCall();
    Actor<Boolean> closing = closing().awaitParked();
    gate.openWith(StoreException.unanswered("timed out", null));
    time.runDuring(() -> awaitDone(closing));

    assertThat(store.count(WITHDRAW)).isEqualTo(2);
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aLeaseThatWasToBeGivenBackInTheBackgroundIsGivenBackBeforeTheClientIsClosed() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    store.failNext(RELEASE);
    lease.close();
    store.awaitCount(RELEASE, 2);
    assertThat(store.holder("x")).isPresent();
    time.runDuring(client()::close);

    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void whatCannotBeWithdrawnIsTriedOnceMoreAndNamed() {
    store.loseNextAnswer(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("a name")).isInstanceOf(LockStoreException.class);
    store.awaitCount(WITHDRAW, 1);
    settle();
    store.breakDown();
    List<String> log = new CopyOnWriteArrayList<>();
    EngineLog lines = new EngineLog(Level.WARN, line -> log.add(line.getFormattedMessage()));
    try {
      time.runDuring(client()::close);
    } finally {
      lines.close();
    }

    assertThat(store.count(WITHDRAW)).isEqualTo(2);
    assertThat(log)
        .singleElement()
        .asString()
        .containsPattern(" 1 lock\\(s\\) .*end.* with its TTL: \\[a name\\]");
  }

  @Test
  void aWithdrawalThatHangsIsNotAwaitedLongerThanOneStoreTimeout() throws Exception {
    Gate gate = store.holdNext(WITHDRAW);
    store.loseNextAnswer(TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);
    gate.awaitCall();
    Actor<Boolean> closing = closing().awaitParked();
    time.advance(STORE_TIMEOUT);

    assertThat(closing.result()).isTrue();
  }

  @Test
  void aReleaseThatIsUnderWayIsAwaited() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNext(RELEASE);
    Actor<Boolean> releasing = start("releasing", () -> {
      lease.close();
      return true;
    });
    gate.awaitCall();
    Actor<Boolean> closing = closing().awaitParked();
    gate.open();

    assertThat(releasing.result()).isTrue();
    time.runDuring(() -> awaitDone(closing));
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void aLeaseThatCannotBeGivenBackDoesNotKeepTheOthers() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      leases.add(held("x" + i));
    }
    store.next(RELEASE, call -> {
      throw StoreException.unanswered("timed out", null);
    });
    time.runDuring(client()::close);

    assertThat(store.count(RELEASE)).isEqualTo(10);
    assertThat(leases.stream().filter(lease -> store.holder(lease.name()).isPresent()))
        .hasSize(1);
    assertThat(leases).allMatch(lease -> lease.state() == LeaseState.LOST);
  }

  /** L-10.3. */
  @Test
  void aStoreThatAnswersNothingBoundsTheClose() throws Exception {
    for (int i = 0; i < 100; i++) {
      held("x" + i).detach();
    }
    // One end for all: a thread that comes here late would wait for a time that never comes, and
    // spin, since whoever gives up is interrupted.
    long endNanos = time.nanos() + STORE_TIMEOUT.toNanos();
    store.always(RELEASE, call -> {
      while (time.nanos() - endNanos < 0) {
        time.park(this, endNanos - time.nanos());
      }
      throw StoreException.unanswered("timed out", null);
    });
    Actor<Boolean> closing = closing();
    store.awaitCount(RELEASE, GIVING_BACK);
    assertThat(closing.isDone()).isFalse();
    time.advance(STORE_TIMEOUT);

    assertThat(closing.result()).isTrue();
    assertThat(store.count(RELEASE)).isEqualTo(GIVING_BACK);
    assertThat(store.count(CLOSE)).isOne();
  }

  /** L-10.3: ten thousand one by one would take longer than a store timeout. */
  @Test
  void leasesAreGivenBackBySeveralThreadsAtOnce() {
    for (int i = 0; i < 100; i++) {
      held("x" + i).detach();
    }
    CountDownLatch atWork = new CountDownLatch(GIVING_BACK);
    store.always(RELEASE, call -> {
      atWork.countDown();
      if (!atWork.await(10, TimeUnit.SECONDS)) {
        throw StoreException.refused("there are fewer threads", null);
      }
      return call.call();
    });
    time.runDuring(client()::close);

    assertThat(store.count(RELEASE)).isEqualTo(100);
    assertThat(store.calls(RELEASE).stream().map(call -> call.thread()).distinct())
        .hasSize(GIVING_BACK);
    assertThat(server.size()).isZero();
  }

  @Test
  void aLeaseUnderAGuardIsGivenBackAfterTheOthers() {
    Lease guarded = held("a");
    LeaseGuard<Grant> guard = LeaseGuard.open(guarded, Grant.class);
    for (int i = 0; i < 10; i++) {
      held("x" + i).detach();
    }
    time.runDuring(client()::close);

    List<String> names =
        store.calls(RELEASE).stream().flatMap(call -> call.names().stream()).toList();
    assertThat(names).hasSize(11);
    // The last are called for by several threads at once.
    assertThat(names.indexOf("a")).isGreaterThan(names.size() - 1 - GIVING_BACK);
    guard.close();
    assertThatThrownBy(guarded::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aMinimumHoldOutlivesTheClient() {
    Lease lease = held("x", LockOptions.defaults().withMinHold(Duration.ofMinutes(1)));
    time.runDuring(client()::close);

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    // The clock went on during the close.
    assertThat(store.holder("x").orElseThrow().remaining())
        .isBetween(Duration.ofSeconds(50), Duration.ofMinutes(1));
  }

  @Test
  void closingKeepsTheInterruptOfItsThread() {
    held("x").detach();
    boolean[] flagDuringCall = new boolean[1];
    store.next(RELEASE, call -> {
      flagDuringCall[0] = Thread.currentThread().isInterrupted();
      return call.call();
    });
    Thread.currentThread().interrupt();
    time.runDuring(client()::close);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(flagDuringCall[0]).isFalse();
  }

  @Test
  void everyThreadOfOursStops() {
    Lease lease = held("x");
    lease.onLost(loss -> {});
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isOne();
    time.runDuring(client()::close);

    Eventually.await(
        "our threads to stop",
        () -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.isAlive() && thread.getName().matches("holdfast-test-.*")));
  }

  @Test
  void aStoreThatCannotBeOpenedIsAnExceptionAndLeavesNoThread() {
    class Failing extends LockClientBuilder<Failing> {
      @Override
      protected io.holdfast.lock.spi.LockStore openStore(
          io.holdfast.lock.spi.StoreSettings settings) throws StoreException {
        throw StoreException.refused("no route", null);
      }
    }

    assertThatThrownBy(() -> new Failing().clientName("never opened").build())
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("no route");
    assertThat(Thread.getAllStackTraces().keySet())
        .noneMatch(
            thread -> thread.isAlive() && thread.getName().matches("holdfast-never opened-.*"));
  }

  @Test
  void acquiringAndClosingTheClientRaceWithoutAHolderLeftBehind() throws Exception {
    for (int i = 0; i < 200; i++) {
      LockClient client = store.client().clientName("test").build();
      List<Actor<Lease>> acquiring = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        String name = "x" + t % 2;
        acquiring.add(start("acquiring", () -> client.get(name).lock()));
      }
      time.runDuring(client::close);
      for (Actor<Lease> one : acquiring) {
        try {
          assertThat(one.result().isHeld()).isFalse();
        } catch (LockClientClosedException e) {
          assertThat(e.lockName()).startsWith("x");
        }
      }
      assertThat(store.holder("x0")).isEmpty();
      assertThat(store.holder("x1")).isEmpty();
    }
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isPositive();
  }

  /** L-10.1, L-10.4. */
  @Test
  void anErrorInOneReleaseKeepsNothingElseFromBeingClosed() throws Exception {
    for (int i = 0; i < 10; i++) {
      held("x" + i).detach();
    }
    store.next(RELEASE, call -> {
      throw new NoClassDefFoundError("the class loader is closed");
    });
    time.runDuring(client()::close);

    assertThat(store.count(RELEASE)).isEqualTo(10);
    assertThat(server.size()).isOne();
    assertThat(store.count(CLOSE)).isOne();
    Thread keeper = EngineProbe.keeper(client());
    keeper.join(10_000);
    assertThat(keeper.isAlive()).isFalse();
  }

  /** L-10.2: what comes after a close may rely on it. */
  @Test
  void aSecondCloseEndsWhenTheFirstHas() throws Exception {
    held("x").detach();
    Gate gate = store.holdNext(RELEASE);
    Actor<Boolean> first = closing();
    gate.awaitCall();
    Actor<Boolean> second = closing().awaitParked();
    time.advance(STORE_TIMEOUT.minusMillis(1));
    second.awaitParked();
    assertThat(second.isDone()).isFalse();
    gate.open();
    time.runDuring(() -> awaitDone(second));

    assertThat(store.holder("x")).isEmpty();
    assertThat(store.count(CLOSE)).isOne();
    assertThat(first.result()).isTrue();
  }

  /** L-10.3. */
  @Test
  void aSecondCloseDoesNotWaitForEverForAFirstThatHangs() throws Exception {
    held("x").detach();
    Gate gate = store.holdNext(RELEASE);
    Actor<Boolean> first = closing();
    gate.awaitCall();
    Actor<Boolean> second = closing().awaitParked();
    time.advance(STORE_TIMEOUT.multipliedBy(3));

    assertThat(second.result()).isTrue();
    assertThat(first.isDone()).isFalse();
    gate.open();
    time.runDuring(() -> awaitDone(first));
  }

  /** L-10.1: it may have failed for want of memory. */
  @Test
  void anotherCloseDoesWhatTheFirstCouldNot() {
    store.next(CLOSE, call -> {
      throw new StackOverflowError();
    });
    time.runDuring(client()::close);
    time.runDuring(client()::close);
    time.runDuring(client()::close);

    assertThat(store.count(CLOSE)).isEqualTo(2);
  }

  /** L-10.1: whoever is first, nobody else has taken the lease. */
  @Test
  void aLeaseThatIsClosedWhileItsClientIsIsReleasedOrLostToTheClose() throws Exception {
    InMemoryServer shared = new InMemoryServer();
    for (int i = 0; i < 500; i++) {
      LockClient closed = InMemoryLocks.builder(shared).build();
      Lease lease = closed.get("x").lock().detach();
      Actor<Boolean> closing = start("closing", () -> {
        closed.close();
        return true;
      });
      for (int spin = i % 50; spin > 0; spin--) {
        Thread.onSpinWait();
      }
      try {
        lease.close();
      } catch (LockLostException e) {
        assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.CLIENT_CLOSED);
      }
      closing.result();
    }
  }
}
