package io.holdfast.lock.consul.store;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.session.Sessions;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The reads of lines by waiters that were told nothing. They are made together, and at most 20 a
 * second, however many names a client waits for. Thread-safe.
 */
final class LineReads {
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final ConsulHttp http;
  private final Sessions sessions;

  /** The read that was not sent yet; null: there is none. Guarded by the monitor. */
  private @Nullable Read next;

  /** The time before which no read may be sent. Guarded by the monitor. */
  private long dueNanos = System.nanoTime();

  LineReads(ConsulHttp http, Sessions sessions) {
    this.http = http;
    this.sessions = sessions;
  }

  /** A read of some lines, which is guarded by the monitor until it is sent. */
  private record Read(Set<String> folders, CompletableFuture<Map<String, Line>> lines) {}

  /** Reads the line of a folder, by a request that is sent after this call began. */
  Line read(String folder, Deadline deadline) throws StoreException {
    CompletableFuture<Map<String, Line>> lines = ask(folder);
    return deadline.awaitUninterruptibly(leftNanos -> {
      try {
        return lines.get(leftNanos, TimeUnit.NANOSECONDS).getOrDefault(folder, new Line(List.of()));
      } catch (ExecutionException | TimeoutException e) {
        throw e.getCause() instanceof StoreException failure
            ? failure
            : StoreException.unanswered("The line was not read: " + e, e);
      }
    });
  }

  private synchronized CompletableFuture<Map<String, Line>> ask(String folder) {
    Read read = next;
    if (read == null || read.folders().size() == Transaction.OPERATIONS_MAX) {
      Read begun = new Read(new HashSet<>(), new CompletableFuture<>());
      long nowNanos = System.nanoTime();
      long delayNanos = Math.max(0, dueNanos - nowNanos);
      sessions.runLater(delayNanos, () -> send(begun));
      dueNanos = nowNanos + delayNanos + PAUSE_NANOS;
      next = begun;
      read = begun;
    }
    read.folders().add(folder);
    return read.lines();
  }

  private void send(Read read) {
    synchronized (this) {
      if (read.equals(next)) {
        next = null;
      }
    }
    http.execute(() -> {
      try {
        List<String> folders = List.copyOf(read.folders());
        read.lines().complete(sessions.lineCleanup().read(folders, http.deadline()));
      } catch (StoreException | RuntimeException | Error e) {
        read.lines().completeExceptionally(e);
      }
    });
  }
}
