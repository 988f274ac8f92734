package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.Timing;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import io.holdfast.lock.testsupport.ServerContainer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

/** A database for the kit. */
final class JdbcFixture extends JdbcAccess implements Fixture {
  private static final int POOL_SIZE = 60;

  /**
   * Enough for two clients whose requests take seconds each, with the connection that each of them
   * listens on: a caller who waits for one longer than the store timeout gets an error.
   */
  private static final int LINK_POOL_SIZE = 8;

  /** Room for a server that the machine lets wait: three JVMs run kits at once. */
  private static final Timing TIMING = new Timing(
      Duration.ofSeconds(6),
      Duration.ofSeconds(2),
      Duration.ofSeconds(10),
      Timing.defaults().quiet());

  private final KitServer server;

  JdbcFixture(KitServer server) throws SQLException {
    super(server.url(), server.user(), server.password(), POOL_SIZE);
    this.server = server;
    try (Connection connection = pool().getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE callers_own (id INT PRIMARY KEY)");
      JdbcGuardedWrites.createTable(connection, server.identityColumn());
    }
    awaitPool();
  }

  @Override
  public Set<Capability> capabilities() {
    Set<Capability> capabilities = EnumSet.allOf(Capability.class);
    if (!(server instanceof KitContainer)) {
      capabilities.removeAll(Set.of(
          Capability.FAULTS,
          Capability.SERVER_PAUSE,
          Capability.SERVER_RESTART,
          Capability.DURABLE));
    }
    return capabilities;
  }

  @Override
  public String whyNot(Capability missing) {
    return switch (missing) {
      case FAULTS -> "H2's driver can't bound a call over a network (docs/backends/jdbc.md)";
      default -> "this H2 lives in the memory of the process that runs the tests";
    };
  }

  @Override
  public Timing timing() {
    return TIMING;
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(JdbcLocks.builder(pool()).schema(SchemaMode.CREATE)::openStore, tap);
  }

  @Override
  public Link newLink() {
    return server.openProxy();
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    HikariDataSource throughLink =
        pool(server.url((FaultProxy) link), server.user(), server.password(), LINK_POOL_SIZE);
    link.onClose(throughLink);
    awaitPool(throughLink);
    return JdbcLocks.builder(throughLink).schema(SchemaMode.CREATE);
  }

  @Override
  public void pauseServer() {
    container().pause();
  }

  @Override
  public void resumeServer() {
    container().resume();
  }

  @Override
  public void killServer() {
    container().kill();
  }

  @Override
  public void startServer() {
    container().startAgain();
    // Hikari gives out a connection unchecked that was used just before the server was killed.
    pool().getHikariPoolMXBean().softEvictConnections();
    awaitPool();
  }

  @Override
  public ChildProcess.Entry childProcess() {
    return new ChildProcess.Entry(
        JdbcAccessFactory.class, List.of(server.url(), server.user(), server.password()));
  }

  @Override
  public Map<String, Long> leftovers() throws SQLException {
    try (Connection connection = pool().getConnection();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(
            "SELECT COUNT(*) FROM " + JdbcLocks.DEFAULT_TABLE + " WHERE owner <> ''")) {
      result.next();
      return Map.of(
          "rows that are owned",
          result.getLong(1),
          "connections in use",
          pool().getHikariPoolMXBean().getActiveConnections() - 1L);
    }
  }

  @Override
  public boolean isRolledBackAround(Callable<?> body) throws Exception {
    try (Connection transaction = pool().getConnection()) {
      transaction.setAutoCommit(false);
      try (Statement statement = transaction.createStatement()) {
        statement.execute("INSERT INTO callers_own (id) VALUES (1)");
        Object unused = body.call();
      } finally {
        transaction.rollback();
      }
      try (Statement statement = transaction.createStatement();
          ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM callers_own")) {
        result.next();
        return result.getInt(1) == 0;
      }
    }
  }

  @Override
  public void close() {
    super.close();
    server.close();
  }

  private ServerContainer container() {
    return ((KitContainer) server).server();
  }
}
