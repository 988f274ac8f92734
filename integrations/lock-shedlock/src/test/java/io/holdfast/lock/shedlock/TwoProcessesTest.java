package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.ChildJvm;
import io.holdfast.lock.testsupport.Database;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two JVMs with the same scheduled task, one of which is killed while its task runs. */
@Tag("nightly")
@Timeout(value = 600, unit = TimeUnit.SECONDS) // Each of its waits has a deadline of its own.
class TwoProcessesTest {
  private static final int PERIODS = 3;
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final Duration AT_LEAST = Duration.parse(ScheduledApplication.AT_LEAST);
  private static final Duration AT_MOST = Duration.parse(ScheduledApplication.AT_MOST);

  private final List<Process> processes = new ArrayList<>();
  private final BlockingQueue<Said> said = new LinkedBlockingQueue<>();

  private final List<String> heard = new ArrayList<>();

  /** A line that a process has written. */
  private record Said(Process by, String line) {
    boolean isRun() {
      return line.startsWith(ScheduledApplication.RUNS);
    }

    /** The time at which its task got the lock, by the store's clock. */
    Instant since() {
      return Instant.parse(line.substring(ScheduledApplication.RUNS.length()));
    }
  }

  @AfterEach
  void end() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void aTaskRunsOnceInEachPeriodAndElsewhereOnceTheLockOfTheKilledOneIsOver() throws Exception {
    try (Database server = Database.postgres("-c", "synchronous_commit=off");
        HikariDataSource pool = TestStore.pool(server.url(), server.user());
        LockClient tables = TestStore.builder(pool).build()) {
      start(server.url(), server.user());
      start(server.url(), server.user());

      Said run = next(Said::isRun);
      for (int period = 1; period < PERIODS; period++) {
        awaitThatOthersMiss(run);
        finish(run);
        run = nextAfter(run, AT_LEAST);
      }
      awaitThatOthersMiss(run);
      run.by().destroyForcibly().waitFor();
      assertThat(tables.get(ScheduledApplication.TASK).inspect()).isPresent();

      Said next = nextAfter(run, AT_MOST);
      assertThat(next.by()).isNotEqualTo(run.by());
      finish(next);
      assertThat(nextAfter(next, AT_LEAST).by()).isEqualTo(next.by());
    }
  }

  private void awaitThatOthersMiss(Said run) throws InterruptedException {
    Said missed = next(line -> !line.by().equals(run.by())
        && (line.isRun() || line.line().equals(ScheduledApplication.TAKEN)));
    if (missed.isRun()) {
      assertIsAfter(missed, run, AT_MOST);
    }
  }

  private Said nextAfter(Said run, Duration period) throws InterruptedException {
    Said next = next(Said::isRun);
    assertIsAfter(next, run, period);
    return next;
  }

  private static void assertIsAfter(Said next, Said run, Duration period) {
    assertThat(next.since())
        .as("Unsafe: the next run")
        .isAfterOrEqualTo(run.since().plus(period));
  }

  private Said next(Predicate<Said> condition) throws InterruptedException {
    long untilNanos = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      Said next = said.poll(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      assertThat(next).as("what was to be said by now, after %s", heard).isNotNull();
      heard.add(next.line());
      if (condition.test(next)) {
        return next;
      }
    }
  }

  private void start(String url, String user) throws IOException {
    Process process = ChildJvm.of(ScheduledApplication.class, url, user)
        .redirectErrorStream(true)
        .start();
    processes.add(process);
    Thread reader = new Thread(() -> read(process));
    reader.setDaemon(true);
    reader.start();
  }

  private void read(Process process) {
    try (BufferedReader lines = process.inputReader()) {
      lines.lines().forEach(line -> said.add(new Said(process, line)));
    } catch (IOException | UncheckedIOException e) {
      // It was killed while it spoke.
    }
  }

  private static void finish(Said run) throws IOException {
    BufferedWriter input = run.by().outputWriter();
    input.write("done\n");
    input.flush();
  }
}
