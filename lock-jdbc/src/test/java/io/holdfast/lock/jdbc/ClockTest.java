package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The database's clock counts, and no time zone changes it. */
class ClockTest {
  private static final Map<Server, String> SET_TIME_ZONE = Map.of(
      Server.H2, "SET TIME ZONE '%s'",
      Server.MYSQL, "SET time_zone = '%s'",
      Server.MARIADB, "SET time_zone = '%s'",
      Server.MARIADB_BY_MYSQL_DRIVER, "SET time_zone = '%s'",
      Server.POSTGRES, "SET TIME ZONE INTERVAL '%s' HOUR TO MINUTE");

  @EachServer
  void sessionsInAnyTimeZoneAgreeHowLongALockIsTaken(Server server) throws Exception {
    AtomicReference<String> zone = new AtomicReference<>("+00:00");
    try (HikariDataSource pool = server.pool(4)) {
      DataSource zoned = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          Connection connection = wrapped.getConnection();
          execute(connection, String.format(SET_TIME_ZONE.get(server), zone.get()));
          return connection;
        }
      };
      try (JdbcStore store = Stores.open(zoned)) {
        LockKey key = freshKey();
        zone.set("+12:45");
        Grant grant = store.tryAcquire(claim(key)).orElseThrow();
        for (String other : List.of("-12:00", "+00:00", "+12:45")) {
          zone.set(other);
          assertThat(store.tryAcquire(claim(key))).isEmpty();
          assertThat(store.verify(grant).orElseThrow())
              .isBetween(Claims.TTL.minusSeconds(10), Claims.TTL);
        }
        // Numbers begin at the time of the first use, so that a purge can't make them fall.
        assertThat(Instant.ofEpochMilli(grant.number() / 1_000))
            .isBetween(Instant.now().minusSeconds(60), Instant.now().plusSeconds(60));
      }
    }
  }

  /** In Berlin it was 02:30 twice in that night. */
  @ParameterizedTest
  @EnumSource(names = {"MYSQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
  void theHourThatComesTwiceInTheNightOfTheClockChangeIsTwoHours(Server server) throws Exception {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2025-10-26T00:30:00Z"));
    try (HikariDataSource pool = server.pool(4)) {
      DataSource berlin = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          Connection connection = wrapped.getConnection();
          // Summer time, then winter time; by offset, since a server need not know zones.
          boolean summer = now.get().isBefore(Instant.parse("2025-10-26T01:00:00Z"));
          execute(connection, "SET time_zone = '" + (summer ? "+02:00" : "+01:00") + "'");
          execute(connection, "SET timestamp = " + now.get().getEpochSecond());
          return connection;
        }
      };
      try (JdbcStore store = Stores.open(berlin)) {
        LockKey key = freshKey();
        Duration ttl = Duration.ofMinutes(50);
        Grant grant = store.tryAcquire(claim(key, ttl)).orElseThrow();
        now.set(Instant.parse("2025-10-26T01:00:00Z"));
        assertThat(store.verify(grant)).contains(Duration.ofMinutes(20));
        assertThat(store.tryAcquire(claim(key))).isEmpty();
        now.set(Instant.parse("2025-10-26T01:30:00Z"));
        assertThat(store.verify(grant)).isEmpty();
        Grant next = store.tryAcquire(claim(key)).orElseThrow();
        assertThat(next.number()).isGreaterThan(grant.number());
      }
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
