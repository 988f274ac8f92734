package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The reads of lines by waiters that were told nothing. They are made together, and at most 20 a
 * second, however many names a client waits for. Thread-safe.
 */
final class LineReads {
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final LineCleanup lineCleanup;

  /** Those that are not sent yet. */
  private final Queue<Read> asked = new ConcurrentLinkedQueue<>();

  /** Held by the waiter that sends the next request, during the pause before. */
  private final ReentrantLock turn = new ReentrantLock(true);

  /** The time at which the last request was sent. Guarded by {@link #turn}. */
  private long sentNanos = System.nanoTime() - PAUSE_NANOS;

  LineReads(LineCleanup lineCleanup) {
    this.lineCleanup = lineCleanup;
  }

  private record Read(String folder, CompletableFuture<Line> line) {}

  /** Reads the line of a folder, by a request that is sent after this call began. */
  Line read(String folder, Deadline deadline) throws StoreException {
    Read own = new Read(folder, new CompletableFuture<>());
    asked.add(own);
    List<Read> together = takeIfFirst(own, deadline);
    if (!together.isEmpty()) {
      readTogether(together, deadline);
    }
    return deadline.awaitUninterruptibly(leftNanos -> {
      try {
        return own.line().get(leftNanos, TimeUnit.NANOSECONDS);
      } catch (ExecutionException | TimeoutException e) {
        throw e.getCause() instanceof StoreException failure
            ? failure
            : StoreException.unanswered("The line was not read: " + e, e);
      }
    });
  }

  /** Takes all that were asked for, unless another waiter has taken this one; then none. */
  private List<Read> takeIfFirst(Read own, Deadline deadline) {
    List<Read> taken = new ArrayList<>();
    boolean mine =
        deadline.awaitUninterruptibly(leftNanos -> turn.tryLock(leftNanos, TimeUnit.NANOSECONDS));
    if (!asked.remove(own)) {
      // Another has taken it.
      if (mine) {
        turn.unlock();
      }
      return taken;
    }
    taken.add(own);
    if (mine) {
      try {
        pause(deadline);
        for (Read next = asked.poll();
            next != null;
            next = taken.size() < Transaction.OPERATIONS_MAX ? asked.poll() : null) {
          taken.add(next);
        }
        sentNanos = System.nanoTime();
      } finally {
        turn.unlock();
      }
    }
    return taken;
  }

  private void pause(Deadline deadline) {
    long pauseNanos = sentNanos + PAUSE_NANOS - System.nanoTime();
    Deadline end = deadline.within(Duration.ofNanos(Math.max(0, pauseNanos)));
    boolean unused = end.awaitUninterruptibly(leftNanos -> {
      TimeUnit.NANOSECONDS.sleep(leftNanos);
      return true;
    });
  }

  private void readTogether(List<Read> some, Deadline deadline) {
    try {
      List<String> folders = some.stream().map(Read::folder).distinct().toList();
      Map<String, Line> lines = lineCleanup.read(folders, deadline);
      some.forEach(
          read -> read.line().complete(lines.getOrDefault(read.folder(), new Line(List.of()))));
    } catch (StoreException | RuntimeException | Error e) {
      some.forEach(read -> read.line().completeExceptionally(e));
    }
  }
}
