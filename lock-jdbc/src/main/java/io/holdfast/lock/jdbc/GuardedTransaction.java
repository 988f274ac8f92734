package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.jdbc.JdbcGuard.Work;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * Work that commits only while a lease stands, run again if the database undid it.
 *
 * <p>Threads: for one.
 *
 * @param <X> what the work throws
 */
final class GuardedTransaction<X extends Exception> {
  /** Far more than a pause takes. */
  private static final Duration PAUSE_MAX = Duration.ofSeconds(1);

  private final Lease lease;
  private final DataSource dataSource;
  private final Work<X> work;

  /** Whether the last try was undone by the database, for sure, and by no fault of the work. */
  private boolean undone;

  GuardedTransaction(Lease lease, DataSource dataSource, Work<X> work) {
    this.lease = lease;
    this.dataSource = dataSource;
    this.work = work;
  }

  void run(int tries) throws X, SQLException {
    for (int failures = 0; ; failures++) {
      undone = false;
      try (JdbcGuard guard = JdbcGuard.open(lease);
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

  /** Locks the row before the work makes its snapshot: nothing can be written to it after that. */
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

  /** Autocommit is left off if the rollback failed: to switch it on would commit. */
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
