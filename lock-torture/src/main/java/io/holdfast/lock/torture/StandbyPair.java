package io.holdfast.lock.torture;

import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.testcontainers.containers.GenericContainer;

/**
 * A primary and its standby, which change places as an operator does it: the new primary has all
 * that the old one had.
 */
abstract class StandbyPair {
  private static final Duration IN_STEP_MAX = Duration.ofSeconds(60);
  private static final long PAUSE_NANOS = 200_000_000;

  final StoreKind store;
  final List<GenericContainer<?>> containers;
  final List<Address> addresses;
  private int primary;

  StandbyPair(StoreKind store, List<GenericContainer<?>> containers, List<Address> addresses) {
    this.store = store;
    this.containers = containers;
    this.addresses = addresses;
  }

  Address primary() {
    return addresses.get(primary);
  }

  private Address standby() {
    return addresses.get(1 - primary);
  }

  GenericContainer<?> primaryContainer() {
    return containers.get(primary);
  }

  GenericContainer<?> standbyContainer() {
    return containers.get(1 - primary);
  }

  /** Starts both, the first as the primary. */
  final void start() throws Exception {
    primaryContainer().start();
    awaitServing(primary());
    allowToFollow();
    standbyContainer().start();
    follow(standby(), primary());
    awaitInStep(primary(), standby());
  }

  /** Lets the standby take over; the old primary is stopped, or refuses to write. */
  final void switchOver(boolean readOnly) throws Exception {
    Address old = primary();
    Address next = standby();
    awaitInStep(old, next);
    noteToFollow(next);
    if (readOnly) {
      makeReadOnly(old);
      awaitInStep(old, next);
    } else {
      stopInOrder(old, next);
    }
    promote(next);
    primary = 1 - primary;
  }

  /** Lets the old primary follow the new one. */
  final void rejoin() throws Exception {
    GenericContainer<?> container = standbyContainer();
    endToFollow(container);
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
    follow(standby(), primary());
    awaitInStep(primary(), standby());
  }

  abstract void allowToFollow() throws Exception;

  /** Notes on the old primary, before it is stopped, which server it is to follow. */
  void noteToFollow(Address next) throws Exception {}

  abstract void follow(Address standby, Address primary) throws SQLException;

  /** Whether the standby has all that the primary has by now. */
  abstract boolean isInStep(Address primary, Address standby) throws SQLException;

  abstract void makeReadOnly(Address old) throws SQLException;

  abstract void stopInOrder(Address old, Address next) throws Exception;

  abstract void promote(Address next) throws SQLException;

  /** Ends an old primary that runs, if it has to be started anew to follow. */
  void endToFollow(GenericContainer<?> old) throws Exception {}

  final void run(Address server, String... statements) throws SQLException {
    try (Connection connection = SqlAccess.connect(store, server);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        boolean unused = statement.execute(sql);
      }
    }
  }

  final String ask(Address server, String question) throws SQLException {
    try (Connection connection = SqlAccess.connect(store, server);
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      return result.next() ? String.valueOf(result.getString(1)) : "";
    }
  }

  static void execute(GenericContainer<?> container, String script)
      throws IOException, InterruptedException {
    var done = container.execInContainer("bash", "-c", script);
    if (done.getExitCode() != 0) {
      throw new IOException(script + ": " + done);
    }
  }

  void stop(GenericContainer<?> container, String signal) throws Exception {
    var docker = container.getDockerClient();
    docker.killContainerCmd(container.getContainerId()).withSignal(signal).exec();
    awaitThat("the server has ended", () -> !container.isRunning());
  }

  final void awaitServing(Address server) {
    awaitThat("the server serves", () -> ask(server, "SELECT 1").equals("1"));
  }

  final void awaitInStep(Address primary, Address standby) {
    awaitThat("the standby has everything", () -> isInStep(primary, standby));
  }

  /** Waits for a condition; a server that is starting may fail to answer. */
  static void awaitThat(String what, Waiting.Condition<SQLException> condition) {
    Waiting.until(what, IN_STEP_MAX, () -> {
      try {
        return condition.holds();
      } catch (SQLException e) {
        return false;
      }
    });
  }

  /** PostgreSQL. A standby is made anew from the primary's data when it starts. */
  static final class Postgres extends StandbyPair {
    private static final String DATA = "/var/lib/postgresql/data";
    private static final String TO_FOLLOW = "/var/lib/postgresql/port-to-follow";

    Postgres(List<GenericContainer<?>> containers, List<Address> addresses) {
      super(StoreKind.POSTGRES_2, containers, addresses);
    }

    /**
     * The script that a container runs.
     *
     * @param toFollow the port of the primary at the first start; zero: this one is the primary
     */
    static String script(int port, int toFollow) {
      return "set -e; if [ " + toFollow + " != 0 ] && [ ! -e " + DATA + "/PG_VERSION ]; then echo "
          + toFollow + " >" + TO_FOLLOW + "; fi; if [ -e " + TO_FOLLOW + " ]; then"
          + " install -d -o postgres -g postgres -m 700 /var/run/postgresql " + DATA + ";"
          + " until rm -rf " + DATA + "/* && setpriv --reuid=postgres --regid=postgres"
          + " --init-groups env PGPASSWORD=" + SqlAccess.PASSWORD + " pg_basebackup -h "
          + Address.LOOPBACK + " -p $(cat " + TO_FOLLOW + ") -U postgres -R -X stream -c fast -D "
          + DATA + "; do sleep 0.3; done; rm " + TO_FOLLOW + "; fi;"
          + " exec $(command -v docker-entrypoint.sh entrypoint | head -n 1) postgres -p " + port
          + " -c max_connections=200 -c wal_receiver_status_interval=1"
          + " -c wal_retrieve_retry_interval=500";
    }

    @Override
    void allowToFollow() throws Exception {
      execute(
          primaryContainer(),
          "echo host replication all all scram-sha-256 >>" + DATA + "/pg_hba.conf");
      ask(primary(), "SELECT pg_reload_conf()");
    }

    @Override
    void noteToFollow(Address next) throws Exception {
      execute(primaryContainer(), "echo " + next.port() + " >" + TO_FOLLOW);
    }

    @Override
    void follow(Address standby, Address primary) {
      // It does when it starts.
    }

    @Override
    boolean isInStep(Address primary, Address standby) throws SQLException {
      String end = ask(primary, "SELECT pg_current_wal_lsn()");
      return ask(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
              .equals("1")
          && ask(standby, "SELECT pg_last_wal_replay_lsn() >= '" + end + "'").equals("t");
    }

    /** Also ends the transactions that began before, since they may still write. */
    @Override
    void makeReadOnly(Address old) throws SQLException {
      run(old, "ALTER SYSTEM SET default_transaction_read_only = on");
      ask(old, "SELECT pg_reload_conf()");
      awaitThat(
          "the primary is read-only",
          () -> ask(old, "SHOW default_transaction_read_only").equals("on"));
      for (int i = 0; i < 2; i++) {
        ask(
            old,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }

    /** Stops it with SIGINT, so that it ends when the standby has everything. */
    @Override
    void stopInOrder(Address old, Address next) throws Exception {
      stop(primaryContainer(), "INT");
    }

    @Override
    void promote(Address next) throws SQLException {
      ask(next, "SELECT pg_promote()");
    }

    @Override
    void endToFollow(GenericContainer<?> old) throws Exception {
      if (old.isRunning()) {
        stop(old, "INT");
      }
    }
  }

  /** MySQL, with global transaction ids. */
  static final class MySql extends StandbyPair {
    MySql(List<GenericContainer<?>> containers, List<Address> addresses) {
      super(StoreKind.MYSQL_2, containers, addresses);
    }

    @Override
    void allowToFollow() throws SQLException {
      run(
          primary(),
          "CREATE USER replica IDENTIFIED BY 'replica'",
          "GRANT REPLICATION SLAVE ON *.* TO replica");
    }

    @Override
    void follow(Address standby, Address primary) throws SQLException {
      awaitServing(standby);
      if (ask(standby, "SELECT COUNT(*) FROM mysql.user WHERE user = 'replica'").equals("0")) {
        run(standby, "RESET BINARY LOGS AND GTIDS"); // It was just made.
      }
      run(
          standby,
          "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '" + primary.host() + "', SOURCE_PORT = "
              + primary.port() + ", SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica',"
              + " SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1,"
              + " SOURCE_RETRY_COUNT = 1000, SOURCE_HEARTBEAT_PERIOD = 1",
          "START REPLICA",
          "SET GLOBAL super_read_only = ON");
    }

    @Override
    boolean isInStep(Address primary, Address standby) throws SQLException {
      String all = ask(primary, "SELECT @@gtid_executed").replace("\n", "");
      return ask(standby, "SELECT GTID_SUBSET('" + all + "', @@gtid_executed)").equals("1");
    }

    /** Waits for open transactions. */
    @Override
    void makeReadOnly(Address old) throws SQLException {
      run(old, "SET GLOBAL super_read_only = ON");
    }

    @Override
    void stopInOrder(Address old, Address next) throws Exception {
      makeReadOnly(old);
      awaitInStep(old, next);
      stop(primaryContainer(), "TERM");
    }

    @Override
    void promote(Address next) throws SQLException {
      run(
          next,
          "STOP REPLICA",
          "RESET REPLICA ALL",
          "SET GLOBAL super_read_only = OFF",
          "SET GLOBAL read_only = OFF");
    }
  }
}
