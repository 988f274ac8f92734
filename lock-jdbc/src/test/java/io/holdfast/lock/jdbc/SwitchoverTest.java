package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.ServerPair.Old;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Another server takes over, with all that the old one had: leases go on, nobody has a lock twice,
 * and new ones are granted at once.
 */
@Tag("nightly")
@Timeout(120)
class SwitchoverTest {
  /** So long that a lease outlasts a switchover on a busy machine. */
  private static final Duration TTL = Duration.ofSeconds(12);

  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration NEW_ACQUIRES_MAX = Duration.ofSeconds(5);

  @Test
  void mySqlWhoseOldPrimaryStaysUpReadOnly() throws Exception {
    switchOver(ServerPair.mySql(), Old.READ_ONLY);
  }

  @Test
  void mySqlWhoseOldPrimaryStaysUpWritable() throws Exception {
    switchOver(ServerPair.mySql(), Old.WRITABLE);
  }

  @Test
  void postgresWhoseOldPrimaryStops() throws Exception {
    switchOver(ServerPair.postgres(), Old.STOPPED);
  }

  @Test
  void postgresWhoseOldPrimaryStaysUpReadOnly() throws Exception {
    switchOver(ServerPair.postgres(), Old.READ_ONLY);
  }

  @RepeatedTest(10)
  @Tag("soak")
  void mySqlWhoseOldPrimaryStaysUpReadOnlyAgain() throws Exception {
    switchOver(ServerPair.mySql(), Old.READ_ONLY);
  }

  @RepeatedTest(10)
  @Tag("soak")
  void mySqlWhoseOldPrimaryStaysUpWritableAgain() throws Exception {
    switchOver(ServerPair.mySql(), Old.WRITABLE);
  }

  @RepeatedTest(10)
  @Tag("soak")
  void postgresWhoseOldPrimaryStopsAgain() throws Exception {
    switchOver(ServerPair.postgres(), Old.STOPPED);
  }

  @RepeatedTest(10)
  @Tag("soak")
  void postgresWhoseOldPrimaryStaysUpReadOnlyAgain() throws Exception {
    switchOver(ServerPair.postgres(), Old.READ_ONLY);
  }

  private static void switchOver(ServerPair opened, Old old) throws Exception {
    try (ServerPair pair = opened;
        HikariDataSource onePool = pair.pool(5);
        HikariDataSource otherPool = pair.pool(5);
        LockClient one = client(onePool);
        LockClient other = client(otherPool)) {
      String held = Claims.freshKey().name();
      Lease kept = one.get(held).lock().detach();
      Waiter waiter = new Waiter(other, held);
      Await.pause(TTL.dividedBy(3).plusSeconds(1)); // A renewal, and looks by the waiter.

      pair.switchOver(old);
      if (old == Old.WRITABLE) {
        // Nothing that a client sees tells of it, so the operator tells the pools.
        onePool.getHikariPoolMXBean().softEvictConnections();
        otherPool.getHikariPoolMXBean().softEvictConnections();
      }
      long switchedAt = System.nanoTime();
      acquireSoon(one, Claims.freshKey().name()).close();
      String name = Claims.freshKey().name();
      Lease fresh = acquireSoon(other, name).detach();
      assertThat(ask(one, name)).isEmpty();

      while (System.nanoTime() - switchedAt < TTL.plusSeconds(1).toNanos()) {
        assertThat(kept.isHeld()).as("the lease from before, %s", kept.state()).isTrue();
        assertThat(fresh.isHeld()).as("the lease from after, %s", fresh.state()).isTrue();
        assertThat(waiter.granted).isNotDone();
        Await.pause(Duration.ofMillis(20));
      }
      kept.verify();
      fresh.verify();

      if (pair.isPostgres()) {
        Await.until("the waiter listens to the new primary", pair::isListenedTo);
      }

      kept.close();
      waiter.granted.get(NEW_ACQUIRES_MAX.toMillis(), TimeUnit.MILLISECONDS);
      waiter.done.countDown();
      fresh.close();
      acquireSoon(one, held).close();
    }
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool)
        .schema(SchemaMode.CREATE)
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  /** Acquires within the time that this may take. */
  private static Lease acquireSoon(LockClient locks, String name) throws InterruptedException {
    long begin = System.nanoTime();
    while (true) {
      Optional<Lease> lease = ask(locks, name);
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(NEW_ACQUIRES_MAX);
      if (lease.isPresent()) {
        return lease.get();
      }
    }
  }

  /** Asks again if the database failed: a pool may have several connections that are dead. */
  private static Optional<Lease> ask(LockClient locks, String name) throws InterruptedException {
    long begin = System.nanoTime();
    while (true) {
      try {
        return locks.get(name).tryLock(Duration.ofSeconds(1));
      } catch (LockStoreException e) {
        if (System.nanoTime() - begin > NEW_ACQUIRES_MAX.toNanos()) {
          throw e;
        }
      }
    }
  }

  /** A thread that waits for a lock, again if the database failed, and keeps it until told. */
  private static final class Waiter {
    final CompletableFuture<Boolean> granted = new CompletableFuture<>();
    final CountDownLatch done = new CountDownLatch(1);

    Waiter(LockClient locks, String name) {
      Thread thread = new Thread(() -> waitFor(locks, name), "waiter");
      thread.setDaemon(true);
      thread.start();
    }

    private void waitFor(LockClient locks, String name) {
      while (!granted.isDone()) {
        try (Lease lease = locks.get(name).lock()) {
          granted.complete(lease.isHeld());
          done.await();
        } catch (LockStoreException e) {
          Await.pause(Duration.ofMillis(100)); // The old server has gone, the new one is not there.
        } catch (Throwable t) {
          granted.completeExceptionally(t);
        }
      }
    }
  }
}
