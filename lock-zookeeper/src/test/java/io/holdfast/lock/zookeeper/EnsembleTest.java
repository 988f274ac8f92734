package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On three servers, one of which is killed, frozen or cut off. */
@Timeout(120)
class EnsembleTest {
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(8);
  private static Ensemble ensemble;

  private final List<AutoCloseable> closeables = new ArrayList<>();

  @BeforeAll
  static void start() {
    ensemble = new Ensemble();
  }

  @AfterAll
  static void stop() {
    if (ensemble != null) {
      ensemble.close();
    }
  }

  @AfterEach
  void close() throws Exception {
    for (int i = closeables.size() - 1; i >= 0; i--) {
      closeables.get(i).close();
    }
  }

  private <T extends AutoCloseable> T closeLater(T closeable) {
    closeables.add(closeable);
    return closeable;
  }

  private LockClient client(String addresses) {
    CuratorFramework framework = closeLater(Frameworks.open(addresses, SESSION_TIMEOUT));
    return closeLater(ZooKeeperLocks.builder(framework)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(6)))
        .build());
  }

  /** One client in one session, that takes the lock again and again. */
  private static final class Contender {
    final Thread thread;
    final AtomicInteger turns = new AtomicInteger();

    Contender(LockClient client, String name, Shared shared) {
      thread = new Thread(() -> run(client, name, shared), "contender");
      thread.start();
    }

    private void run(LockClient client, String name, Shared shared) {
      while (!shared.stop.get()) {
        try (Lease lease = client.get(name).lock()) {
          if (shared.inside.incrementAndGet() > 1 && lease.isHeld()) {
            shared.problems.add("two are inside, one with token " + lease.token());
          }
          long before = shared.lastToken.getAndAccumulate(lease.token(), Math::max);
          if (lease.token() <= before) {
            shared.problems.add("token " + lease.token() + " after " + before);
          }
          Thread.sleep(1);
          shared.inside.decrementAndGet();
          turns.incrementAndGet();
        } catch (LockStoreException | LockLostException e) {
          // A server is gone; the next attempt shows whether the others carry on.
        } catch (InterruptedException e) {
          return;
        }
      }
    }
  }

  private static final class Shared {
    final AtomicBoolean stop = new AtomicBoolean();
    final AtomicInteger inside = new AtomicInteger();
    final java.util.concurrent.atomic.AtomicLong lastToken =
        new java.util.concurrent.atomic.AtomicLong();
    final Queue<String> problems = new ConcurrentLinkedQueue<>();
  }

  private List<Contender> contend(String name, Shared shared, int count) {
    List<Contender> contenders = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      contenders.add(new Contender(client(ensemble.address()), name, shared));
    }
    return contenders;
  }

  private static void awaitTurns(String what, List<Contender> contenders, int more) {
    for (Contender contender : contenders) {
      int before = contender.turns.get();
      Stores.eventually(what, () -> contender.turns.get() >= before + more);
    }
  }

  private static void stop(Shared shared, List<Contender> contenders) throws InterruptedException {
    shared.stop.set(true);
    for (Contender contender : contenders) {
      contender.thread.join(30_000);
      assertThat(contender.thread.isAlive()).as("a contender still waits").isFalse();
    }
  }

  @Test
  void contentionGoesOnWhenTheLeaderIsKilledAndTokensRise() throws Exception {
    String name = Stores.freshName();
    Shared shared = new Shared();
    List<Contender> contenders = contend(name, shared, 4);
    awaitTurns("everybody has had turns", contenders, 5);
    int leader = ensemble.leader();
    ensemble.kill(leader);
    int next = ensemble.leader();
    assertThat(next).isNotEqualTo(leader);
    awaitTurns("everybody has turns under the new leader", contenders, 5);
    stop(shared, contenders);
    ensemble.startAgain(leader);
    assertThat(shared.problems).isEmpty();
    LockClient last = client(ensemble.address());
    Lease lease = last.get(name).lockWithin(Duration.ofSeconds(30));
    assertThat(lease.token()).isGreaterThan(shared.lastToken.get());
    lease.close();
    Stores.eventually("no watch is left", () -> {
      try {
        return ensemble.watchesOn(Stores.path(name)) == 0;
      } catch (java.io.IOException e) {
        return false;
      }
    });
  }

  @Test
  void contentionGoesOnWhenAFollowerIsFrozen() throws Exception {
    String name = Stores.freshName();
    Shared shared = new Shared();
    List<Contender> contenders = contend(name, shared, 4);
    awaitTurns("everybody has had turns", contenders, 5);
    int follower = ensemble.follower();
    ensemble.pause(follower);
    try {
      awaitTurns("everybody has turns without it", contenders, 5);
    } finally {
      ensemble.resume(follower);
    }
    awaitTurns("everybody has turns with it again", contenders, 5);
    stop(shared, contenders);
    assertThat(shared.problems).isEmpty();
  }

  @Test
  void aHolderAtAFrozenFollowerStopsBelievingBeforeAnotherHasTheLock() {
    int follower = ensemble.follower();
    String name = Stores.freshName();
    LockClient there = client(ensemble.address(ensemble.port(follower)));
    LockClient elsewhere = client(ensemble.address(ensemble.port(ensemble.leader())));
    Lease lease = there.get(name).tryLock().orElseThrow();
    AtomicReference<Boolean> believed = new AtomicReference<>();
    ensemble.pause(follower);
    try {
      Stores.eventually("another has it", () -> {
        try {
          return elsewhere
              .get(name)
              .tryLock()
              .map(next -> {
                believed.set(lease.isHeld());
                assertThat(next.token()).isGreaterThan(lease.token());
                next.close();
                return true;
              })
              .orElse(false);
        } catch (LockStoreException e) {
          return false;
        }
      });
    } finally {
      ensemble.resume(follower);
    }
    assertThat(believed.get()).as("isHeld() while another has the lock").isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  void aHolderThatIsCutOffLearnsOfItAndBlocksNobodyForLongerThanItsBound() {
    FaultProxy proxy =
        closeLater(FaultProxy.open(ensemble.host(), ensemble.port(ensemble.follower())));
    String name = Stores.freshName();
    LockClient far = client(proxy.host() + ":" + proxy.port());
    LockClient near = client(ensemble.address());
    Lease lease = far.get(name).tryLock().orElseThrow();
    AtomicBoolean told = new AtomicBoolean();
    lease.onLost(loss -> told.set(true));
    proxy.blackhole();
    long beganNanos = System.nanoTime();
    AtomicReference<Boolean> believed = new AtomicReference<>();
    Stores.eventually(
        "another has it",
        () -> near.get(name)
            .tryLock()
            .map(next -> {
              believed.set(lease.isHeld());
              next.close();
              return true;
            })
            .orElse(false));
    assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
        .isLessThan(lease.crashBound().plusSeconds(5));
    assertThat(believed.get()).as("isHeld() while another has the lock").isFalse();
    Stores.eventually("the holder is told", told::get);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  void aSessionThatExpiredAtTheServersIsToldToItsHolder() throws Exception {
    CuratorFramework framework = closeLater(Frameworks.open(ensemble.address(), SESSION_TIMEOUT));
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    Lease lease = client.get(Stores.freshName()).tryLock().orElseThrow();
    AtomicBoolean told = new AtomicBoolean();
    lease.onLost(loss -> told.set(true));
    SessionKiller.expire(framework, ensemble.address());
    Stores.eventually("the holder is told", told::get);
    assertThat(lease.isHeld()).isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }
}
