package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Database;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The databases of the tests, each started once per JVM, when first asked for. */
enum Server {
  H2,
  MYSQL,
  MARIADB,
  MARIADB_BY_MYSQL_DRIVER,
  POSTGRES;

  private static final String H2_URL = "jdbc:h2:mem:holdfast;DB_CLOSE_DELAY=-1";

  /** The databases of {@link EachServer}. */
  static Stream<Server> ofThisRun() {
    boolean all = System.getProperty("test.all") != null;
    return Arrays.stream(values())
        .filter(server -> all || (server != MARIADB && server != MARIADB_BY_MYSQL_DRIVER));
  }

  /** The databases of {@link EachRealServer}. */
  static Stream<Server> realOfThisRun() {
    return ofThisRun().filter(server -> server != H2);
  }

  /** A pool as users have it, with autocommit. */
  HikariDataSource pool(int size) {
    return pool(size, config -> {});
  }

  HikariDataSource pool(int size, Consumer<HikariConfig> more) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url());
    config.setUsername(user());
    config.setPassword(Image.PASSWORD);
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(1);
    more.accept(config);
    return new HikariDataSource(config);
  }

  /** A connection of its own, apart from any pool. */
  Connection connect() throws SQLException {
    return DriverManager.getConnection(url(), user(), Image.PASSWORD);
  }

  /** Stops the server's processes, as a frozen machine would. */
  void pause() {
    database().server().pause();
  }

  void unpause() {
    database().server().resume();
  }

  private Database database() {
    ServerContainer.assumeDocker();
    return switch (this) {
      case H2 -> throw new IllegalStateException("H2 runs in this process");
      case MYSQL -> MySql.RUNNING;
      case MARIADB -> MariaDb.RUNNING;
      case MARIADB_BY_MYSQL_DRIVER -> MariaDb.RUNNING.byMySqlDriver();
      case POSTGRES -> Postgres.RUNNING;
    };
  }

  String url() {
    return this == H2 ? H2_URL : database().url();
  }

  FaultProxy openProxy() {
    return database().server().openProxy();
  }

  String url(FaultProxy proxy) {
    return database().url(proxy);
  }

  String user() {
    return switch (this) {
      case H2 -> "sa";
      case POSTGRES -> "postgres";
      default -> "root";
    };
  }

  boolean isMariaDb() {
    return this == MARIADB || this == MARIADB_BY_MYSQL_DRIVER;
  }

  boolean isMySqlFamily() {
    return this == MYSQL || isMariaDb();
  }

  private static final class MySql {
    static final Database RUNNING =
        Database.mySql("--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0");
  }

  private static final class MariaDb {
    static final Database RUNNING = Database.mariaDb("--innodb-flush-log-at-trx-commit=2");
  }

  private static final class Postgres {
    static final Database RUNNING = Database.postgres(
        "-c",
        "synchronous_commit=off",
        "-c",
        "max_notify_queue_pages=64",
        "-c",
        "shared_preload_libraries=pg_stat_statements",
        "-c",
        "pg_stat_statements.track_utility=on");
  }

  /** The name of a database in test names. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
