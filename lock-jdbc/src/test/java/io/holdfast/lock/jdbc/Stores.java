package io.holdfast.lock.jdbc;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;

/** Helpers that tests of the store share. */
final class Stores {
  static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);
  static final Duration TTL = Duration.ofSeconds(30);

  /** The longest that a test waits for something that must happen; it should take far less. */
  static final Duration PATIENCE = Duration.ofSeconds(40);

  private static final StoreEvents NO_EVENTS = new StoreEvents() {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  };

  private Stores() {}

  static JdbcStore open(DataSource dataSource) throws StoreException {
    return open(settings(dataSource), STORE_TIMEOUT);
  }

  static JdbcStore open(DataSource dataSource, TimeSource time) throws StoreException {
    return JdbcStore.open(
        settings(dataSource), new StoreSettings("test", STORE_TIMEOUT, time, NO_EVENTS));
  }

  static JdbcStore open(JdbcStore.Settings settings, Duration storeTimeout) throws StoreException {
    return open(settings, storeTimeout, "test");
  }

  static JdbcStore open(JdbcStore.Settings settings, Duration storeTimeout, String clientName)
      throws StoreException {
    return JdbcStore.open(
        settings, new StoreSettings(clientName, storeTimeout, TimeSource.system(), NO_EVENTS));
  }

  static JdbcStore.Settings settings(DataSource dataSource) {
    return new JdbcStore.Settings(
        dataSource, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, null);
  }

  /** A name that no other test has. */
  static LockKey freshKey() {
    return key("test/" + UUID.randomUUID());
  }

  static LockKey key(String name) {
    return new LockKey(LockKind.MUTEX, name);
  }

  /** A statement whose one parameter is the lock's name, as the table has it. */
  static PreparedStatement prepare(Connection connection, Server server, LockKey key, String sql)
      throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    if (server == Server.POSTGRES) {
      statement.setString(1, Keys.of(key));
    } else {
      statement.setBytes(1, Keys.of(key).getBytes(StandardCharsets.UTF_8));
    }
    return statement;
  }

  /** The end of a lease, by the database's clock. */
  static long endMicros(Server server, Grant grant) throws SQLException {
    try (Connection connection = server.connect();
        PreparedStatement statement = prepare(
            connection,
            server,
            grant.claim().key(),
            "SELECT expires_at FROM holdfast_lock WHERE name = ?");
        ResultSet result = statement.executeQuery()) {
      if (!result.next()) {
        throw new AssertionError("No row of " + grant);
      }
      return result.getLong(1);
    }
  }

  /** Lets a lease end at the store, as if its time were over. */
  static void expire(Server server, Grant grant) throws SQLException {
    update(server, grant.claim().key(), "UPDATE holdfast_lock SET expires_at = 1 WHERE name = ?");
  }

  /** Changes a lock's row, which must be there. */
  static void update(Server server, LockKey key, String sql) throws SQLException {
    try (Connection connection = server.connect();
        PreparedStatement statement = prepare(connection, server, key, sql)) {
      if (statement.executeUpdate() != 1) {
        throw new AssertionError("No row of " + key);
      }
    }
  }

  static Claim claim(LockKey key) {
    return claim(key, TTL);
  }

  static Claim claim(LockKey key, Duration ttl) {
    String ownerId = UUID.randomUUID().toString().replace("-", "");
    return new Claim(key, Claim.EXCLUSIVE, ownerId, ttl, Duration.ZERO, "test of the store");
  }

  static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("Still not: " + what);
      }
      pause(Duration.ofMillis(2));
    }
  }

  static void pause(Duration duration) {
    try {
      Thread.sleep(duration.toMillis());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
