package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;

/** A primary and the standby that follows it, behind one address, which a switchover moves. */
abstract class ServerPair implements AutoCloseable {
  private static final String MAY_REPLICATE = "host replication all all scram-sha-256";

  final KitContainer primary;
  final KitContainer standby;
  private final FaultProxy address;

  /** The fate of the server that was the primary. */
  enum Old {
    STOPPED,
    READ_ONLY,
    /** As it was: an operator's mistake, or a cluster's that does not fence. */
    WRITABLE
  }

  private ServerPair(KitContainer primary, KitContainer standby) {
    this.primary = primary;
    this.standby = standby;
    this.address = primary.openProxy();
  }

  static ServerPair mySql() throws SQLException {
    String[] gtids = {"--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=0"};
    KitContainer primary = KitContainer.mySql(with(gtids, "--server-id=1"));
    KitContainer standby = KitContainer.mySql(with(gtids, "--server-id=2"));
    ServerPair pair = new ServerPair(primary, standby) {
      @Override
      void prepareToStop(Old old) throws SQLException {
        if (old == Old.READ_ONLY) {
          run(primary, "SET GLOBAL super_read_only = ON");
        }
      }

      @Override
      void promote() throws SQLException {
        String all = ask(primary, "SELECT @@gtid_executed").replace("\n", "");
        ask(standby, "SELECT WAIT_FOR_EXECUTED_GTID_SET('" + all + "', 20)");
        run(
            standby,
            "STOP REPLICA",
            "SET GLOBAL super_read_only = OFF",
            "SET GLOBAL read_only = OFF");
      }
    };
    run(
        primary,
        "CREATE USER replica IDENTIFIED BY 'replica'",
        "GRANT REPLICATION SLAVE ON *.* TO replica");
    run(
        standby,
        "RESET BINARY LOGS AND GTIDS",
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '" + primary.server().addressInside()
            + "', SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica',"
            + " SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
        "START REPLICA",
        "SET GLOBAL super_read_only = ON");
    return pair;
  }

  private static String[] with(String[] options, String more) {
    String[] all = Arrays.copyOf(options, options.length + 1);
    all[options.length] = more;
    return all;
  }

  static ServerPair postgres() throws Exception {
    KitContainer primary = KitContainer.postgres();
    String unused = primary
        .server()
        .run("bash", "-c", "echo " + MAY_REPLICATE + " >> " + ask(primary, "SHOW hba_file"));
    ask(primary, "SELECT pg_reload_conf()");
    return new ServerPair(primary, KitContainer.postgresStandby(primary)) {
      @Override
      void prepareToStop(Old old) throws SQLException {
        if (old == Old.READ_ONLY) {
          run(primary, "ALTER SYSTEM SET default_transaction_read_only = on");
          ask(primary, "SELECT pg_reload_conf()");
          String end = ask(primary, "SELECT pg_current_wal_lsn()");
          Await.until(
              "the standby has everything",
              () -> isTrue(standby, "SELECT pg_last_wal_replay_lsn() >= '" + end + "'"));
        } else {
          primary.shutDown();
        }
      }

      @Override
      void promote() throws SQLException {
        ask(standby, "SELECT pg_promote()");
      }
    };
  }

  /** A pool of its own that goes by the address. */
  HikariDataSource pool(int size) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(primary.url(address));
    config.setUsername(primary.user());
    config.setPassword(primary.password());
    config.setMaximumPoolSize(size);
    return new HikariDataSource(config);
  }

  /** Makes the standby the primary, which has all that the old one did, and moves the address. */
  void switchOver(Old old) throws SQLException {
    prepareToStop(old);
    promote();
    address.moveTo(standby.server().host(), standby.server().port());
  }

  abstract void prepareToStop(Old old) throws SQLException;

  abstract void promote() throws SQLException;

  /** Whether a waiting client has to listen to the new primary for it to be told of releases. */
  boolean isPostgres() {
    return primary.user().equals("postgres");
  }

  /** Whether somebody listens to the server that was the standby. */
  boolean isListenedTo() {
    return isTrue(
        standby, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%')");
  }

  static boolean isTrue(KitContainer server, String question) {
    try {
      return ask(server, question).equals("t");
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  static String ask(KitContainer server, String question) throws SQLException {
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      result.next();
      return String.valueOf(result.getString(1));
    }
  }

  static void run(KitContainer server, String... statements) throws SQLException {
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  private static Connection connect(KitContainer server) throws SQLException {
    return server.database().connect();
  }

  @Override
  public void close() {
    address.close();
    standby.close();
    primary.close();
  }
}
