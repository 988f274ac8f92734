package io.holdfast.lock.jdbc;

import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** The server's sessions. H2 has none that outlive a request. */
final class ServerSessions implements AutoCloseable {
  private final Server server;
  private final Connection connection;

  ServerSessions(Server server) throws SQLException {
    this.server = server;
    connection = server.connect();
  }

  long all() {
    return ask(
        server == Server.POSTGRES
            ? "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            : "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root'");
  }

  /** Those that have waited for a lock for longer than statements of ours lock a row. */
  long thatWaitForLocks() {
    return switch (server) {
      case H2 -> 0;
      case POSTGRES ->
        ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            + " AND state_change < clock_timestamp() - interval '1 s'");
      default ->
        ask("SELECT COUNT(*) FROM information_schema.innodb_trx"
            + " WHERE trx_wait_started < NOW() - INTERVAL 1 SECOND");
    };
  }

  long thatWaitForRows() {
    return ask(
        server == Server.POSTGRES
            ? "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            : "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'");
  }

  /** Asks seldom: InnoDB answers from memory for 100 ms after it was last asked. */
  private long ask(String question) {
    Await.pause(Duration.ofMillis(250));
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      result.next();
      return result.getLong(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
