package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three servers and a client agent that leave and come back one after the other, round after round,
 * while a client at each of them fights for one lock. A server that leaves takes the sessions along
 * that were made through it.
 */
@Tag("soak")
class RollingRestartSoakTest {
  private static final int ROUNDS = 10;
  private static final Duration TTL = Duration.ofSeconds(15);

  private final AtomicBoolean stop = new AtomicBoolean();
  private final AtomicReference<Lease> last = new AtomicReference<>();
  private final AtomicInteger turns = new AtomicInteger();
  private final AtomicInteger losses = new AtomicInteger();
  private final AtomicLong lastTurnNanos = new AtomicLong(System.nanoTime());
  private final AtomicLong longestGapNanos = new AtomicLong();

  @Test
  void nobodyHoldsWhileAnotherBelievesAndNobodyIsStuck() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (ConsulCluster cluster = new ConsulCluster()) {
      List<Future<?>> contenders = new ArrayList<>();
      for (int agent = 0; agent <= ConsulCluster.CLIENT; agent++) {
        String address = cluster.address(agent);
        contenders.add(threads.submit(() -> contend(address)));
      }
      for (int round = 0; round < ROUNDS; round++) {
        for (int agent = 0; agent <= ConsulCluster.CLIENT; agent++) {
          int before = turns.get();
          cluster.stop(agent);
          cluster.start(agent);
          cluster.awaitHealth();
          cluster.awaitSessionsAt(agent);
          eventually("turns go on", () -> turns.get() > before);
        }
        System.out.printf(
            "rolling restart: round %d, %d turns, %d losses told, longest pause %d ms%n",
            round + 1,
            turns.get(),
            losses.get(),
            TimeUnit.NANOSECONDS.toMillis(longestGapNanos.get()));
      }
      stop.set(true);
      for (Future<?> contender : contenders) {
        contender.get(3, TimeUnit.MINUTES);
      }
      assertThat(longestGapNanos.get()).isLessThan(4 * TTL.toNanos());
    } finally {
      threads.shutdownNow();
    }
  }

  private Void contend(String address) throws InterruptedException {
    try (LockClient client = ConsulLocks.builder(new OkHttpClient(), address)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(TTL))
        .build()) {
      DistributedLock lock = client.get("rolling");
      while (!stop.get()) {
        try (Lease lease = lock.lock()) {
          turn(lease);
        } catch (LockLostException e) {
          losses.incrementAndGet();
        } catch (LockStoreException e) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
    }
    return null;
  }

  private void turn(Lease lease) throws InterruptedException {
    Lease before = last.getAndSet(lease);
    boolean believed = before != null && before.isHeld();
    if (believed && lease.isHeld()) {
      throw new AssertionError("Both held: " + before + " and " + lease);
    }
    long nowNanos = System.nanoTime();
    long gapNanos = nowNanos - lastTurnNanos.getAndSet(nowNanos);
    longestGapNanos.accumulateAndGet(gapNanos, Math::max);
    turns.incrementAndGet();
    TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(400));
  }
}
