package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.util.JedisClusterCRC16;

/** A server is killed in the middle of contention. */
@Tag("nightly")
class KillTest {
  private static final int CONTENDERS = 4;

  @Test
  void withoutPersistenceEverybodyGoesOnHoldersAreToldAndTokensRise() throws Exception {
    try (ManyServers servers = ManyServers.independent(1, "");
        RedisClient redis = RedisAccess.client(servers.address(0), 20);
        LockClient locks = holder(redis)) {
      Lease held = locks.get(Claims.freshKey().name()).lock();
      CountDownLatch told = new CountDownLatch(1);
      held.onLost(loss -> told.countDown());
      contendOverKill(servers, redis);
      assertThat(told.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(held.isHeld()).isFalse();
      assertThatExceptionOfType(LockLostException.class).isThrownBy(held::close);
      // The number of its grant is lost as well, and the next is higher all the same.
      try (Lease next = locks.get(held.name()).lock()) {
        assertThat(next.token()).isGreaterThan(held.token());
      }
    }
  }

  @Tag("soak")
  @Test
  void withPersistenceEverybodyGoesOnAndHoldersHoldStill() throws Exception {
    try (ManyServers servers = ManyServers.independent(1);
        RedisClient redis = RedisAccess.client(servers.address(0), 20);
        LockClient locks = holder(redis);
        Lease held = locks.get(Claims.freshKey().name()).lock()) {
      contendOverKill(servers, redis);
      held.verify();
      assertThat(held.isHeld()).isTrue();
    }
  }

  private static LockClient holder(RedisClient redis) {
    return RedisLocks.builder(redis)
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(15)))
        .build();
  }

  private static void contendOverKill(ManyServers servers, RedisClient redis) throws Exception {
    try (Contenders contenders =
        new Contenders(CONTENDERS, Claims.freshKey().name(), () -> RedisLocks.builder(redis))) {
      contenders.awaitTurns("before the kill");
      servers.kill(0);
      servers.restart(0);
      contenders.awaitTurns("after the restart");
      contenders.stop();
    }
  }

  @Tag("soak")
  @Test
  void afterAClusterPrimaryIsKilledItsReplicaGoesOn() throws Exception {
    try (ManyServers servers = ManyServers.clusterWithReplica();
        RedisClusterClient redis = ClusterFixture.client(servers)) {
      String name = nameAt(redis, servers.address(0).getPort());
      assertThatItsReplicaHasAGrant(servers, redis, name);
      try (Contenders contenders =
          new Contenders(CONTENDERS, name, () -> RedisLocks.builder(redis))) {
        contenders.awaitTurns("before the kill");
        servers.kill(0);
        Await.until("elected", () -> isPrimary(servers, 3));
        contenders.awaitTurns("after the election");
        contenders.stop();
      }
    }
  }

  private static void assertThatItsReplicaHasAGrant(
      ManyServers servers, RedisClusterClient redis, String name) throws Exception {
    try (LockClient locks =
            RedisLocks.builder(redis).waitForReplicas(1, Duration.ofSeconds(2)).build();
        Lease lease = locks.get(name).lock();
        RedisClient replica = RedisAccess.client(servers.address(3), 1)) {
      assertThat(lease.isHeld()).isTrue();
      assertThat(replica.keys("holdfast:*")).contains(Stored.keyOf(name));
    }
  }

  private static boolean isPrimary(ManyServers servers, int index) {
    try (RedisClient node = RedisAccess.client(servers.address(index), 1)) {
      return node.info("replication").contains("role:master");
    }
  }

  private static String nameAt(RedisClusterClient redis, int port) {
    for (int i = 0; ; i++) {
      String name = "killed/" + i;
      try (redis.clients.jedis.Connection connection =
          redis.getConnectionFromSlot(JedisClusterCRC16.getSlot("{" + name + "}"))) {
        if (connection.getHostAndPort().getPort() == port) {
          return name;
        }
      }
    }
  }
}
