package io.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The connection that a client keeps for itself, so that an application which has exhausted its
 * pool can't keep leases from being renewed. Taken from the same pool at the start, replaced when
 * broken.
 *
 * <p>Threads: safe for all; one borrower at a time, the others wait within their budgets.
 */
final class SpareConnection implements Lender, AutoCloseable {
  /** A connection that was idle for longer is checked first: a firewall may have forgotten it. */
  private static final long TRUSTED_NANOS = TimeUnit.SECONDS.toNanos(20);

  private final Lender pool;
  private final ReentrantLock borrowed = new ReentrantLock();

  // Guarded by the lock.
  private @Nullable Connection connection;
  private long usedAtNanos;
  private boolean closed;

  SpareConnection(Lender pool) {
    this.pool = pool;
  }

  @Override
  public Connection lend(Budget budget) throws NoConnectionException {
    if (!lock(budget)) {
      throw NoConnectionException.none(
          "The client's own connection was busy for all of " + budget.whole(), null);
    }
    boolean lent = false;
    try {
      if (closed) {
        throw NoConnectionException.none("The client is closed", null);
      }
      Connection current = connection;
      if (current != null && !isTrusted(current, budget)) {
        connection = null;
        pool.giveBack(current, false);
        current = null;
      }
      if (current == null) {
        current = pool.lend(budget);
        connection = current;
      }
      lent = true;
      return current;
    } finally {
      if (!lent) {
        borrowed.unlock();
      }
    }
  }

  @Override
  public void giveBack(Connection lent, boolean usable) {
    try {
      usedAtNanos = System.nanoTime();
      if (!usable) {
        connection = null;
        pool.giveBack(lent, false);
      }
    } finally {
      borrowed.unlock();
    }
  }

  /** Gives the connection back to the pool for good. Waits for whoever has it. */
  @Override
  public void close() {
    borrowed.lock();
    try {
      closed = true;
      if (connection != null) {
        pool.giveBack(connection, true);
        connection = null;
      }
    } finally {
      borrowed.unlock();
    }
  }

  private boolean isTrusted(Connection current, Budget budget) {
    if (System.nanoTime() - usedAtNanos < TRUSTED_NANOS) {
      return true;
    }
    try {
      return current.isValid(
          (int) Math.max(1, TimeUnit.MILLISECONDS.toSeconds(budget.millisLeft()) / 2));
    } catch (SQLException e) {
      return false;
    }
  }

  private boolean lock(Budget budget) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return borrowed.tryLock(Math.max(0, budget.nanosLeft()), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
