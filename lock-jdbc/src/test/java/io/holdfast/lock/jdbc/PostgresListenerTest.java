package io.holdfast.lock.jdbc;

import static io.holdfast.lock.jdbc.Stores.claim;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Notifications that do not come. */
class PostgresListenerTest {

  @Test
  void oneThatGoesAstrayIsNotTheEndOfListening() throws Exception {
    String application = UUID.randomUUID().toString();
    AtomicInteger sent = new AtomicInteger();
    try (HikariDataSource pool = Server.POSTGRES.pool(
            5, config -> config.addDataSourceProperty("ApplicationName", application));
        JdbcStore store = Stores.open(losingTheFirst(pool, sent))) {
      Grant grant = store.tryAcquire(claim(Stores.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      Stores.await("it is sent again", () -> sent.get() >= 2);
      Stores.pause(Duration.ofMillis(2_500)); // By then one that was not heard has been given up.
      assertThat(isListening(application)).isTrue();
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void whoWantsNoneListensToNone() throws Exception {
    String application = UUID.randomUUID().toString();
    try (HikariDataSource pool = Server.POSTGRES.pool(
            5, config -> config.addDataSourceProperty("ApplicationName", application));
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, Boolean.FALSE),
            Stores.STORE_TIMEOUT)) {
      Grant grant = store.tryAcquire(claim(Stores.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      Stores.pause(Duration.ofSeconds(2));
      assertThat(isListening(application)).isFalse();
      store.release(grant, Duration.ZERO);
    }
  }

  private static DataSource losingTheFirst(DataSource pool, AtomicInteger sent) {
    return new Wrapper(pool) {
      @Override
      public Connection getConnection() throws SQLException {
        return losingTheFirst(wrapped.getConnection(), sent);
      }
    };
  }

  private static Connection losingTheFirst(Connection connection, AtomicInteger sent) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("prepareStatement")
              && arguments[0].toString().startsWith("SELECT pg_notify")
              && sent.incrementAndGet() == 1) {
            return connection.prepareStatement("SELECT ?");
          }
          try {
            return method.invoke(connection, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }

  private static boolean isListening(String application) throws SQLException {
    try (Connection connection = Server.POSTGRES.connect();
        PreparedStatement statement =
            connection.prepareStatement("SELECT EXISTS (SELECT FROM pg_stat_activity"
                + " WHERE application_name = ? AND query LIKE 'LISTEN%')")) {
      statement.setString(1, application);
      try (ResultSet result = statement.executeQuery()) {
        return result.next() && result.getBoolean(1);
      }
    }
  }
}
