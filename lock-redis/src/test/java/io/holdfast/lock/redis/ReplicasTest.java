package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import redis.clients.jedis.RedisClient;

/** Grants that count only once a replica has them. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReplicasTest {
  private static final Duration UNMET_AFTER = Duration.ofSeconds(1);
  private static final Duration MET_WITHIN = Duration.ofSeconds(10);

  private ManyServers servers;
  private RedisClient primary;
  private RedisClient replica;
  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final String name = Claims.freshKey().name();
  private final String key = Stored.keyOf(name);

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.replicated();
    primary = RedisAccess.client(servers.address(0), 8);
    replica = RedisAccess.client(servers.address(1), 2);
  }

  @AfterEach
  void repair() throws Exception {
    servers.goOn(1);
    Await.until("nobody has it", () -> !Stored.isTaken(primary, key));
  }

  @AfterAll
  void close() {
    executor.shutdownNow();
    if (servers != null) {
      replica.close();
      primary.close();
      servers.close();
    }
  }

  private LockClient client(int count, Duration timeout) {
    return RedisLocks.builder(primary)
        .storeTimeout(Duration.ofSeconds(20))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(60)))
        .waitForReplicas(count, timeout)
        .build();
  }

  @Test
  void theReplicaHasEachGrantWhenTheCallerHasIt() throws Exception {
    try (LockClient locks = client(1, MET_WITHIN)) {
      for (int i = 0; i < 100; i++) {
        try (Lease lease = locks.get(name).lock()) {
          assertThat(Stored.grant(replica, key)).contains(Long.toString(lease.token() >>> 10));
        }
      }
    }
  }

  @Test
  void theReplicaHasAGrantThatWasHandedOver() throws Exception {
    try (LockClient first = client(1, MET_WITHIN);
        LockClient second = client(1, MET_WITHIN)) {
      for (int i = 0; i < 20; i++) {
        Lease held = first.get(name).lock();
        Future<Boolean> next = executor.submit(() -> {
          try (Lease lease = second.get(name).lock()) {
            assertThat(lease.token()).isGreaterThan(held.token());
            return Stored.grant(replica, key).contains(Long.toString(lease.token() >>> 10));
          }
        });
        Await.until("waits", () -> Stored.waiting(primary, key) > 0);
        held.close();
        assertThat(next.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      }
    }
  }

  @Test
  void withoutTheReplicaAnAcquireFailsAndIsUndone() throws Exception {
    try (LockClient locks = client(1, UNMET_AFTER)) {
      DistributedLock lock = locks.get(name);
      servers.pause(1);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(lock::tryLock)
          .withMessageContaining("0 of 1 replica");
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> lock.tryLock(Duration.ofSeconds(5)))
          .withMessageContaining("0 of 1 replica");
      Await.until("undone", () -> !Stored.isTaken(primary, key));
      servers.goOn(1);
      Await.until("usable again", () -> acquires(lock));
    }
  }

  @Test
  void withoutTheReplicaAHandOverFailsAndIsUndone() throws Exception {
    // Who asks for no replica has no trouble.
    try (LockClient first = RedisLocks.builder(primary).build();
        LockClient second = client(1, UNMET_AFTER)) {
      Lease held = first.get(name).lock();
      Future<Lease> next = executor.submit(() -> second.get(name).lock());
      Await.until("waits", () -> Stored.waiting(primary, key) > 0);
      servers.pause(1);
      held.close();
      assertThatExceptionOfType(ExecutionException.class)
          .isThrownBy(() -> next.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .withCauseInstanceOf(LockStoreException.class)
          .withMessageContaining("0 of 1 replica");
      first.get(name).lock().close();
    }
  }

  /** As after a hand-over, or an answer that got lost: another connection has written the grant. */
  @Test
  void aGrantThatIsConfirmedWithoutBeingExtendedIsWaitedForAsWell() throws Exception {
    Claim claim = Claims.claim(Claims.key(name));
    try (RedisClient another = RedisAccess.client(servers.address(0), 2);
        LockStore granting = RedisLocks.builder(primary).openStore(Stores.settings());
        LockStore confirming = RedisLocks.builder(another)
            .waitForReplicas(1, UNMET_AFTER)
            .openStore(Stores.settings())) {
      servers.pause(1);
      assertThat(granting.tryAcquire(claim)).isPresent();
      Stored.setLeft(primary, key, Claims.TTL.multipliedBy(2));
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> confirming.tryAcquire(claim))
          .withMessageContaining("0 of 1 replica");
      servers.goOn(1);
      Await.until("confirmed", () -> isConfirmed(confirming, claim));
      granting.withdraw(claim);
    }
  }

  private static boolean isConfirmed(LockStore store, Claim claim) {
    try {
      return store.tryAcquire(claim).isPresent();
    } catch (StoreException e) {
      return false;
    }
  }

  @Test
  void withMoreReplicasThanThereAreAnAcquireFailsAndIsUndoneByTheEndOfItsClient() {
    try (LockClient locks = client(2, UNMET_AFTER)) {
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> locks.get(name).tryLock())
          .withMessageContaining("of 2 replica");
    }
    assertThat(Stored.isTaken(primary, key)).isFalse();
  }

  @Test
  void whatCanNotBeIsRefusedWithARemedy() {
    RedisLocks.Builder builder = RedisLocks.builder(primary).storeTimeout(Duration.ofSeconds(2));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.waitForReplicas(0, UNMET_AFTER))
        .withMessageContaining("was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.waitForReplicas(1, Duration.ZERO))
        .withMessageContaining("PT0S");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> builder.waitForReplicas(1, Duration.ofSeconds(2)).build().close())
        .withMessageContaining("PT2S")
        .withMessageContaining("PT1S");
  }

  private static boolean acquires(DistributedLock lock) {
    // Empty: an attempt that failed is still to be undone.
    try (Lease lease = lock.tryLock().orElse(null)) {
      return lease != null && lease.isHeld();
    } catch (LockStoreException e) {
      return false;
    }
  }
}
