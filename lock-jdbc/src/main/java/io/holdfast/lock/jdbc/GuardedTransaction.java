package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.jdbc.JdbcGuard.Work;
import io.holdfast.lock.jdbc.connection.Deadlines;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * Work that commits only while a lease is valid, and is repeated if the database rolled it back.
 *
 * <p>Threads: used by one thread.
 *
 * @param <X> the exception that the work may throw
 */
final class GuardedTransaction<X extends Exception> {
  /** The time limit of a pause between tries; far longer than any pause takes. */
  private static final Duration PAUSE_MAX = Duration.ofSeconds(1);

  private final Lease lease;
  private final DataSource dataSource;
  private final Work<X> work;

  /** Whether the database certainly rolled back the last try, through no fault of the work. */
  private boolean undone;

  GuardedTransaction(Lease lease, DataSource dataSource, Work<X> work) {
    this.lease = lease;
    this.dataSource = dataSource;
    this.work = work;
  }

  void run(int tries) throws X, SQLException {
    for (int failures = 0; ; failures++) {
      undone = false;
      try (JdbcGuard guard = JdbcGuard.of(lease);
          Connection transaction = dataSource.getConnection()) {
        run(guard, transaction, failures > 0 ? verifiedFirst(guard) : work);
        return;
      } catch (Exception e) {
        if (!undone || failures + 1 == tries) {
          throw e;
        }
      }
      Deadlines.pause(Deadlines.after(PAUSE_MAX), failures);
    }
  }

  /**
   * Locks the lock's row before the work makes its snapshot, so that nobody can write to the row
   * after that.
   */
  private Work<X> verifiedFirst(JdbcGuard guard) {
    return transaction -> {
      guard.verify(transaction);
      work.run(transaction);
    };
  }

  private void run(JdbcGuard guard, Connection transaction, Work<X> step) throws X, SQLException {
    boolean autoCommit = transaction.getAutoCommit();
    if (autoCommit) {
      transaction.setAutoCommit(false);
    }
    try {
      step.run(transaction);
      guard.verify(transaction);
      transaction.commit();
    } catch (Throwable e) {
      rollBack(transaction, autoCommit, e);
      undone = guard.isUndone(e);
      throw e;
    }
    if (autoCommit) {
      transaction.setAutoCommit(true);
    }
  }

  /** Rolls back. If that fails, autocommit is left off, since switching it on would commit. */
  private static void rollBack(Connection transaction, boolean autoCommit, Throwable failure) {
    try {
      transaction.rollback();
      if (autoCommit) {
        transaction.setAutoCommit(true);
      }
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }
}
