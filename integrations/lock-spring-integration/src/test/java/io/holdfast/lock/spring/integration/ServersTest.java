package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.integration.support.locks.LockRegistry;

/** The registry and leader election on real servers, one of whose clients loses its connection. */
@ParameterizedClass
@MethodSource("io.holdfast.lock.spring.integration.Server#ofThisRun")
@SuppressWarnings("LockNotBeforeTry") // The tests are about lock and unlock.
class ServersTest {
  private static final LockOptions OPTIONS = LockOptions.renewed(Duration.ofSeconds(9));

  @Parameter
  Server server;

  private final String prefix = UUID.randomUUID() + "/";
  private FaultProxy link;
  private FaultProxy otherLink;
  private LockClient client;
  private LockClient others;
  private HoldfastLockRegistry registry;
  private HoldfastLockRegistry otherRegistry;

  @BeforeEach
  void open() {
    link = server.proxy();
    otherLink = server.proxy();
    client = server.clientAt(link);
    others = server.clientAt(otherLink);
    registry = new HoldfastLockRegistry(client, prefix, OPTIONS);
    otherRegistry = new HoldfastLockRegistry(others, prefix, OPTIONS);
  }

  @AfterEach
  void close() {
    link.heal();
    client.close();
    others.close();
    link.close();
    otherLink.close();
  }

  @Test
  void threadsOfTwoRegistriesAreInsideOneAtATime() throws Exception {
    int threads = 4;
    int rounds = 25;
    int[] count = new int[1];
    ExecutorService workers = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> tasks = IntStream.range(0, threads)
          .<Future<?>>mapToObj(i -> workers.submit(() -> {
            LockRegistry<?> mine = i % 2 == 0 ? registry : otherRegistry;
            for (int round = 0; round < rounds; round++) {
              mine.executeLocked("key", () -> count[0]++);
            }
            return null;
          }))
          .toList();
      for (Future<?> task : tasks) {
        task.get(50, TimeUnit.SECONDS);
      }
    } finally {
      workers.shutdownNow();
    }

    assertThat(count[0]).as("Unsafe: sections counted").isEqualTo(threads * rounds);
  }

  @Test
  void aLockIsReentrantAndTakenForOthers() throws Exception {
    Lock lock = registry.obtain("key");
    lock.lock();
    assertThat(lock.tryLock()).isTrue();
    lock.unlock();
    assertThat(otherRegistry.obtain("key").tryLock(200, TimeUnit.MILLISECONDS)).isFalse();
    lock.unlock();

    assertThat(otherRegistry.obtain("key").tryLock()).isTrue();
    otherRegistry.obtain("key").unlock();
  }

  @Test
  void aServerThatDoesNotAnswerIsNotALockThatIsTaken() {
    registry.obtain("held").lock();
    link.blackhole();
    assertThatThrownBy(() -> registry.obtain("key").tryLock())
        .isInstanceOf(LockStoreException.class);
    assertThatThrownBy(() -> registry.obtain("held").tryLock())
        .isInstanceOf(LockStoreException.class);
  }

  @Test
  void unlockThrowsOnceTheLeaseIsOver() {
    Lock lock = registry.obtain("key");
    lock.lock();
    link.blackhole();
    otherRegistry.obtain("key").lock(); // As soon as the first lease is over.
    assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
    link.heal();

    assertThat(others.get(prefix + "key", OPTIONS).isHeldByCurrentThread()).isTrue();
    otherRegistry.obtain("key").unlock();
  }

  @Test
  void aLeaderThatIsCutOffIsRevokedBeforeTheNextIsGranted() {
    List<String> history = new CopyOnWriteArrayList<>();
    String role = UUID.randomUUID().toString();
    try (Contender a = new Contender("a", client, role, OPTIONS, history);
        Contender b = new Contender("b", others, role, OPTIONS, history)) {
      a.start();
      Await.until("a leads", a::isLeading);
      b.start();
      link.blackhole();
      Await.until("b leads", b::isLeading);

      assertThat(history).containsExactly("a granted", "a revoked", "b granted");
      assertThat(b.token()).isGreaterThan(a.token());
      link.heal();
    }
  }

  @Test
  void aLeaderThatStopsIsFollowed() {
    List<String> history = new CopyOnWriteArrayList<>();
    String role = UUID.randomUUID().toString();
    LockOptions longLived = LockOptions.renewed(Duration.ofMinutes(5));
    try (Contender a = new Contender("a", client, role, longLived, history);
        Contender b = new Contender("b", others, role, longLived, history)) {
      a.start();
      Await.until("a leads", a::isLeading);
      b.start();
      a.stop();
      Await.until("b leads", b::isLeading);
      Await.until("a is told", () -> history.contains("a revoked"));
    }
  }
}
