package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Claims;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/** Helpers that tests of the store share. */
final class Stores {
  static final Duration STORE_TIMEOUT = Duration.ofSeconds(20);

  private Stores() {}

  static JdbcStore open(DataSource dataSource) throws StoreException {
    return open(settings(dataSource), STORE_TIMEOUT);
  }

  static JdbcStore open(DataSource dataSource, TimeSource time) throws StoreException {
    return JdbcStore.open(
        settings(dataSource), new StoreSettings("test", STORE_TIMEOUT, time, Claims.NO_EVENTS));
  }

  static JdbcStore open(JdbcStore.Settings settings, Duration storeTimeout) throws StoreException {
    return open(settings, storeTimeout, "test");
  }

  static JdbcStore open(JdbcStore.Settings settings, Duration storeTimeout, String clientName)
      throws StoreException {
    return JdbcStore.open(
        settings,
        new StoreSettings(clientName, storeTimeout, TimeSource.system(), Claims.NO_EVENTS));
  }

  static JdbcStore.Settings settings(DataSource dataSource) {
    return new JdbcStore.Settings(
        dataSource, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, null);
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

  /** A claim that shares its lock with others. */
  static Claim readClaim(LockKey key) {
    return readClaim(key, Claims.TTL);
  }

  static Claim readClaim(LockKey key, Duration ttl) {
    return new Claim(
        key,
        Claim.SHARED,
        Claims.freshOwnerId(),
        ttl,
        Duration.ZERO,
        "r\u00e9ader $1 \\1; of a test");
  }

  /** A claim for one of so many permits. */
  static Claim permitClaim(LockKey key, int permits, Duration ttl) {
    return new Claim(
        key,
        new Claim.Permit(permits),
        Claims.freshOwnerId(),
        ttl,
        Duration.ZERO,
        "p\u00e9rmit #0001.0002; of a test");
  }

  /** The expression for a time by the server's clock. */
  static String in(Server server, Duration time) {
    String now = switch (server) {
      case H2 -> "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000000 AS BIGINT)";
      case POSTGRES -> "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
      default -> "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";
    };
    return now + " + " + TimeUnit.NANOSECONDS.toMicros(time.toNanos());
  }

  static long waitersInTable(Server server, LockKey key) {
    return number(server, key, "SELECT COUNT(*) FROM holdfast_lock_waiter WHERE name = ?");
  }

  static long number(Server server, LockKey key, String sql) {
    try (Connection connection = server.connect();
        PreparedStatement statement = prepare(connection, server, key, sql);
        ResultSet result = statement.executeQuery()) {
      result.next();
      return result.getLong(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }
}
