package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever an application leaves behind on a connection of the pool has no effect on locks, or is
 * refused.
 */
class SessionSettingsTest {
  /** Another client of each server, whose connections nobody has touched. */
  private static final Map<Server, JdbcStore> others = new EnumMap<>(Server.class);

  private static final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeAll
  static void prepareServers() throws SQLException, StoreException {
    try (Connection connection = Server.POSTGRES.connect()) {
      execute(connection, "DROP ROLE IF EXISTS holdfast_nobody"); // of a first run
      execute(connection, "CREATE ROLE holdfast_nobody");
    }
    for (Server server : Server.realOfThisRun().toList()) {
      createTablesElsewhere(server);
      HikariDataSource pool = server.pool(4);
      opened.add(0, pool);
      JdbcStore other = Stores.open(pool);
      opened.add(0, other);
      others.put(server, other);
    }
  }

  @AfterAll
  static void closeOthers() throws Exception {
    for (AutoCloseable one : opened) {
      one.close();
    }
    opened.clear();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SET search_path TO elsewhere",
        "CREATE TEMPORARY TABLE holdfast_lock (LIKE public.holdfast_lock INCLUDING ALL)",
        "CREATE TEMPORARY TABLE holdfast_lock_waiter"
            + " (LIKE public.holdfast_lock_waiter INCLUDING ALL)",
        "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET default_transaction_deferrable = on",
        "SET TIME ZONE 'Pacific/Apia'",
        "SET datestyle = 'ISO, YMD'",
        "SET intervalstyle = 'postgres_verbose'",
        "SET extra_float_digits = -15",
        "SET bytea_output = 'escape'",
        "SET standard_conforming_strings = off",
        "SET transform_null_equals = on",
        "SET quote_all_identifiers = on",
        "SET lc_numeric = 'C'",
        "SET lock_timeout = 1",
        "SET idle_in_transaction_session_timeout = 1",
        "SET synchronous_commit = off",
        "SET session_replication_role = replica",
        "SET row_security = off",
        "SET enable_indexscan = off",
        "SET enable_seqscan = off",
        "SET enable_nestloop = off",
        "SET plan_cache_mode = force_generic_plan",
        "SET work_mem = 64",
        "SET jit = on",
        "SET constraint_exclusion = on",
        "SET default_tablespace = ''",
        "LISTEN holdfast_test",
        "DEALLOCATE ALL",
      })
  void ofPostgresHaveNoEffect(String setting) throws Exception {
    worksWith(Server.POSTGRES, setting);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "BEGIN | in a transaction",
        "SET ROLE holdfast_nobody | permission denied",
      })
  void ofPostgresAreRefused(String setting, String message) throws Exception {
    refuses(Server.POSTGRES, setting, message);
  }

  @Test
  void aFailedTransactionOnPostgresCostsItsConnectionAndGivesNoAnswer() throws Exception {
    try (HikariDataSource pool = full(Server.POSTGRES);
        JdbcStore store = Stores.open(pool)) {
      leaveOn(pool, "BEGIN");
      List<Connection> connections = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Connection connection = pool.getConnection();
        connections.add(connection);
        assertThatThrownBy(() -> execute(connection, "SELECT 1 / 0"))
            .hasMessageContaining("division by zero");
      }
      for (Connection connection : connections) {
        connection.close();
      }

      int failures = 0;
      for (int i = 0; i < 20; i++) {
        try {
          assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
        } catch (StoreException e) {
          failures++;
          assertThat(e.mayHaveHappened()).isTrue();
        }
      }

      assertThat(failures).isBetween(1, 3);
    }
  }

  @ParameterizedTest
  @MethodSource("ofMySql")
  void ofMySqlHaveNoEffect(Server server, String setting) throws Exception {
    worksWith(server, setting);
  }

  /** MariaDB's driver refuses another character set, and MariaDB updates without a key column. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "SET character_set_results = latin1",
        "SET NAMES latin1",
        "SET sql_safe_updates = 1",
      })
  void ofMySqlAloneHaveNoEffect(String setting) throws Exception {
    worksWith(Server.MYSQL, setting);
  }

  static Stream<Arguments> ofMySql() {
    return onMySql(
        "USE elsewhere",
        "SET SESSION TRANSACTION READ ONLY",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET time_zone = '+13:00'",
        "SET sql_mode = ''",
        "SET sql_mode = 'ANSI'",
        "SET sql_mode = 'TRADITIONAL'",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
        "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'",
        "SET sql_mode = 'ONLY_FULL_GROUP_BY,NO_AUTO_VALUE_ON_ZERO'",
        "SET sql_select_limit = 1",
        "SET innodb_lock_wait_timeout = 1",
        "SET lock_wait_timeout = 1",
        "SET foreign_key_checks = 0, unique_checks = 0",
        "SET sql_auto_is_null = 1",
        "SET sql_log_bin = 0",
        "SET auto_increment_increment = 10, auto_increment_offset = 5",
        "SET insert_id = 1000000000",
        "SET last_insert_id = 7",
        "SET collation_connection = utf8mb4_bin",
        "SET lc_time_names = 'de_DE'",
        "SET div_precision_increment = 0",
        "SET group_concat_max_len = 4",
        "SET completion_type = 1",
        "SET tmp_table_size = 1024",
        "SET optimizer_switch = 'derived_merge=off,materialization=off,semijoin=off'",
        "SET optimizer_switch = 'index_merge=off,mrr=off'",
        "SET net_write_timeout = 1",
        "SET wait_timeout = 600");
  }

  @ParameterizedTest
  @MethodSource("refusedByMySql")
  void ofMySqlAreRefused(Server server, String setting, String message) throws Exception {
    refuses(server, setting, message);
  }

  static Stream<Arguments> refusedByMySql() {
    return Stream.concat(
        Stream.of(Arguments.of(
            Server.MYSQL,
            "CREATE TEMPORARY TABLE holdfast_lock LIKE elsewhere.holdfast_lock",
            "reopen")),
        onMySql("START TRANSACTION", "BEGIN", "SET autocommit = 0")
            .map(arguments ->
                Arguments.of(arguments.get()[0], arguments.get()[1], "gave a connection")));
  }

  private static Stream<Arguments> onMySql(String... settings) {
    return Server.realOfThisRun()
        .filter(Server::isMySqlFamily)
        .flatMap(server -> Arrays.stream(settings).map(setting -> Arguments.of(server, setting)));
  }

  private static void refuses(Server server, String setting, String message) throws Exception {
    LockKey key = freshKey();
    JdbcStore other = Objects.requireNonNull(others.get(server));
    try (HikariDataSource pool = full(server);
        JdbcStore store = Stores.open(pool)) {
      other.release(other.tryAcquire(claim(key)).orElseThrow(), Duration.ZERO);
      leaveOn(pool, setting);
      assertThatThrownBy(() -> store.tryAcquire(claim(key)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining(message);
      assertThat(other.tryAcquire(claim(key))).isPresent();
    }
  }

  private static void worksWith(Server server, String setting) throws Exception {
    LockKey key = freshKey();
    JdbcStore other = Objects.requireNonNull(others.get(server));
    try (HikariDataSource pool = full(server);
        JdbcStore store = Stores.open(pool)) {
      leaveOn(pool, setting);
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      assertThat(other.tryAcquire(claim(key))).isEmpty();
      assertThat(other.verify(grant)).isPresent();
      List<Grant> grants = new ArrayList<>(List.of(grant));
      for (int i = 0; i < 5; i++) {
        grants.add(store.tryAcquire(claim(freshKey())).orElseThrow());
      }
      assertThat(store.renew(grants)).containsOnly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.extend(grant, Claims.TTL.multipliedBy(2))).isPresent();
      assertThat(store.inspect(key)).isPresent();

      Ticket waitsElsewhere = queue(other, claim(key));
      Ticket leaves = queue(store, claim(key));
      Ticket waits = queue(store, claim(key));
      assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
      leaves.close();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant second = granted(waitsElsewhere);
      assertThat(waits.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(other.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant third = granted(waits);
      assertThat(third.number()).isGreaterThan(second.number());
      assertThat(other.tryAcquire(claim(key))).isEmpty();
      assertThat(store.forceRelease(key, third.number())).isTrue();
      assertThat(other.tryAcquire(claim(key))).isPresent();
    }
  }

  private static Ticket queue(JdbcStore store, Claim claim) throws StoreException {
    return ((Acquisition.Queued) store.acquireOrQueue(claim, () -> {})).ticket();
  }

  private static Grant granted(Ticket ticket) {
    List<Grant> granted = new ArrayList<>();
    Await.until("the lock was handed over", () -> {
      try {
        if (ticket.poll() instanceof Ticket.Granted status) {
          granted.add(status.grant());
        }
        return !granted.isEmpty();
      } catch (StoreException e) {
        throw new AssertionError(e);
      }
    });
    return granted.get(0);
  }

  /** A pool that has all its connections open. */
  private static HikariDataSource full(Server server) {
    HikariDataSource pool = server.pool(4, config -> config.setMinimumIdle(4));
    Await.until("the pool is full", () -> pool.getHikariPoolMXBean().getTotalConnections() == 4);
    return pool;
  }

  /** Runs this on each connection of the pool but the client's own. */
  private static void leaveOn(HikariDataSource pool, String sql) throws SQLException {
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      connections.add(pool.getConnection());
    }
    for (Connection connection : connections) {
      execute(connection, sql);
      connection.close();
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static void createTablesElsewhere(Server server) throws SQLException {
    try (Connection connection = server.connect()) {
      if (server == Server.POSTGRES) {
        execute(connection, "CREATE SCHEMA IF NOT EXISTS elsewhere");
        execute(connection, "SET search_path TO elsewhere");
      } else {
        execute(connection, "CREATE DATABASE IF NOT EXISTS elsewhere");
        execute(connection, "USE elsewhere");
      }
      Schema.prepare(
          connection,
          io.holdfast.lock.jdbc.dialect.Product.of(connection).dialect(JdbcLocks.DEFAULT_TABLE),
          SchemaMode.CREATE);
    }
  }
}
