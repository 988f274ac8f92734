package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.EXTEND;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.simulation.Sneaky;
import io.holdfast.lock.simulation.TappedTime;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ListenerTest extends EngineTest {
  private final List<String> events = new CopyOnWriteArrayList<>();
  private final List<Thread> threads = new CopyOnWriteArrayList<>();

  /** Tells of nothing but what happens to leases in the background. */
  private final class LeaseRecorder implements LockListener {
    @Override
    public void renewed(LeaseEvent event) {
      events.add("renewed " + event.lockName());
    }

    @Override
    public void uncertain(LeaseEvent event) {
      events.add("uncertain " + event.lockName());
    }
  }

  private final class Recorder implements LockListener {
    private void add(String event) {
      threads.add(Thread.currentThread());
      events.add(event);
    }

    @Override
    public void acquired(Acquired event) {
      add("acquired " + event.lockName() + " " + event.source() + " "
          + event.waited().toMillis());
    }

    @Override
    public void notAcquired(NotAcquired event) {
      add("not acquired " + event.lockName() + " " + event.waited().toMillis()
          + event.failure().map(e -> " " + e.getClass().getSimpleName()).orElse(""));
    }

    @Override
    public void released(Released event) {
      add("released " + event.lockName() + " " + event.held().toMillis()
          + (event.confirmed() ? "" : " unconfirmed"));
    }

    @Override
    public void uncertain(LeaseEvent event) {
      add("uncertain " + event.lockName());
    }

    @Override
    public void confirmed(LeaseEvent event) {
      add("confirmed " + event.lockName());
    }

    @Override
    public void lost(Lost event) {
      add("lost " + event.lockName() + " " + event.loss().reason());
    }

    @Override
    public void leaked(LeaseEvent event) {
      add("leaked " + event.lockName());
    }
  }

  @BeforeEach
  void listen() {
    client(builder -> builder.addListener(new Recorder()));
  }

  private void assertEvents(String... expected) {
    Eventually.await("events", () -> events.size() >= expected.length);
    settle();
    assertThat(events).containsExactly(expected);
  }

  @Test
  void aCallersOwnOutcomesAreToldOnItsThread() throws Exception {
    store.delayNextAnswer(
        io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE, Duration.ofMillis(3));
    Lease lease = held("x");
    time.advance(Duration.ofMillis(40));
    lease.close();
    Lease others = others("x").lock();
    assertThat(lock("x").tryLock()).isEmpty();
    others.close();

    assertEvents("acquired x STORE 3", "released x 40", "not acquired x 0");
    assertThat(threads).containsOnly(Thread.currentThread());
  }

  /** Writes down the mode of each event. */
  private static final class ModeRecorder implements LockListener {
    private final List<String> events = new CopyOnWriteArrayList<>();

    @Override
    public void waiting(LockEvent event) {
      events.add("waiting " + event.mode());
    }

    @Override
    public void acquired(Acquired event) {
      events.add("acquired " + event.mode() + " " + event.source());
    }

    @Override
    public void notAcquired(NotAcquired event) {
      events.add("not acquired " + event.mode());
    }

    @Override
    public void released(Released event) {
      events.add("released " + event.mode());
    }

    @Override
    public void renewed(LeaseEvent event) {
      events.add("renewed " + event.mode());
    }

    @Override
    public void lost(Lost event) {
      events.add("lost " + event.mode());
    }
  }

  @Test
  void anEventTellsTheModeThatTheLockWasAskedForIn() throws Exception {
    ModeRecorder modes = new ModeRecorder();
    try (SemaphoreClient client = InMemoryLocks.builder().addListener(modes).build()) {
      DistributedReadWriteLock lock = client.readWrite("x");
      Lease write = lock.write().lock();
      lock.read().lock().close();
      write.close();
      ReadLease read = lock.read().lock();
      assertThatThrownBy(lock.write()::tryLock).isInstanceOf(IllegalStateException.class);
      read.close();
      PermitLease permit = client.semaphore("x", 1).lock();
      assertThat(client.semaphore("x", 1).tryLock(Duration.ofMillis(1))).isEmpty();
      permit.close();
    }
    assertThat(modes.events)
        .containsExactly(
            "acquired EXCLUSIVE STORE",
            "acquired READ REENTRANT",
            "released EXCLUSIVE",
            "acquired READ STORE",
            "not acquired EXCLUSIVE",
            "released READ",
            "acquired PERMIT STORE",
            "waiting PERMIT",
            "not acquired PERMIT",
            "released PERMIT");
  }

  @Test
  void anEventInTheBackgroundTellsTheModeOfItsLease() throws Exception {
    ModeRecorder modes = new ModeRecorder();
    try (SemaphoreClient client = InMemoryLocks.builder().addListener(modes).build()) {
      LockOptions fixed = LockOptions.fixed(Duration.ofMinutes(1));
      ReadLease read = client.readWrite("x", fixed).read().lock();
      read.extend(Duration.ofMinutes(2));
      Eventually.await("its extension is told", () -> modes.events.contains("renewed READ"));
      assertThat(client.readWrite("x").read().forceRelease(read.token())).isTrue();
      assertThatThrownBy(read::verify).isInstanceOf(LockLostException.class);
      Eventually.await("its loss is told", () -> modes.events.contains("lost READ"));
    }
  }

  @Test
  void everyWayToGoWithoutIsTold() throws Exception {
    Lease others = others("x").lock();
    Actor<?> timed =
        start("timed", () -> lock("x").tryLock(Duration.ofMillis(7))).awaitParked();
    time.advance(Duration.ofMillis(7));
    timed.result();
    Actor<?> interrupted = start("interrupted", () -> lock("x").lock()).awaitParked();
    interrupted.interrupt();
    assertThatThrownBy(interrupted::result).isInstanceOf(InterruptedException.class);
    others.close();
    store.failNext(io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);

    assertEvents(
        "not acquired x 7",
        "not acquired x 0 InterruptedException",
        "not acquired x 0 LockStoreException");
  }

  @Test
  void aNestedAcquisitionIsToldAndOnlyTheLastCloseIsARelease() {
    Lease outer = held("x");
    time.advance(Duration.ofMillis(30));
    Lease nested = held("x");
    outer.close();
    time.advance(Duration.ofMillis(12));
    nested.close();

    assertEvents("acquired x STORE 0", "acquired x REENTRANT 0", "released x 42");
  }

  @Test
  void aReleaseThatDidNotGetThroughIsToldAsUnconfirmed() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    lease.close();

    assertEvents("acquired x STORE 0", "released x 0 unconfirmed");
  }

  @Test
  void doubtAndItsEndAreToldOnceEach() {
    Lease lease = held("x");
    store.failNext(RENEW);
    store.failNext(RENEW);
    pass(AT_RENEWAL);
    pass(Duration.ofSeconds(3));
    pass(Duration.ofSeconds(3));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    assertThat(threads.get(1)).isNotSameAs(Thread.currentThread());
    lease.close();
  }

  @Test
  void aDoubtThatGrowsIsToldOnce() {
    Lease lease = held("x");
    store.breakDown();
    store.events().suspended(store.grant("x"));
    settle();
    time.jumpWallClock(Duration.ofHours(1));
    assertThat(lease.isHeld()).isFalse();
    settle();
    store.heal();
    pass(Duration.ofSeconds(3));
    assertThat(lease.isHeld()).isTrue();

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    lease.close();
  }

  @Test
  void aLossIsToldOnceAndIsNoRelease() {
    Lease lease = held("x");
    store.breakDown();
    pass(UNTIL_DEADLINE);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired x STORE 0", "lost x EXPIRED");
  }

  @Test
  void aLossThatTheReleaseFindsIsALossAndNoRelease() {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired x STORE 0", "lost x TAKEN");
  }

  @Test
  void everyOpenLeaseOfAClosedClientIsToldAsLost() {
    Lease a = held("a");
    time.runDuring(client()::close);
    assertThatThrownBy(a::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired a STORE 0", "lost a CLIENT_CLOSED");
  }

  @Test
  void whatAListenerThrowsGoesNoFurther() throws Exception {
    LockClient client = opened(store
        .client()
        .clientName("test")
        .addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            LossTest.passQuietly(null);
          }

          @Override
          public void notAcquired(NotAcquired event) {
            throw new IllegalStateException("no");
          }

          @Override
          public void released(Released event) {
            throw new AssertionError("no");
          }
        })
        .addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            throw Sneaky.thrown(new java.io.IOException("no"));
          }
        })
        .addListener(new Recorder())
        .build());
    Lease lease = client.get("x").tryLock().orElseThrow();
    lease.close();

    assertThat(store.holder("x")).isEmpty();
    assertEvents("acquired x STORE 0", "released x 0");
  }

  @Test
  void aListenerThatHangsInTheBackgroundDelaysOnlyTheEventsBehindIt() {
    Gate gate = new Gate();
    LockClient client = opened(store
        .client()
        .clientName("test")
        .addListener(new LockListener() {
          @Override
          public void uncertain(LeaseEvent event) {
            LossTest.passQuietly(gate);
          }
        })
        .addListener(new Recorder())
        .build());
    Lease lease = client.get("x").tryLock().orElseThrow();
    store.failNext(RENEW);
    pass(AT_RENEWAL);
    gate.awaitCall();
    pass(Duration.ofSeconds(3));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(events).containsExactly("acquired x STORE 0");
    gate.open();

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    lease.close();
  }

  /** A listener's view of doubts, in another client so that the events of the first are apart. */
  private LockClient listening(UnaryOperator<ScriptedStore.Builder> settings) {
    return opened(settings
        .apply(store.client().clientName("test").addListener(new Recorder()))
        .build());
  }

  /** L-10.9: the thread that finds a doubt can be slower than the one that settles it. */
  @Test
  void aDoubtIsToldBeforeItsEndHoweverTheThreadsRace() throws Exception {
    int told = 0;
    for (int i = 1; i <= 12; i++) {
      events.clear();
      int stopAt = i;
      TappedTime tapped = new TappedTime(time);
      LockClient client = listening(builder -> builder.timeSource(tapped));
      Lease lease = client.get("x").tryLock().orElseThrow();
      settle();
      Gate gate = new Gate();
      store.always(RENEW, call -> {
        throw StoreException.refused("not now", null);
      });
      time.jumpWallClock(Duration.ofHours(1));
      Actor<Boolean> looking = start("looking", () -> {
        tapped.tap(Thread.currentThread(), (call, nth) -> {
          if (call == TappedTime.Call.NANOS && nth == stopAt) {
            LossTest.passQuietly(gate);
          }
        });
        return lease.isHeld();
      });
      Eventually.await("the look", () -> gate.isReached() || looking.isDone());
      lease.verify();
      gate.open();
      looking.result();
      store.heal();
      pass(Duration.ofSeconds(3));
      settle();
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      List<String> doubts =
          events.stream().filter(event -> !event.startsWith("acq")).toList();
      told += doubts.size();
      for (int event = 0; event < doubts.size(); event++) {
        assertThat(doubts.get(event))
            .as("event %d of %s, stopped at reading %d", event, doubts, i)
            .isEqualTo(event % 2 == 0 ? "uncertain x" : "confirmed x");
      }
      assertThat(doubts.size() % 2).as("%s, stopped at reading %d", doubts, i).isZero();
      lease.close();
      client.close();
    }
    assertThat(told).isGreaterThan(4);
  }

  /** As {@code ThreadPoolExecutor.DiscardPolicy} does. */
  @Test
  void anExecutorThatDropsATaskDelaysEventsAndLosesNone() {
    AtomicBoolean drops = new AtomicBoolean(true);
    LockClient client = listening(builder -> builder.callbackExecutor(task -> {
      if (!drops.get()) {
        task.run();
      }
    }));
    List<Lease> kept = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      kept.add(client.get("x" + i).tryLock().orElseThrow().detach());
      store.events().lost(store.grant("x" + i), LeaseLoss.Reason.TAKEN);
    }
    settle();
    assertThat(events).hasSize(20).allMatch(event -> event.startsWith("acquired"));
    drops.set(false);
    awaitCollected("the events", () -> events.size() == 40);

    assertThat(events.subList(20, 40))
        .isEqualTo(kept.stream().map(lease -> "lost " + lease.name() + " TAKEN").toList());
  }

  private final class WaitRecorder implements LockListener {
    @Override
    public void waiting(LockEvent event) {
      threads.add(Thread.currentThread());
      events.add(Thread.currentThread().getName() + " waits for " + event.lockName());
    }

    @Override
    public void acquired(Acquired event) {
      events.add(Thread.currentThread().getName() + " has " + event.lockName());
    }

    @Override
    public void notAcquired(NotAcquired event) {
      events.add(Thread.currentThread().getName() + " goes without " + event.lockName());
    }

    @Override
    public void renewed(LeaseEvent event) {
      threads.add(Thread.currentThread());
      events.add("renewed " + event.lockName() + " " + event.token());
    }
  }

  private LockClient watchingWaits() {
    return opened(
        store.client().clientName("test").addListener(new WaitRecorder()).build());
  }

  /** L-10.9. */
  @Test
  void aCallThatWaitsSaysSoOnceOnItsThreadAndBeforeItsOutcome() throws Exception {
    LockClient client = watchingWaits();
    Lease others = others("x").lock();
    Actor<Lease> first = start("first", () -> client.get("x").lock()).awaitParked();
    Actor<Lease> second = start("second", () -> client.get("x").lock()).awaitParked();
    Actor<Optional<Lease>> third =
        start("third", () -> client.get("x").tryLock(Duration.ofMillis(7))).awaitParked();
    time.advance(Duration.ofMillis(7));
    third.result();
    others.close();
    Lease handedOn = first.result();
    // Given back and not handed on, so that the second waits in both queues.
    LeaseGuard.open(handedOn, Grant.class).close();
    handedOn.close();
    second.result().close();

    assertThat(events)
        .containsExactly(
            "first waits for x",
            "second waits for x",
            "third waits for x",
            "third goes without x",
            "first has x",
            "second has x");
  }

  /** L-10.9. */
  @Test
  void aCallThatDoesNotWaitDoesNotSaySo() throws Exception {
    LockClient client = watchingWaits();
    Thread.currentThread().setName("main");
    Lease lease = client.get("x").lock();
    client.get("x").tryLock(Duration.ofSeconds(1)).orElseThrow().close();
    Actor<Boolean> other =
        start("other", () -> client.get("x").tryLock().or(() -> tryNow(client)).isPresent());
    assertThat(other.result()).isFalse();
    lease.close();
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Boolean> asking = start("asking", () -> client.get("x").tryLock().isPresent());
    gate.awaitCall();
    Actor<Boolean> behind =
        start("behind", () -> client.get("x").tryLock().isPresent()).awaitParked();
    gate.open();
    assertThat(asking.result()).isTrue();
    assertThat(behind.result()).isFalse();

    assertThat(events).noneMatch(event -> event.contains("waits")).hasSize(6);
  }

  private static Optional<Lease> tryNow(LockClient client) {
    try {
      return client.get("x").tryLock(Duration.ZERO);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** L-10.9. */
  @Test
  void aCallThroughTheJavaViewSaysThatItWaitsToo() throws Exception {
    LockClient client = watchingWaits();
    Lease others = others("x").lock();
    Actor<Boolean> waiter = start("waiter", () -> {
          Lock view = client.get("x").asLock();
          view.lock();
          try {
            return true;
          } finally {
            view.unlock();
          }
        })
        .awaitParked();
    others.close();
    waiter.result();

    assertThat(events).containsExactly("waiter waits for x", "waiter has x");
  }

  /** L-10.9. */
  @Test
  void eachRenewalOfEachLeaseIsToldInTheBackground() {
    LockClient client = watchingWaits();
    Lease a = client.get("a").tryLock().orElseThrow();
    Lease b = client.get("b").tryLock().orElseThrow();
    Lease fixed = client.get("fixed", LockOptions.fixed(TTL)).tryLock().orElseThrow();
    events.clear();
    pass(AT_RENEWAL);
    Eventually.await("both events", () -> events.size() == 2);
    assertThat(events)
        .containsExactlyInAnyOrder("renewed a " + a.token(), "renewed b " + b.token());
    assertThat(threads).doesNotContain(Thread.currentThread());
    pass(AT_RENEWAL);
    Eventually.await("four events", () -> events.size() == 4);
    store.failNext(RENEW);
    pass(AT_RENEWAL.plusSeconds(1));
    a.verify();
    settle();

    assertThat(events).hasSize(4);
    List.of(a, b).forEach(Lease::close);
    assertThatThrownBy(fixed::close).isInstanceOf(LockLostException.class);
  }

  /** L-10.9. */
  @Test
  void aRenewalIsToldBeforeTheDoubtThatFollowsIt() {
    AtomicBoolean drops = new AtomicBoolean(true);
    LockClient client = behind(drops);
    Lease lease = client.get("x").tryLock().orElseThrow();
    pass(AT_RENEWAL);
    store.failNext(RENEW);
    store.events().suspended(store.grant("x"));
    settle();
    assertThat(events).isEmpty();
    drops.set(false);
    awaitCollected("both events", () -> events.size() >= 2);

    assertThat(events.subList(0, 2)).containsExactly("renewed x", "uncertain x");
    lease.close();
  }

  @Test
  void ofAListenerThatIsTooFarBehindTheLogSaysSoOnce() {
    AtomicBoolean drops = new AtomicBoolean(true);
    LockClient client = behind(drops);
    Lease lease = client.get("x", LockOptions.fixed(TTL)).tryLock().orElseThrow();
    List<String> lines = new CopyOnWriteArrayList<>();
    EngineLog log = new EngineLog(Level.WARN, line -> lines.add(line.getFormattedMessage()));
    try {
      for (int i = 0; i < 10_100; i++) {
        lease.extend(TTL);
      }
      settle();
      drops.set(false);
      awaitCollected("the events", () -> events.size() == 10_000);
    } finally {
      log.close();
    }

    assertThat(lines).singleElement().asString().contains("10000 events behind");
    lease.close();
  }

  @Test
  void anExecutorThatIsBusyHasOneTaskForAllEventsHoweverLongItIs() {
    Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    LockClient client = watchingLeases(tasks::add);
    Lease lease = client.get("x").tryLock().orElseThrow();
    for (int busy = 1; busy <= 2; busy++) {
      for (int second = 0; second < 60; second++) {
        pass(Duration.ofSeconds(1));
      }
      // What the executor has is no garbage.
      System.gc();
      pass(Duration.ofSeconds(1));
      assertThat(tasks).as("tasks while it is busy, time %d", busy).hasSize(1);
      int toldBefore = events.size();
      tasks.remove().run();
      assertThat(events.size() - toldBefore).as("events, time %d", busy).isGreaterThan(3);
    }
    lease.close();
  }

  /** Waits for what is told once the garbage collector has found what the executor dropped. */
  private void awaitCollected(String what, BooleanSupplier condition) {
    Eventually.await(what, () -> {
      System.gc();
      pass(Duration.ofMillis(100));
      return condition.getAsBoolean();
    });
  }

  private LockClient behind(AtomicBoolean drops) {
    return watchingLeases(task -> {
      if (!drops.get()) {
        task.run();
      }
    });
  }

  private LockClient watchingLeases(Executor executor) {
    return opened(store
        .client()
        .clientName("test")
        .callbackExecutor(executor)
        .addListener(new LeaseRecorder())
        .build());
  }

  /** The outer lease is closed by another thread meanwhile. */
  @Test
  void aLeaseWhoseLastHandleIsThatOfANestedCallThatFailsIsToldAsReleased() throws Exception {
    CompletableFuture<Lease> outer = new CompletableFuture<>();
    Gate gate = new Gate();
    store.always(RENEW, call -> {
      throw StoreException.unanswered("no answer", null);
    });
    store.next(VERIFY, call -> {
      LossTest.passQuietly(gate);
      throw StoreException.unanswered("no answer", null);
    });
    Actor<Lease> owner = start("owner", () -> {
      outer.complete(held("x"));
      time.jumpWallClock(Duration.ofHours(1));
      return held("x");
    });
    gate.awaitCall();
    outer.join().close();
    gate.open();
    assertThatThrownBy(owner::result).isInstanceOf(LockStoreException.class);

    assertThat(events).contains("released x 0");
  }

  /** L-10.9. */
  @Test
  void anExtensionIsToldAndAVerificationIsNot() {
    LockClient client = watchingWaits();
    Lease lease = client.get("x", LockOptions.fixed(TTL)).tryLock().orElseThrow();
    events.clear();
    lease.extend(TTL);
    Eventually.await("the event", () -> events.size() == 1);
    lease.verify();
    store.failNext(EXTEND);
    assertThatThrownBy(() -> lease.extend(TTL)).isInstanceOf(LockStoreException.class);
    settle();

    assertThat(events).containsExactly("renewed x " + lease.token());
    lease.close();
  }
}
