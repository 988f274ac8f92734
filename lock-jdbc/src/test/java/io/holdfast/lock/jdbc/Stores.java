package io.holdfast.lock.jdbc;

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
import javax.sql.DataSource;

/** Helpers that tests of the store share. */
final class Stores {
  static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

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
}
