package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of waiters that got their lock. They are no longer in any line, and are deleted a little
 * later, many with one statement. A failed deletion is tried again; rows that can't be deleted for
 * a long time are left to a purge.
 *
 * <p>Threads: safe for use by any number of threads; the monitor is never held during I/O.
 */
final class ServedRows {
  private static final Logger log = LoggerFactory.getLogger(ServedRows.class);

  private static final long DELETE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long DELETE_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** The number of failures in a row after which the rows are left to a purge. */
  private static final int FAILURES_MAX = 60;

  /** The number of rows above which more are left to a purge at once. */
  private static final int ROWS_MAX = 10_000;

  private final Database database;
  private final TimeSource time;

  // Guarded by this object's monitor.
  private final List<JdbcTicket> served = new ArrayList<>();
  /** The waiters whose rows are being deleted at the moment. */
  private final List<JdbcTicket> leaving = new ArrayList<>();

  private int failures;
  private long deleteAtNanos;

  ServedRows(Database database, TimeSource time) {
    this.database = database;
    this.time = time;
  }

  synchronized void add(JdbcTicket waiter) {
    if (served.size() == ROWS_MAX) {
      return;
    }
    if (served.isEmpty()) {
      deleteAtNanos = time.nanos() + DELETE_NANOS;
    }
    served.add(waiter);
  }

  /**
   * Removes a waiter that waits again. If its row is deleted already, or just being deleted, it
   * will notice by itself.
   */
  synchronized void remove(JdbcTicket waiter) {
    served.remove(waiter);
    leaving.remove(waiter);
  }

  /**
   * Returns the time until there is something to delete; zero or less if there is something now,
   * and the greatest value if there is nothing.
   */
  synchronized long untilDueNanos(long now) {
    return served.isEmpty() ? Long.MAX_VALUE : deleteAtNanos - now;
  }

  /** Deletes all rows, in batches, until a batch fails. Throws nothing. */
  void deleteSafely() {
    for (List<JdbcTicket> batch = begin(); !batch.isEmpty(); batch = begin()) {
      List<String> keys = batch.stream().map(JdbcTicket::key).toList();
      List<String> ownerIds = batch.stream().map(JdbcTicket::ownerId).toList();
      boolean deleted = false;
      try {
        database.onOwnConnection(database.deadline(), (d, c) -> d.leave(c, keys, ownerIds));
        deleted = true;
      } catch (Throwable e) { // An error must not end the poller's thread.
        log.debug("Rows of waiters that got their lock could not be deleted", e);
      }
      end(deleted);
      if (!deleted) {
        return;
      }
    }
  }

  private synchronized List<JdbcTicket> begin() {
    List<JdbcTicket> batch = served.subList(0, Math.min(served.size(), Dialect.BATCH_MAX));
    leaving.addAll(batch);
    batch.clear();
    return List.copyOf(leaving);
  }

  private synchronized void end(boolean deleted) {
    if (deleted) {
      failures = 0;
    } else if (++failures < FAILURES_MAX) {
      served.addAll(leaving);
      deleteAtNanos = time.nanos() + DELETE_AGAIN_NANOS;
    } else {
      served.clear();
      failures = 0;
    }
    leaving.clear();
  }
}
