package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.ConsulLocks;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.net.URI;
import java.time.Duration;
import javax.sql.DataSource;
import okhttp3.OkHttpClient;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import redis.clients.jedis.RedisClient;

/**
 * The lock client of a process of the demo.
 *
 * @param closeStore closes what the client was built on
 */
record Locks(LockClient client, Runnable closeStore) implements AutoCloseable {
  /** A table of its own, so that the demo touches no other locks. */
  static final String TABLE = "holdfast_demo_lock";

  /** The prefix in Redis and Consul, and the path in ZooKeeper, for the same reason. */
  private static final String PREFIX = "holdfast_demo";

  /** Short, since we are going to wait for it; the default is 30 s. */
  static final Duration TTL = Duration.ofSeconds(6);

  static final Duration STORE_TIMEOUT = Duration.ofSeconds(2);

  private static final int OPENING_TRIES_MAX = 5;

  /** Within the usual limits of a ZooKeeper server, 4 to 40 s. */
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(8);

  /** Opens a client on the store that the database names, or else on the database. */
  static Locks open(
      Database database, DataSource dataSource, String clientName, SchemaMode schema) {
    String store = database.locks();
    if (store == null) {
      LockClientBuilder<?> builder = JdbcLocks.builder(dataSource).table(TABLE).schema(schema);
      return build(builder, clientName, () -> {});
    }
    if (store.startsWith(Database.ZOOKEEPER_SCHEME)) {
      return inZooKeeper(store.substring(Database.ZOOKEEPER_SCHEME.length()), clientName);
    }
    if (store.startsWith(Database.CONSUL_SCHEMES)) {
      return inConsul(store, clientName);
    }
    RedisClient redis = RedisClient.create(URI.create(store));
    return build(RedisLocks.builder(redis).prefix(PREFIX), clientName, redis::close);
  }

  private static Locks inZooKeeper(String servers, String clientName) {
    CuratorFramework session = CuratorFrameworkFactory.builder()
        .connectString(servers)
        .sessionTimeoutMs((int) SESSION_TIMEOUT.toMillis())
        .retryPolicy(new ExponentialBackoffRetry(100, 10))
        .build();
    session.start();
    return build(ZooKeeperLocks.builder(session).path('/' + PREFIX), clientName, session::close);
  }

  private static Locks inConsul(String address, String clientName) {
    // It has no connections or threads: those are the lock client's own.
    OkHttpClient http = new OkHttpClient();
    return build(ConsulLocks.builder(http, address).prefix(PREFIX), clientName, () -> {});
  }

  private static Locks build(LockClientBuilder<?> builder, String clientName, Runnable closeStore) {
    boolean built = false;
    try {
      LockClient client = open(builder
          .clientName(clientName)
          .storeTimeout(STORE_TIMEOUT)
          .defaultOptions(LockOptions.renewed(TTL)));
      built = true;
      return new Locks(client, closeStore);
    } finally {
      if (!built) {
        closeStore.run();
      }
    }
  }

  /**
   * Builds the client, with a few tries: all processes start at once, and each call has a timeout.
   */
  private static LockClient open(LockClientBuilder<?> builder) {
    for (int tries = 1; ; tries++) {
      try {
        return builder.build();
      } catch (LockStoreException e) {
        if (tries == OPENING_TRIES_MAX) {
          throw e;
        }
      }
    }
  }

  @Override
  public void close() {
    client.close();
    closeStore.run();
  }
}
