package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Three servers whose leader is killed, and a local agent that ends while locks are held. */
@Tag("nightly")
@Timeout(180)
class ClusterTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  private static ConsulCluster cluster;

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeAll
  static void start() throws Exception {
    cluster = new ConsulCluster();
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static LockClient client(int agent) {
    return ConsulLocks.builder(new OkHttpClient(), cluster.address(agent))
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  @Test
  void whenTheLeaderDiesEverybodyGoesOnAndTokensRise() throws Exception {
    Contention contention = new Contention();
    List<Future<?>> contenders = new ArrayList<>();
    int leader = cluster.awaitLeaderOtherThan(ConsulCluster.CLIENT);
    try (LockClient client = client(ConsulCluster.CLIENT);
        Lease held = client.get("leader/held").lock()) {
      for (int i = 0; i < 3; i++) {
        contenders.add(threads.submit(contention::contend));
      }
      try {
        Await.until("turns before", () -> contention.turns.get() > 30);
        cluster.kill(leader);
        cluster.awaitLeaderOtherThan(leader);
        long elected = System.nanoTime();
        long before = contention.turns.get();
        Await.until("turns after", () -> contention.turns.get() > before + 2);
        System.out.printf(
            "cluster: turns %d ms after the new leader was seen%n",
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - elected));
        Await.until("many turns after", () -> contention.turns.get() > before + 30);
        Await.until(
            "the held lock is confirmed",
            () -> isConfirmed(held) && held.state() == LeaseState.HELD);
      } finally {
        contention.stop.set(true);
        cluster.start(leader);
        cluster.awaitHealth();
      }
      for (Future<?> contender : contenders) {
        contender.get(30, TimeUnit.SECONDS);
      }
    }
  }

  private static boolean isConfirmed(Lease lease) {
    try {
      lease.verify();
      return true;
    } catch (LockStoreException e) {
      return false;
    }
  }

  /** Several clients that fight for one lock. */
  private static final class Contention {
    final AtomicBoolean stop = new AtomicBoolean();
    final AtomicInteger turns = new AtomicInteger();
    private final AtomicLong lastToken = new AtomicLong();
    private final AtomicReference<Lease> last = new AtomicReference<>();

    Void contend() throws InterruptedException {
      try (LockClient client = client(ConsulCluster.CLIENT)) {
        DistributedLock lock = client.get("leader/contended");
        while (!stop.get()) {
          try (Lease lease = lock.lock()) {
            Lease before = last.getAndSet(lease);
            if (before != null && before.isHeld() && lease.isHeld()) {
              throw new AssertionError("Both held: " + before + " and " + lease);
            }
            long token = lastToken.getAndSet(lease.token());
            // A lost lease may get here late, with a lower token.
            if (lease.isHeld() && token >= lease.token()) {
              throw new AssertionError("Token " + lease.token() + " after " + token);
            }
            turns.incrementAndGet();
          } catch (LockStoreException | LockLostException e) {
            TimeUnit.MILLISECONDS.sleep(50);
          }
        }
      }
      return null;
    }
  }

  @Test
  void aLocalAgentThatIsKilledAndStartedAgainCostsNobodyALock() throws Exception {
    try (LockClient holder = client(ConsulCluster.CLIENT);
        LockClient waiter = client(ConsulCluster.CLIENT)) {
      Lease held = holder.get("agent/killed").lock();
      Future<Long> next = threads.submit(() -> {
        while (true) {
          try (Lease lease = waiter.get("agent/killed").lock()) {
            return lease.token();
          } catch (LockStoreException e) {
            TimeUnit.MILLISECONDS.sleep(100);
          }
        }
      });
      Await.until("somebody waits", () -> waits("agent/killed"));
      cluster.kill(ConsulCluster.CLIENT);
      Await.until("the holder hears of it", () -> held.state() == LeaseState.UNCERTAIN);
      cluster.start(ConsulCluster.CLIENT);
      cluster.awaitSessionsAt(ConsulCluster.CLIENT);
      Await.until("the holder is sure again", () -> held.state() == LeaseState.HELD);
      Await.until("it is confirmed", () -> isConfirmed(held));
      assertThat(next.isDone()).isFalse();
      held.close();
      assertThat(next.get(60, TimeUnit.SECONDS)).isGreaterThan(held.token());
    }
  }

  private static boolean waits(String name) {
    try {
      return new TestHttp(cluster.address(0))
              .keys("holdfast/m/" + Keys.escape(name) + "/")
              .size()
          == 2;
    } catch (java.io.IOException e) {
      return false;
    }
  }

  @Test
  void aServerThatLeavesLetsNobodyInWhileAHolderThatHeardNothingBelieves() throws Exception {
    // Longer than it takes a server to leave on a busy machine.
    Duration ttl = Duration.ofSeconds(25);
    LockOptions options = LockOptions.renewed(ttl);
    int leaving = 2;
    URI address = URI.create(cluster.address(leaving));
    FaultProxy link = FaultProxy.open(address.getHost(), address.getPort());
    try (LockClient holder = ConsulLocks.builder(
                new OkHttpClient(), "http://" + link.host() + ":" + link.port())
            .storeTimeout(Duration.ofSeconds(3))
            .build();
        LockClient newcomer = client(0)) {
      Lease held = holder.get("server/leaves", options).lock();
      String session =
          new TestHttp(cluster.address(0)).sessionOf(ConsulGuard.of(held).key());
      // The agent seems to hang up before it leaves.
      link.blackhole();
      Future<?> stopping = threads.submit(() -> {
        cluster.stop(leaving);
        return null;
      });
      Await.until("the session has ended", () -> !isSession(session));
      boolean believed = held.isHeld();
      Lease next = lockDespiteFailures(newcomer.get("server/leaves", options));
      assertThat(believed).as("what this test is about").isTrue();
      assertThat(held.isHeld()).isFalse();
      assertThat(next.token()).isGreaterThan(held.token());
      stopping.get(60, TimeUnit.SECONDS);
    } finally {
      link.close();
      cluster.start(leaving);
      cluster.awaitHealth();
      cluster.awaitSessionsAt(leaving);
    }
  }

  private static boolean isSession(String id) {
    try {
      return new TestHttp(cluster.address(0)).sessions().contains(id);
    } catch (IOException | ClassCastException | IllegalArgumentException e) {
      return true;
    }
  }

  private static Lease lockDespiteFailures(DistributedLock lock) throws InterruptedException {
    while (true) {
      try {
        return lock.lock();
      } catch (LockStoreException e) {
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
  }

  @Test
  void aLocalAgentThatLeavesTakesItsSessionsAlongAndEveryHolderIsTold() throws Exception {
    try (LockClient leaving = client(ConsulCluster.CLIENT);
        LockClient other = client(0)) {
      Lease lost = leaving.get("agent/leaves").lock();
      AtomicInteger told = new AtomicInteger();
      lost.onLost(loss -> told.incrementAndGet());
      cluster.stop(ConsulCluster.CLIENT);
      Await.until("the holder hears of it", () -> lost.state() != LeaseState.HELD);
      cluster.start(ConsulCluster.CLIENT);
      cluster.awaitSessionsAt(ConsulCluster.CLIENT);
      Await.until("the holder is told", () -> told.get() == 1);
      assertThat(lost.isHeld()).isFalse();
      try (Lease next = other.get("agent/leaves").lock()) {
        assertThat(next.token()).isGreaterThan(lost.token());
      }
    }
  }
}
