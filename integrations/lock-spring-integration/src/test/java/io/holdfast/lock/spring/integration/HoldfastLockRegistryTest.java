package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.LockRegistry;

/** What Spring Integration promises of a lock registry, and what this one adds. */
@Tag("each-spring-integration")
@SuppressWarnings(
    "LockNotBeforeTry") // The tests are about lock and unlock; closing the clients frees the rest.
class HoldfastLockRegistryTest {
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final LockOptions SHORT = LockOptions.fixed(Duration.ofSeconds(2));

  private final InMemoryServer server = new InMemoryServer();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LockClient client = client();
  private final LockClient others = client();
  private final HoldfastLockRegistry registry = new HoldfastLockRegistry(client, "test/");
  private final HoldfastLockRegistry otherRegistry = new HoldfastLockRegistry(others, "test/");
  private final ExecutorService thread = Executors.newSingleThreadExecutor();

  private LockClient client() {
    return InMemoryLocks.builder(server)
        .storeTimeout(Duration.ofSeconds(1))
        .addListener(new LockListener() {
          @Override
          public void waiting(LockEvent event) {
            waiting.incrementAndGet();
          }
        })
        .build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    others.close();
    thread.shutdownNow();
    assertThat(thread.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  private <T> T onAnotherThread(Callable<T> task) throws Exception {
    try {
      return thread.submit(task).get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }

  private boolean isFreeForOthers(String key) throws Exception {
    return onAnotherThread(() -> {
      Lock lock = otherRegistry.obtain(key);
      boolean free = lock.tryLock();
      if (free) {
        lock.unlock();
      }
      return free;
    });
  }

  /** Frees the lock by force, as an administrator would, or a store that lost its data. */
  private void takeAway(String key) {
    LockHolder holder = others.get("test/" + key).inspect().orElseThrow();
    assertThat(others.get("test/" + key).forceRelease(holder.token())).isTrue();
  }

  // One holder

  @Test
  void aLockIsHeldFromLockToUnlock() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lock();
    assertThat(isFreeForOthers("key")).isFalse();
    assertThat(isFreeForOthers("another key")).isTrue();
    lock.unlock();

    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void everyWayOfAcquiringHolds() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lockInterruptibly();
    assertThat(isFreeForOthers("key")).isFalse();
    lock.unlock();
    assertThat(lock.tryLock()).isTrue();
    assertThat(isFreeForOthers("key")).isFalse();
    lock.unlock();
    assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
    assertThat(isFreeForOthers("key")).isFalse();
    lock.unlock();

    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void aThreadThatHasALockMayLockItAgain() throws Exception {
    registry.obtain("key").lock();
    registry.obtain("key").lock();
    registry.obtain("key").lockInterruptibly();
    assertThat(registry.obtain("key").tryLock()).isTrue();
    assertThat(registry.obtain("key").tryLock(1, TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < 5; i++) {
      assertThat(isFreeForOthers("key")).isFalse();
      registry.obtain("key").unlock();
    }

    assertThat(isFreeForOthers("key")).isTrue();
    assertThatThrownBy(() -> registry.obtain("key").unlock())
        .isInstanceOf(IllegalMonitorStateException.class);
  }

  @Test
  void anotherThreadCanNeitherHaveNorUnlockIt() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lock();
    assertThat(onAnotherThread(() -> lock.tryLock())).isFalse();
    assertThatThrownBy(() -> onAnotherThread(Executors.callable(lock::unlock)))
        .isInstanceOf(IllegalMonitorStateException.class);
    assertThat(isFreeForOthers("key")).isFalse();
    lock.unlock();

    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void aThreadThatHasNoLockCannotUnlockIt() {
    assertThatThrownBy(() -> registry.obtain("key").unlock())
        .isInstanceOf(IllegalMonitorStateException.class)
        .hasMessageContaining("test/key");
  }

  @Test
  void threadsOfTwoRegistriesAreInsideOneAtATime() throws Exception {
    int threads = 4;
    int rounds = 200;
    int[] count = new int[1];
    ExecutorService workers = Executors.newFixedThreadPool(threads);
    try {
      var tasks = IntStream.range(0, threads)
          .mapToObj(i -> workers.submit(() -> {
            LockRegistry<?> mine = i % 2 == 0 ? registry : otherRegistry;
            for (int round = 0; round < rounds; round++) {
              mine.executeLocked("key", () -> count[0]++);
            }
            return null;
          }))
          .toList();
      for (Future<?> task : tasks) {
        task.get(30, TimeUnit.SECONDS);
      }
    } finally {
      workers.shutdownNow();
    }

    assertThat(count[0]).isEqualTo(threads * rounds);
  }

  // Waiting

  @Test
  void tryLockWaitsAsLongAsItIsToldAndNoLonger() throws Exception {
    otherRegistry.obtain("key").lock();
    Lock lock = registry.obtain("key");
    assertThat(onAnotherThread(() -> lock.tryLock())).isFalse();
    long sinceNanos = System.nanoTime();
    assertThat(onAnotherThread(() -> lock.tryLock(300, TimeUnit.MILLISECONDS))).isFalse();

    assertThat(System.nanoTime() - sinceNanos).isBetween(300_000_000L, 20_000_000_000L);
    otherRegistry.obtain("key").unlock();
    assertThat(onAnotherThread(() -> lock.tryLock(0, TimeUnit.SECONDS))).isTrue();
  }

  @Test
  void whoeverWaitsGetsTheLockWhenItIsUnlocked() throws Exception {
    otherRegistry.obtain("key").lock();
    Future<Boolean> waiter =
        thread.submit(() -> registry.obtain("key").tryLock(30, TimeUnit.SECONDS));
    Await.until("the wait", () -> waiting.get() == 1);
    assertThat(waiter).isNotDone();
    otherRegistry.obtain("key").unlock();

    assertThat(waiter.get(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void anInterruptEndsAWaitAndNothingIsHeld() throws Exception {
    otherRegistry.obtain("key").lock();
    Lock lock = registry.obtain("key");
    for (Callable<?> wait : List.<Callable<?>>of(() -> lock.tryLock(30, TimeUnit.SECONDS), () -> {
      lock.lockInterruptibly();
      return null;
    })) {
      int before = waiting.get();
      Thread[] waiter = new Thread[1];
      Future<?> waited = thread.submit(() -> {
        waiter[0] = Thread.currentThread();
        return wait.call();
      });
      Await.until("the wait", () -> waiting.get() == before + 1);
      waiter[0].interrupt();
      assertThatThrownBy(() -> waited.get(30, TimeUnit.SECONDS))
          .hasCauseInstanceOf(InterruptedException.class);
    }
    otherRegistry.obtain("key").unlock();

    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void lockIgnoresAnInterruptAndKeepsIt() throws Exception {
    boolean stillInterrupted = onAnotherThread(() -> {
      Thread.currentThread().interrupt();
      registry.obtain("key").lock();
      return Thread.interrupted();
    });

    assertThat(stillInterrupted).isTrue();
    assertThat(isFreeForOtherClient("key")).isFalse();
  }

  private boolean isFreeForOtherClient(String key) {
    return others.get("test/" + key).inspect().isEmpty();
  }

  // Losing

  @Test
  void unlockAfterALossThrowsAndHoldsNothing() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lock();
    takeAway("key");
    assertThatThrownBy(lock::unlock)
        .isInstanceOf(ConcurrentModificationException.class)
        .hasMessageContaining("test/key")
        .hasCauseInstanceOf(LockLostException.class);

    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    lock.lock();
    lock.unlock();
    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void unlockOfAnExpiredLockThrowsAndLeavesTheNextHolderAlone() throws Exception {
    Lock lock = new HoldfastLockRegistry(client, "test/", SHORT).obtain("key");
    lock.lock();
    otherRegistry.obtain("key").lock(); // As soon as the first lease has expired.
    assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);

    assertThat(onAnotherThread(() -> registry.obtain("key").tryLock())).isFalse();
    otherRegistry.obtain("key").unlock();
  }

  @Test
  void everyUnlockOfANestedLockThrowsAfterALoss() {
    Lock lock = registry.obtain("key");
    lock.lock();
    lock.lock();
    takeAway("key");
    others.get("test/key").tryLock().orElseThrow().close();
    // The client learns of it only when it asks.
    assertThatThrownBy(lock::tryLock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
    assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);

    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
  }

  @Test
  void aLockThatWasTakenAwayIsNotLockedAgain() {
    Lock lock = registry.obtain("key");
    lock.lock();
    takeAway("key");
    assertThatThrownBy(lock::tryLock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS))
        .isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::lock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);

    assertThat(lock.tryLock()).isTrue();
    lock.unlock();
  }

  @Test
  void workUnderALockThatWasLostEndsWithAnException() {
    LockRegistry<?> spring = registry;
    assertThatThrownBy(() -> spring.executeLocked("key", () -> takeAway("key")))
        .isInstanceOf(ConcurrentModificationException.class);
  }

  @Test
  void workThatDoesNotGetTheLockInTimeDoesNotRun() {
    LockRegistry<?> spring = registry;
    otherRegistry.obtain("key").lock();
    assertThatThrownBy(() -> spring.executeLocked("key", Duration.ofMillis(50), () -> {
          throw new AssertionError("ran");
        }))
        .isInstanceOf(TimeoutException.class);
    otherRegistry.obtain("key").unlock();
  }

  @Test
  void aClientThatIsClosedIsNotALockThatIsTaken() {
    Lock held = registry.obtain("held");
    held.lock();
    client.close();
    assertThatThrownBy(() -> registry.obtain("key").tryLock())
        .isInstanceOf(LockClientClosedException.class);
    assertThatThrownBy(held::unlock).isInstanceOf(ConcurrentModificationException.class);
  }

  // Renewing

  @Test
  void renewalOfAFixedLeaseExtendsIt() throws Exception {
    HoldfastLockRegistry fixed = new HoldfastLockRegistry(client, "test/", SHORT);
    fixed.obtain("key").lock();
    fixed.renewLock("key");
    fixed.renewLock("key", Duration.ofMinutes(5));
    try (Lease lease = client.get("test/key", SHORT).lock()) {
      assertThat(lease.remaining()).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
    }
    fixed.obtain("key").unlock();
    assertThat(isFreeForOthers("key")).isTrue();
  }

  @Test
  void renewalOfARenewedLeaseAsksTheStore() {
    registry.obtain("key").lock();
    registry.renewLock("key");
    registry.renewLock("key", Duration.ofHours(1));
    takeAway("key");
    assertThatThrownBy(() -> registry.renewLock("key")).isInstanceOf(LockLostException.class);
    assertThatThrownBy(() -> registry.renewLock("key"))
        .isInstanceOf(IllegalMonitorStateException.class);
    assertThatThrownBy(() -> registry.obtain("key").unlock())
        .isInstanceOf(ConcurrentModificationException.class);
  }

  @Test
  void whoeverHasNoLockCannotRenewItAndDoesNotGetIt() throws Exception {
    assertThatThrownBy(() -> registry.renewLock("key"))
        .isInstanceOf(IllegalMonitorStateException.class)
        .hasMessageContaining("test/key");
    assertThat(isFreeForOthers("key")).isTrue();
    registry.obtain("key").lock();
    assertThatThrownBy(() -> onAnotherThread(Executors.callable(() -> registry.renewLock("key"))))
        .isInstanceOf(IllegalMonitorStateException.class);
    registry.obtain("key").unlock();
  }

  @Test
  void theTokenIsTheOneOfTheLeaseAndRises() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lock();
    long first = registry.token("key");
    assertThat(others.get("test/key").inspect().orElseThrow().token()).isEqualTo(first);
    lock.unlock();
    assertThatThrownBy(() -> registry.token("key"))
        .isInstanceOf(IllegalMonitorStateException.class);
    lock.lock();
    assertThat(registry.token("key")).isGreaterThan(first);
    lock.unlock();
    assertThat(isFreeForOthers("key")).isTrue();
  }

  // Names and settings

  @Test
  void registriesWithOtherPrefixesHaveOtherLocks() throws Exception {
    new HoldfastLockRegistry(client, "a/").obtain("key").lock();
    Lock lock = new HoldfastLockRegistry(others, "b/").obtain("key");
    assertThat(onAnotherThread(() -> lock.tryLock())).isTrue();
    assertThat(others.list("", 10)).extracting(LockHolder::name).containsExactly("a/key", "b/key");
  }

  @Test
  void anyTextIsAKeyAndDifferentTextsAreDifferentLocks() {
    String path = "/data".repeat(100);
    for (String key : List.of("", "a\nb", "a\rb", path, path + "x", "\ud83d")) {
      assertThat(registry.obtain(key).tryLock()).as(key).isTrue();
    }
    new HoldfastLockRegistry(client, "").obtain("").lock();

    assertThat(others.list("", 10))
        .hasSize(7)
        .extracting(LockHolder::name)
        .contains("test/")
        .anySatisfy(name -> assertThat(name).matches("sha-256:[0-9a-f]{64}"))
        .anySatisfy(name -> assertThat(name).matches("test/sha-256:[0-9a-f]{64}"));
  }

  @Test
  void aKeyThatIsNoTextIsRefused() {
    assertThatThrownBy(() -> registry.obtain(42))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("java.lang.Integer");
    assertThatThrownBy(() -> registry.obtain(null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("null");
  }

  @Test
  void aPrefixThatNoNameCanHaveIsRefused() {
    assertThatThrownBy(() -> new HoldfastLockRegistry(client, "a".repeat(129)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("128");
    assertThatThrownBy(() -> new HoldfastLockRegistry(client, "a\n"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("U+000A");
    Lock lock = new HoldfastLockRegistry(client, "a".repeat(128)).obtain("b".repeat(200));
    assertThat(lock.tryLock()).isTrue();
  }

  @Test
  void optionsThatDoNotFitAreRefusedWhenTheRegistryIsMade() {
    LockOptions ownedByLease = LockOptions.renewed(TTL).withOwnership(Ownership.LEASE);
    assertThatThrownBy(() -> new HoldfastLockRegistry(client, "test/", ownedByLease))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("THREAD");
    LockOptions tooShort = LockOptions.renewed(Duration.ofMillis(500));
    assertThatThrownBy(() -> new HoldfastLockRegistry(client, "test/", tooShort))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("storeTimeout");
  }

  @Test
  void thereAreNoConditions() {
    assertThatThrownBy(() -> registry.obtain("key").newCondition())
        .isInstanceOf(UnsupportedOperationException.class);
  }
}
