package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.testsupport.ChildJvm;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two JVMs that count together, under a lock of their registries. */
@Tag("nightly")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // It reads from JVMs.
class TwoProcessesTest {
  private static final long PATIENCE_SECONDS = 200;

  private final List<Process> processes = new ArrayList<>();

  @AfterEach
  void end() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void noTwoAreInsideAtOnce() throws Exception {
    ServerContainer server = Server.POSTGRES.container();
    try (HikariDataSource pool = Server.postgresPool(server.host(), server.port());
        Connection connection = pool.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS counter");
      statement.execute("CREATE TABLE counter (count INT)");
      statement.execute("INSERT INTO counter VALUES (0)");
      start(server);
      start(server);
      for (Process process : processes) {
        awaitReady(process);
      }
      for (Process process : processes) {
        OutputStream input = process.getOutputStream();
        input.write('\n');
        input.flush();
      }
      for (Process process : processes) {
        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS))
            .as("ends")
            .isTrue();
        assertThat(process.exitValue()).isZero();
      }

      try (ResultSet row = statement.executeQuery("SELECT count FROM counter")) {
        assertThat(row.next()).isTrue();
        assertThat(row.getInt("count"))
            .as("Unsafe: sections counted")
            .isEqualTo(2 * CountingApplication.THREADS * CountingApplication.ROUNDS);
      }
    }
  }

  private void start(ServerContainer server) throws IOException {
    processes.add(
        ChildJvm.of(CountingApplication.class, server.host(), Integer.toString(server.port()))
            .start());
  }

  private static void awaitReady(Process process) throws IOException {
    @SuppressWarnings("resource") // Closing it would close the process's output.
    BufferedReader output = process.inputReader();
    assertThat(output.readLine()).isEqualTo(CountingApplication.READY);
  }
}
