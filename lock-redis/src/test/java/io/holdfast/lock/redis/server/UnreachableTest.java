package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Claims;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.Pool;

/** A server that can't be reached; there is none. */
class UnreachableTest {
  private static final class Connections extends BasePooledObjectFactory<Connection> {
    @Override
    public Connection create() {
      throw new JedisConnectionException("Connection refused");
    }

    @Override
    public PooledObject<Connection> wrap(Connection connection) {
      return new DefaultPooledObject<>(connection);
    }
  }

  private static final class Reported implements Primaries {
    final AtomicInteger times = new AtomicInteger();
    private final Pool<Connection> pool;

    Reported(Pool<Connection> pool) {
      this.pool = pool;
    }

    @Override
    public Pool<Connection> of(String key) {
      return pool;
    }

    @Override
    public void failed(String key, Deadline deadline) {
      times.incrementAndGet();
    }
  }

  /** Otherwise the next renewals would go to a former primary, until the lease is lost. */
  @Test
  void aServerThatCanNotBeReachedOnAConnectionOfOurOwnIsReported() {
    try (ConnectionPool pool = new ConnectionPool(new Connections())) {
      pool.setTestOnBorrow(true); // So that renewals use a connection of our own.
      Reported primaries = new Reported(pool);
      try (Server server = new Server(primaries, Stores.STORE_TIMEOUT, "unreachable-test")) {
        Call call = Call.renew("holdfast", Claims.claim(Claims.freshKey()), "owner");
        assertThat(server.renew(List.of(call)))
            .singleElement()
            .asInstanceOf(type(StoreException.class))
            .satisfies(e -> {
              assertThat(e).hasMessageContaining("no connection");
              assertThat(e.mayHaveHappened()).isFalse();
            });
        assertThat(primaries.times).hasValue(1);
      }
    }
  }
}
