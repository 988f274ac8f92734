package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** Connections that end, or go silent, while nobody uses them: no lease and no request is lost. */
@Isolated("the server's idle sessions are ended")
class IdleConnectionsTest {
  /** Pools and clients trust a connection that was used within the last half a second. */
  private static final Duration TRUSTED = Duration.ofMillis(600);

  private static final Duration BETWEEN_FAULTS = Duration.ofMillis(1500);

  /** The pool's limit for its check of each connection; Hikari's default is 5 s. */
  private static final long CHECK_MILLIS = 500;

  /** The client's own connection, and an idle one. */
  private static final int OWN_AND_IDLE = 2;

  /** The client's own connection, and three idle ones, which the pool checks in turn. */
  private static final int OWN_AND_SEVERAL_IDLE = 4;

  @EachRealServer
  void theServerEndsThem(Server server) throws Exception {
    runFor(server, Duration.ofSeconds(5), OWN_AND_IDLE, proxy -> endIdleSessions(server));
  }

  @EachRealServer
  void aFirewallForgetsThem(Server server) throws Exception {
    runFor(server, Duration.ofSeconds(5), OWN_AND_IDLE, FaultProxy::silence);
  }

  @EachRealServer
  @Tag("soak")
  @Timeout(300)
  void theServerEndsThemForAMinute(Server server) throws Exception {
    runFor(server, Duration.ofMinutes(1), OWN_AND_SEVERAL_IDLE, proxy -> endIdleSessions(server));
  }

  @EachRealServer
  @Tag("soak")
  @Timeout(300)
  void aFirewallForgetsThemForAMinute(Server server) throws Exception {
    runFor(server, Duration.ofMinutes(1), OWN_AND_SEVERAL_IDLE, FaultProxy::silence);
  }

  /** A way in which idle connections die. */
  private interface Fault {
    void happen(FaultProxy proxy) throws SQLException;
  }

  private static void runFor(Server server, Duration time, int size, Fault fault) throws Exception {
    String name = freshKey().name();
    try (FaultProxy proxy = server.openProxy();
        FaultProxy busy = server.openProxy();
        HikariDataSource pool = pool(server, proxy, size);
        // A waiter's connections are never idle for long, so that no firewall forgets them.
        HikariDataSource waitersPool = pool(server, busy, 4);
        LockClient holder = client(pool);
        LockClient other = client(waitersPool)) {
      Lease lease = holder.get(name).lock();
      CompletableFuture<Void> waiter = CompletableFuture.runAsync(() -> takeOnce(other, name));
      Await.until(
          "the other client waits", () -> holder.list(name, 1).get(0).waiting().orElse(0) > 0);
      long end = System.nanoTime() + time.toNanos();
      while (System.nanoTime() - end < 0) {
        fault.happen(proxy);
        Await.pause(TRUSTED);
        holder.get(freshKey().name()).tryLock().orElseThrow().close();
        lease.verify();
        Await.pause(BETWEEN_FAULTS.minus(TRUSTED));
      }
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      assertThat(waiter).isNotDone(); // Nothing ended its wait.
      lease.close();
      waiter.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
  }

  private static HikariDataSource pool(Server server, FaultProxy proxy, int size) {
    return server.pool(size, config -> {
      config.setJdbcUrl(server.url(proxy));
      config.setMinimumIdle(size - 1);
      config.setValidationTimeout(CHECK_MILLIS);
    });
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool)
        .schema(SchemaMode.CREATE)
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(15)))
        .build();
  }

  private static void takeOnce(LockClient client, String name) {
    try (Lease lease = client.get(name).lock()) {
      assertThat(lease.isHeld()).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void endIdleSessions(Server server) throws SQLException {
    try (Connection connection = server.connect();
        Statement statement = connection.createStatement()) {
      if (server == Server.POSTGRES) {
        statement.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            + " WHERE state = 'idle' AND pid <> pg_backend_pid()");
        return;
      }
      try (ResultSet idle = statement.executeQuery("SELECT id FROM information_schema.processlist"
          + " WHERE user = 'root' AND id <> CONNECTION_ID() AND command = 'Sleep'")) {
        while (idle.next()) {
          try (Statement kill = connection.createStatement()) {
            kill.execute("KILL " + idle.getLong(1));
          } catch (SQLException e) {
            assertThat(e.getErrorCode()).isEqualTo(1094); // It has gone by itself.
          }
        }
      }
    }
  }
}
