package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rows of locks that nobody uses any more can be deleted at any time. */
@Tag("nightly")
class PurgeTest {
  private static final Duration UNUSED_FOR = Duration.ofHours(1);

  /** The row of the trials that clients make when they are built. */
  private static final int TRIAL = 1;

  @EachServer
  void deadRowsGoAndNumbersKeepRising(Server server) throws Exception {
    try (Table table = new Table(server);
        JdbcStore store = Stores.open(table.settings(), Stores.STORE_TIMEOUT)) {
      List<Grant> dead = new ArrayList<>();
      for (int i = 0; i < 600; i++) {
        Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        dead.add(grant);
      }
      assertThat(table.purge()).isZero();
      table.age();
      Grant held = store.tryAcquire(claim(freshKey())).orElseThrow();
      Grant used = store.tryAcquire(claim(dead.get(0).claim().key())).orElseThrow();
      assertThat(store.release(used, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

      assertThat(table.purge()).isEqualTo(599 + TRIAL);
      assertThat(table.purge()).isZero();
      assertThat(store.verify(held)).isPresent();
      Grant again = store.tryAcquire(claim(dead.get(1).claim().key())).orElseThrow();
      assertThat(again.number()).isGreaterThan(dead.get(1).number());
      // The version is still there.
      JdbcLocks.builder(table.pool).table(table.name).build().close();
    }
  }

  @EachServer
  void aRowThatIsHeldOrWantedOrLockedIsLeftAlone(Server server) throws Exception {
    try (Table table = new Table(server);
        JdbcStore store = Stores.open(table.settings(), Stores.STORE_TIMEOUT)) {
      Grant held = store.tryAcquire(claim(freshKey())).orElseThrow();
      Grant free = store.tryAcquire(claim(freshKey())).orElseThrow();
      assertThat(store.release(free, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      table.execute(
          "UPDATE " + table.name + " SET changed_at = 1 WHERE name <> " + table.version());
      try (Connection transaction = server.connect();
          Statement statement = transaction.createStatement()) {
        transaction.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM " + table.name + " FOR UPDATE").close();
        assertThat(table.purge()).isZero();
        transaction.rollback();
      }
      assertThat(table.purge()).isEqualTo(1 + TRIAL);
      assertThat(store.verify(held)).isPresent();
    }
  }

  @EachServer
  void aLockInUseIsNeverDoubledOrLostByAPurge(Server server) throws Exception {
    try (Table table = new Table(server);
        JdbcStore store = Stores.open(table.settings(), Stores.STORE_TIMEOUT)) {
      LockKey key = freshKey();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
      CompletableFuture<Void> purging = CompletableFuture.runAsync(() -> {
        while (System.nanoTime() - end < 0) {
          table.age();
          table.purge();
        }
      });
      long last = 0;
      while (System.nanoTime() - end < 0) {
        Optional<Grant> grant = store.tryAcquire(claim(key));
        if (grant.isPresent()) {
          assertThat(grant.get().number()).isGreaterThan(last);
          last = grant.get().number();
          assertThat(store.tryAcquire(claim(key))).isEmpty();
          assertThat(store.release(grant.get(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
      }
      purging.get(20, TimeUnit.SECONDS);
      assertThat(last).isPositive();
    }
  }

  @ParameterizedTest
  @EnumSource(names = "H2")
  void aPurgeOfWhatWasUsedWithinTheHourIsRefused(Server server) throws Exception {
    try (Table table = new Table(server)) {
      JdbcLocks.Builder builder = JdbcLocks.builder(table.pool).table(table.name);
      assertThatThrownBy(() -> builder.purge(Duration.ofMinutes(59)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThat(table.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  /** A table of its own, so that a purge meets no other test's rows. */
  private static final class Table implements AutoCloseable {
    final HikariDataSource pool;
    final String name = "locks_" + UUID.randomUUID().toString().substring(0, 8);
    private final Server server;

    Table(Server server) throws SQLException {
      this.server = server;
      pool = server.pool(8);
      JdbcLocks.builder(pool).table(name).schema(SchemaMode.CREATE).build().close();
    }

    JdbcStore.Settings settings() {
      return new JdbcStore.Settings(pool, name, SchemaMode.VALIDATE, false, null);
    }

    long purge() {
      return JdbcLocks.builder(pool).table(name).purge(UNUSED_FOR);
    }

    /** Makes free rows look as if they had been free for long. */
    void age() {
      try {
        execute("UPDATE " + name + " SET changed_at = 1 WHERE expires_at = 0 AND changed_at > 0");
      } catch (SQLException e) {
        if (!isCollision(e)) {
          throw new AssertionError(e);
        }
      }
    }

    private boolean isCollision(SQLException e) {
      return server == Server.H2 || e.getErrorCode() == 1020 || e.getErrorCode() == 1213;
    }

    String version() {
      return server == Server.POSTGRES ? "'version'" : "X'76657273696f6e'";
    }

    void execute(String sql) throws SQLException {
      try (Connection connection = pool.getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute(sql);
      }
    }

    @Override
    public void close() throws SQLException {
      execute("DROP TABLE " + name);
      execute("DROP TABLE " + name + "_waiter");
      pool.close();
    }
  }
}
