package io.holdfast.lock.examples;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.consul.ConsulLocks;
import io.holdfast.lock.redis.RedisGuard;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.zookeeper.ZooKeeperGuard;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.util.List;
import okhttp3.OkHttpClient;
import org.apache.curator.framework.CuratorFramework;
import redis.clients.jedis.RedisClient;

/**
 * The samples of the pages about stores that need a server. They are compiled here; the stores' own
 * tests do the same things against servers.
 */
abstract class StoreSamples {
  abstract long ship(long order, long token);

  void redis(RedisClient redisClient, long order) throws Exception {
    // tag::redis[]
    LockClient locks = RedisLocks.builder(redisClient).build();
    locks.get("orders/42").run(lease -> ship(order, lease.token()));
    // end::redis[]
  }

  void redisQuorum(RedisClient redis1, RedisClient redis2, RedisClient redis3, long order)
      throws Exception {
    // tag::redis-quorum[]
    LockClient locks = RedisLocks.quorum(List.of(redis1, redis2, redis3)).build();
    locks.get("orders/42").run(lease -> ship(order, lease.token()));
    // end::redis-quorum[]
  }

  void redisGuard(DistributedLock lock, String stock) throws Exception {
    // tag::redis-guard[]
    try (Lease lease = lock.lock()) {
      // LockLostException: the lease is gone, and nothing was written
      RedisGuard.of(lease).set("stock:{orders/42}", stock);
    }
    // end::redis-guard[]
  }

  void consul(String token, long order) throws Exception {
    // tag::consul[]
    LockClient locks = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500")
        .token(token) // or an interceptor of your client
        .build();
    locks.get("orders/42").run(lease -> ship(order, lease.token()));
    // end::consul[]
  }

  void zooKeeper(CuratorFramework curatorFramework, long order) throws Exception {
    // tag::zookeeper[]
    LockClient locks = ZooKeeperLocks.builder(curatorFramework).build();
    locks.get("orders/42").run(lease -> ship(order, lease.token()));
    // end::zookeeper[]
  }

  void zooKeeperGuard(DistributedLock lock, CuratorFramework client, byte[] stock)
      throws Exception {
    // tag::zookeeper-guard[]
    try (Lease lease = lock.lock()) {
      ZooKeeperGuard.of(lease)
          .commit(client, client.transactionOp().setData().forPath("/stock", stock));
    }
    // end::zookeeper-guard[]
  }
}
