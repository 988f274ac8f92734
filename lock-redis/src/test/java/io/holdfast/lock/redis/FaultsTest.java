package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** Failures of servers, of connections and of the pool. */
class FaultsTest {

  @Tag("each-jedis")
  @Test
  void aServerThatForgotTheScriptsIsToldThem() throws Exception {
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis)) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        grants.add(store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow());
      }
      redis.scriptFlush();
      assertThat(store.renew(grants))
          .containsOnly(new Renewal.Renewed(Claims.TTL))
          .hasSize(3);
      redis.scriptFlush();
      assertThat(store.verify(grants.get(0))).isPresent();
      redis.scriptFlush();
      assertThat(store.release(grants.get(0), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.release(grants.get(0), Duration.ZERO))
          .isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }
  }

  @Test
  void manyLeasesAreRenewedTogether() throws Exception {
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis)) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 2_500; i++) {
        Claim claim = Claims.claim(Claims.freshKey(), Stores.LONG_TTL);
        grants.add(store.tryAcquire(claim).orElseThrow());
      }
      redis.del(Stored.keyOf(grants.get(7).claim().key()));
      List<Renewal> renewals = new ArrayList<>(store.renew(grants));
      assertThat(renewals.get(7)).isEqualTo(new Renewal.Lost());
      renewals.remove(7);
      assertThat(renewals).containsOnly(new Renewal.Renewed(Stores.LONG_TTL)).hasSize(2_499);
    }
  }

  @Test
  void aReplicaRefusesAndIsNoLongerUsed() throws Exception {
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis)) {
      Stores.send(redis, Protocol.Command.REPLICAOF, "127.0.0.1", "1");
      try {
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> store.tryAcquire(Claims.claim(Claims.freshKey())))
            .withMessageContaining("replica")
            .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
      } finally {
        Stores.send(redis, Protocol.Command.REPLICAOF, "NO", "ONE");
      }
      assertThat(store.tryAcquire(Claims.claim(Claims.freshKey()))).isPresent();
    }
  }

  @Tag("each-jedis")
  @Test
  void connectionsThatTheServerClosedAreNoFailure() throws Exception {
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis)) {
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      try (RedisClient other = Stores.client()) {
        Stores.send(other, Protocol.Command.CLIENT, "KILL", "TYPE", "normal");
      }
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  @Test
  void anExhaustedPoolFailsTheAcquireAndNeitherRenewalNorRelease() throws Exception {
    try (RedisClient redis = RedisAccess.client(Stores.sharedServer(), 1);
        LockStore store = Stores.open(redis)) {
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Connection kept = redis.getPool().getResource();
      try {
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> store.tryAcquire(Claims.claim(Claims.freshKey())))
            .withMessageContaining("pool")
            .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      } finally {
        redis.getPool().returnResource(kept);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aConnectionThatWasCutWithoutAWordDelaysARenewalOnlyALittle(boolean testsOnBorrow)
      throws Exception {
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.client(new HostAndPort(way.host(), way.port()), 2);
        LockStore store = Stores.open(redis)) {
      redis.getPool().setTestOnBorrow(testsOnBorrow);
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      way.silence();

      long beganNanos = System.nanoTime();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(Duration.ofNanos(System.nanoTime() - beganNanos)).isLessThan(Stores.STORE_TIMEOUT);
    }
  }

  /** Each of these connections is broken once a call got no answer on it. */
  @Tag("each-jedis")
  @Test
  void aCallTakesNoLongerThanItsStoreTimeoutThoughItsConnectionMustBeReplaced() throws Exception {
    Duration storeTimeout = Duration.ofSeconds(2);
    Duration late = storeTimeout.plus(Stores.STORE_TIMEOUT.dividedBy(4));
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.client(new HostAndPort(way.host(), way.port()), 8);
        LockStore store = RedisLocks.builder(redis)
            .openStore(new StoreSettings(
                "hurried", storeTimeout, TimeSource.system(), Claims.NO_EVENTS))) {
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      List<Callable<?>> calls = List.of(
          () -> store.tryAcquire(Claims.claim(Claims.freshKey())),
          () -> store.verify(grant),
          () -> store.inspect(grant.claim().key()),
          () -> store.release(grant, Duration.ZERO));
      List<Connection> idle =
          calls.stream().map(call -> redis.getPool().getResource()).toList();
      idle.forEach(Connection::close);
      way.blackhole();
      for (Callable<?> call : calls) {
        long beganNanos = System.nanoTime();
        assertThatExceptionOfType(StoreException.class).isThrownBy(call::call);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos)).isLessThan(late);
      }
      way.heal();
      Await.until("given back", () -> redis.getPool().getNumActive() == 0);
      assertThat(store.verify(grant)).isPresent();
    }
  }

  @Test
  void aGuardedWriteWaitsForItsAnswerThoughTheUsersClientWouldNot() throws Exception {
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.kitClient(new HostAndPort(way.host(), way.port()), 2);
        LockClient locks =
            RedisLocks.builder(redis).storeTimeout(Stores.STORE_TIMEOUT).build();
        Lease lease = locks.get(Claims.freshKey().name()).lock()) {
      way.delay(Link.Direction.REPLIES, Duration.ofMillis(2L * RedisAccess.KIT_TIMEOUT_MILLIS));
      String written = "holdfast:written:" + lease.name();
      RedisGuard.of(lease).set(written, "1");
      way.heal();
      assertThat(redis.get(written)).isEqualTo("1");
    }
  }

  @Test
  void aReleaseSpendsNoneOfItsTimeOnWaitingForThePool() throws Exception {
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy slow = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.client(new HostAndPort(slow.host(), slow.port()), 1);
        LockStore store = Stores.open(redis)) {
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Connection kept = redis.getPool().getResource();
      try {
        slow.delay(Link.Direction.REPLIES, Duration.ofMillis(100));
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      } finally {
        redis.getPool().returnResource(kept);
      }
    }
  }

  @Test
  void aReleaseWhoseAnswerWasLostOnOurOwnConnectionMayBeOne() throws Exception {
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.client(new HostAndPort(way.host(), way.port()), 1);
        LockStore store = Stores.open(redis)) {
      Grant first = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Grant second = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Connection kept = redis.getPool().getResource();
      try {
        assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        way.dropReply(1);
        assertThat(store.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED_OR_LOST);
      } finally {
        redis.getPool().returnResource(kept);
      }
    }
  }

  @Test
  void aWrongPasswordSaysSo() {
    try (RedisClient redis = RedisAccess.client(
        Stores.sharedServer(),
        2,
        DefaultJedisClientConfig.builder().user("nobody").password("wrong"))) {
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> RedisLocks.builder(redis).build().close())
          .withMessageContaining("WRONGPASS");
    }
  }

  @Test
  void aServerThatIsNotThereIsAnExceptionAndNotBusy() throws IOException {
    try (RedisClient redis = RedisAccess.client(new HostAndPort("127.0.0.1", Ports.free()), 2)) {
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> RedisLocks.builder(redis).build().close());
    }
  }

  @Tag("each-jedis")
  @Test
  void theLeastThatAUserMustBeAllowedIsEnough() throws Exception {
    try (RedisClient admin = Stores.client()) {
      Stores.allow(admin, "locks", "");
    }
    try (RedisClient redis = RedisAccess.client(
            Stores.sharedServer(),
            4,
            DefaultJedisClientConfig.builder().user("locks").password("secret"));
        LockStore store = Stores.open(redis)) {
      LockKey key = Claims.freshKey();
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Stores.Waiter waiter = Stores.Waiter.join(store, key);
      Await.until("hears", () -> waiter.woken().drainPermits() > 0);
      assertThat(store.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.verify(held)).isPresent();
      assertThat(store.extend(held, Claims.TTL)).isPresent();
      assertThat(store.list(LockKind.MUTEX, key.name(), 1).get(0).waiting())
          .isEqualTo(OptionalInt.of(1));
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("told", () -> waiter.woken().drainPermits() > 0);
      Grant next = waiter.awaitGrant();
      assertThat(store.inspect(key).orElseThrow().number()).isEqualTo(next.number());
      assertThat(store.release(next, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.forceRelease(key, next.number())).isTrue();
      Stores.Waiter again = Stores.Waiter.join(
          store, store.tryAcquire(Claims.claim(key)).orElseThrow().claim().key());
      again.ticket().close();
    }
  }

  @Tag("each-jedis")
  @Test
  void guardedWritesApplyOnlyWhileTheLeaseStands() throws Exception {
    try (RedisClient redis = Stores.client();
        LockClient locks = RedisLocks.builder(redis).build()) {
      String name = Claims.freshKey().name();
      String key = "guarded:" + name;
      Lease lease = locks.get(name).lock();
      RedisGuard guard = RedisGuard.of(lease);
      guard.set(key, "1");
      assertThat(redis.get(key)).isEqualTo("1");
      guard.hset(key + ":h", "field", "value");
      assertThat(redis.hget(key + ":h", "field")).isEqualTo("value");
      assertThat(guard.eval(
              "return {redis.call('GET', KEYS[1]), #KEYS, ARGV[2]}",
              List.of(key),
              List.of("a", "b")))
          .isEqualTo(List.of("1", 1L, "b"));
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(
              () -> guard.eval("return redis.call('LPOP', KEYS[1])", List.of(key), List.of()))
          .withMessageContaining("WRONGTYPE");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> guard.eval("#!lua\nreturn 1", List.of(), List.of()));
      assertThat(locks.get(name).forceRelease(lease.token())).isTrue();
      assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> guard.set(key, "2"));
      assertThat(redis.get(key)).isEqualTo("1");
      assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    }
  }
}
