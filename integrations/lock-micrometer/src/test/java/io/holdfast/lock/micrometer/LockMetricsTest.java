package io.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.PermitsMismatchException;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LockMetricsTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  private final MeterRegistry registry = new SimpleMeterRegistry();
  private final InMemoryServer server = new InMemoryServer();
  private final MovableTime time = new MovableTime();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<LockClient> opened = new ArrayList<>();
  private final SemaphoreClient others = InMemoryLocks.builder(server).build();

  @AfterEach
  void close() throws InterruptedException {
    opened.forEach(LockClient::close);
    others.close();
    threads.shutdownNow();
    assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  private SemaphoreClient client(UnaryOperator<LockMetrics.Builder> settings) {
    LockMetrics metrics =
        settings.apply(LockMetrics.builder(registry, "billing", "memory")).build();
    SemaphoreClient client =
        InMemoryLocks.builder(server).timeSource(time).addListener(metrics).build();
    opened.add(client);
    return client;
  }

  private SemaphoreClient client() {
    return client(builder -> builder.group(name -> name.substring(0, name.indexOf('/'))));
  }

  private long acquires(String outcome, String source) {
    return registry
        .get("holdfast.lock.acquire")
        .tags("client", "billing", "store", "memory", "group", "orders")
        .tags("outcome", outcome, "source", source)
        .timer()
        .count();
  }

  private Timer hold(String outcome) {
    return registry
        .get("holdfast.lock.hold")
        .tags("group", "orders", "outcome", outcome)
        .timer();
  }

  private int held() {
    return registry
        .get("holdfast.lock.held")
        .tags("group", "orders")
        .longTaskTimer()
        .activeTasks();
  }

  private int waiting() {
    var meter = registry.find("holdfast.lock.waiting").tags("group", "orders").longTaskTimer();
    return meter == null ? 0 : meter.activeTasks();
  }

  private double lost(String reason) {
    return registry
        .get("holdfast.lock.lost")
        .tags("group", "orders", "reason", reason)
        .counter()
        .count();
  }

  private double counted(String what) {
    return registry
        .get("holdfast.lock." + what)
        .tags("group", "orders")
        .counter()
        .count();
  }

  @Test
  void everyWayToALeaseIsCounted() throws Exception {
    SemaphoreClient client = client();
    Lease first = client.get("orders/1").lock();
    client.get("orders/1").lock().close();
    Future<Lease> next = threads.submit(() -> client.get("orders/1").lock().detach());
    Await.until("the wait", () -> waiting() == 1);
    first.close();
    next.get().close();

    assertThat(acquires("acquired", "store")).isEqualTo(1);
    assertThat(acquires("acquired", "reentrant")).isEqualTo(1);
    assertThat(acquires("acquired", "local_hand_off")).isEqualTo(1);
    assertThat(hold("released").count()).isEqualTo(2);
    assertThat(waiting()).isZero();
    assertThat(held()).isZero();
  }

  @Test
  void everyWayToGoWithoutIsCounted() throws Exception {
    SemaphoreClient client = client();
    Lease taken = others.get("orders/1").lock();
    assertThat(client.get("orders/1").tryLock()).isEmpty();
    assertThat(client.get("orders/1").tryLock(Duration.ofMillis(20))).isEmpty();
    Future<Lease> interrupted = threads.submit(() -> client.get("orders/1").lock());
    Await.until("the wait", () -> waiting() == 1);
    interrupted.cancel(true);
    Await.until("the interrupt", () -> acquires("interrupted", "none") == 1);
    try (Lease lease = client.get("orders/2").lock()) {
      assertThatThrownBy(
              () -> client.get("orders/2").with(LockOptions.fixed(TTL)).lock())
          .isInstanceOf(IllegalStateException.class);
      assertThat(lease.isHeld()).isTrue();
    }
    client.close();
    assertThatThrownBy(() -> client.get("orders/1").lock())
        .isInstanceOf(LockClientClosedException.class);
    taken.close();

    assertThat(acquires("taken", "none")).isEqualTo(2);
    assertThat(acquires("interrupted", "none")).isEqualTo(1);
    assertThat(acquires("refused", "none")).isEqualTo(1);
    assertThat(acquires("closed", "none")).isEqualTo(1);
    assertThat(acquires("failed", "none")).isZero();
    assertThat(waiting()).isZero();
  }

  @Test
  void aSemaphoreThatIsAskedForWithAnotherNumberOfPermitsIsNoFailureOfTheStore() throws Exception {
    SemaphoreClient client = client();
    try (PermitLease permit = others.semaphore("orders/printer", 3).lock()) {
      assertThatThrownBy(() -> client.semaphore("orders/printer", 2).tryLock())
          .isInstanceOf(PermitsMismatchException.class);
      assertThat(permit.isHeld()).isTrue();
    }

    assertThat(acquires("refused", "none")).isEqualTo(1);
    assertThat(acquires("failed", "none")).isZero();
  }

  private long acquired(String mode) {
    return registry
        .get("holdfast.lock.acquire")
        .tags("group", "orders", "mode", mode, "outcome", "acquired", "source", "store")
        .timer()
        .count();
  }

  private int held(String mode) {
    return registry
        .get("holdfast.lock.held")
        .tags("group", "orders", "mode", mode)
        .longTaskTimer()
        .activeTasks();
  }

  @Test
  void readsWritesAndPermitsAreCountedApart() throws Exception {
    SemaphoreClient client = client();
    DistributedReadWriteLock lock = client.readWrite("orders/1");
    lock.write().lock().close();
    lock.write().lock().close();
    try (ReadLease read = lock.read().lock();
        PermitLease permit = client.semaphore("orders/1", 3).lock()) {
      assertThat(read.isHeld()).isTrue();
      assertThat(permit.isHeld()).isTrue();
      assertThat(List.of(held("exclusive"), held("read"), held("permit"))).containsExactly(0, 1, 1);
    }

    assertThat(List.of(held("exclusive"), held("read"), held("permit"))).containsOnly(0);
    assertThat(List.of(acquired("exclusive"), acquired("read"), acquired("permit")))
        .containsExactly(2L, 1L, 1L);
  }

  @Test
  void aStoreThatDoesNotAnswerIsAFailureAndNotTaken() {
    LockMetrics metrics = LockMetrics.builder(registry, "billing", "memory")
        .group(name -> "orders")
        .build();
    metrics.notAcquired(
        new Failing("orders/1", new LockStoreException("orders/1", "no answer", null)));

    assertThat(acquires("failed", "none")).isEqualTo(1);
    assertThat(acquires("refused", "none")).isZero();
    assertThat(acquires("taken", "none")).isZero();
  }

  @Test
  void aLeaseIsHeldUntilItsLastHandleIsClosed() throws Exception {
    SemaphoreClient client = client();
    Lease outer = client.get("orders/1").lock();
    Lease nested = client.get("orders/1").lock();
    Lease another = client.get("orders/2").lock();
    assertThat(held()).isEqualTo(2);
    outer.close();
    assertThat(held()).isEqualTo(2);
    nested.close();
    assertThat(held()).isEqualTo(1);
    another.close();

    assertThat(held()).isZero();
    assertThat(hold("released").count()).isEqualTo(2);
  }

  @Test
  void timersShowHowLongCallersWaitedAndHeld() throws Exception {
    SemaphoreClient client = client();
    Lease taken = others.get("orders/1").lock();
    Future<Lease> waiter = threads.submit(() -> client.get("orders/1").lock().detach());
    Await.until("the wait", () -> waiting() == 1);
    long sinceNanos = System.nanoTime();
    Await.until("some time", () -> System.nanoTime() - sinceNanos > 50_000_000);
    taken.close();
    Lease lease = waiter.get();
    long heldNanos = System.nanoTime();
    Await.until("some time", () -> System.nanoTime() - heldNanos > 21_000_000);
    lease.close();

    assertThat(registry
            .get("holdfast.lock.acquire")
            .tags("outcome", "acquired", "source", "store")
            .timer()
            .totalTime(TimeUnit.MILLISECONDS))
        .isGreaterThan(49);
    assertThat(hold("released").totalTime(TimeUnit.MILLISECONDS)).isGreaterThan(20);
  }

  @Test
  void aLossIsCountedByItsReason() throws Exception {
    SemaphoreClient client = client();
    Lease expiring = client
        .get("orders/1", LockOptions.fixed(Duration.ofSeconds(6)).withOwnership(Ownership.LEASE))
        .lock();
    Lease open = client.get("orders/2").lock();
    assertThat(others.get("orders/1").forceRelease(expiring.token())).isTrue();
    assertThatThrownBy(expiring::close).isInstanceOf(LockLostException.class);
    Await.until("the first loss", () -> lost("taken") == 1);
    client.close();
    assertThatThrownBy(open::close).isInstanceOf(LockLostException.class);

    Await.until("the second loss", () -> lost("client_closed") == 1);
    Await.until("the ends", () -> hold("lost").count() == 2);
    assertThat(held()).isZero();
    assertThat(hold("released").count()).isZero();
  }

  @Test
  void doubtsRenewalsAndLeaksAreCounted() throws Exception {
    SemaphoreClient client = client();
    Lease lease = client.get("orders/1", LockOptions.fixed(TTL)).lock();
    lease.extend(Duration.ofMinutes(1));
    Await.until("the extension", () -> counted("renewals") == 1);
    time.jumpWall(Duration.ofHours(1));
    assertThat(lease.isHeld()).isFalse();
    Await.until("the doubt", () -> counted("uncertain") == 1);
    Thread dying = new Thread(() -> client.get("orders/2").asLock().lock());
    dying.start();
    dying.join();

    Await.until("the leak", () -> counted("leaked") == 1);
    lease.verify();
    lease.close();
  }

  @Test
  void tenThousandNamesAddNoSeries() throws Exception {
    SemaphoreClient client = client();
    client.get("orders/first").lock().close();
    List<Meter> before = registry.getMeters();
    for (int i = 0; i < 10_000; i++) {
      client.get("orders/" + i).run(lease -> {});
    }

    assertThat(registry.getMeters()).hasSameSizeAs(before);
    assertThat(acquires("acquired", "store")).isEqualTo(10_001);
    assertThat(before)
        .allSatisfy(
            meter -> assertThat(meter.getId().getTags().toString()).doesNotContain("orders/"));
  }

  @Test
  void namesWithoutAFunctionAreOneGroup() throws Exception {
    SemaphoreClient client = client(builder -> builder);
    client.get("a").lock().close();
    client.get("b").lock().close();

    assertThat(registry
            .get("holdfast.lock.hold")
            .tags("group", "all", "outcome", "released")
            .timer()
            .count())
        .isEqualTo(2);
  }

  @Test
  void aFunctionThatReturnsTheNameMakesAHundredGroupsAndNoMore() throws Exception {
    SemaphoreClient client = client(builder -> builder.group(name -> name));
    for (int i = 0; i < 10_000; i++) {
      client.get("order " + i).run(lease -> {});
    }

    assertThat(registry.getMeters().stream()
            .map(meter -> meter.getId().getTag("group"))
            .distinct())
        .hasSize(101)
        .contains("other");
    assertThat(registry
            .get("holdfast.lock.hold")
            .tags("group", "other", "outcome", "released")
            .timer()
            .count())
        .isEqualTo(9_900);
    assertThat(registry
            .get("holdfast.lock.held")
            .tags("group", "other")
            .longTaskTimer()
            .activeTasks())
        .isZero();
  }

  @Test
  void aFunctionThatFailsCostsTheCountAndNotTheLock() throws Exception {
    SemaphoreClient client = client(builder -> builder.group(name -> {
      if (name.equals("bad")) {
        throw new IllegalStateException("no");
      }
      return name.equals("blank") ? " " : "good";
    }));
    for (String name : List.of("bad", "blank", "fine")) {
      try (Lease lease = client.get(name).lock()) {
        assertThat(lease.isHeld()).isTrue();
      }
    }

    assertThat(registry.getMeters())
        .isNotEmpty()
        .allSatisfy(meter -> assertThat(meter.getId().getTag("group")).isEqualTo("good"));
  }

  @Test
  void clientsWithTheSameTagsAreCountedTogether() throws Exception {
    Lease one = client().get("orders/1").lock();
    Lease two = client().get("orders/2").lock();

    assertThat(held()).isEqualTo(2);
    one.close();
    two.close();
    assertThat(held()).isZero();
    assertThat(hold("released").count()).isEqualTo(2);
  }

  /** The caller reports the beginning, and another thread the loss: they can race. */
  @Test
  void aLossThatIsToldBeforeTheBeginningLeavesNothingHeld() {
    LockMetrics metrics = LockMetrics.builder(registry, "billing", "memory")
        .group(name -> "orders")
        .build();
    metrics.lost(new Loss("orders/1", 1024, LeaseLoss.Reason.EXPIRED));
    metrics.acquired(new Beginning("orders/1", 1024, Duration.ZERO, LockListener.Source.STORE));
    metrics.acquired(new Beginning("orders/1", 2048, Duration.ZERO, LockListener.Source.STORE));

    assertThat(held()).isEqualTo(1);
    assertThat(hold("lost").count()).isEqualTo(1);
  }

  @Test
  void aTagThatIsBlankIsRefused() {
    assertThatThrownBy(() -> LockMetrics.builder(registry, " ", "memory"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("client");
    assertThatThrownBy(() -> LockMetrics.builder(registry, "billing", ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("store");
  }

  private record Beginning(String lockName, long token, Duration waited, LockListener.Source source)
      implements LockListener.Acquired, Exclusive {}

  /** An event about a lock that is asked for by itself. */
  private interface Exclusive extends LockListener.LockEvent {
    @Override
    default LockListener.Mode mode() {
      return LockListener.Mode.EXCLUSIVE;
    }
  }

  private record Failing(String lockName, Throwable thrown)
      implements LockListener.NotAcquired, Exclusive {
    @Override
    public Duration waited() {
      return Duration.ZERO;
    }

    @Override
    public Optional<Throwable> failure() {
      return Optional.of(thrown);
    }
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason)
      implements LockListener.Lost, LeaseLoss, Exclusive {
    @Override
    public String lockName() {
      return name;
    }

    @Override
    public LeaseLoss loss() {
      return this;
    }
  }
}
