package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import java.net.URI;
import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.RedisClient;

/** The lock client as every process of the demo has it. */
final class Locks implements AutoCloseable {
  /** A table of its own, so that the demo touches nobody else's locks. */
  static final String TABLE = "holdfast_demo_lock";

  /** So does its prefix in a Redis. */
  private static final String PREFIX = "holdfast_demo";

  /** Short, since we are going to wait for it; the default is 30 s. */
  static final Duration TTL = Duration.ofSeconds(3);

  static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  private final LockClient client;
  private final @Nullable RedisClient redis;

  private Locks(LockClient client, @Nullable RedisClient redis) {
    this.client = client;
    this.redis = redis;
  }

  /** Opens a client on the Redis that the database names, or else on the database. */
  static Locks open(
      Database database, DataSource dataSource, String clientName, SchemaMode schema) {
    if (database.redis() == null) {
      return new Locks(
          build(JdbcLocks.builder(dataSource).table(TABLE).schema(schema), clientName), null);
    }
    RedisClient redis = RedisClient.create(URI.create(database.redis()));
    boolean opened = false;
    try {
      Locks locks = new Locks(build(RedisLocks.builder(redis).prefix(PREFIX), clientName), redis);
      opened = true;
      return locks;
    } finally {
      if (!opened) {
        redis.close();
      }
    }
  }

  private static LockClient build(LockClientBuilder<?> builder, String clientName) {
    return builder
        .clientName(clientName)
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  LockClient client() {
    return client;
  }

  @Override
  public void close() {
    client.close();
    if (redis != null) {
      redis.close();
    }
  }
}
