package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.jdbc.JdbcGuard.Work;
import io.holdfast.lock.jdbc.connection.Deadlines;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * Runs work in a transaction that commits only while a lease is valid, and runs it again if the
 * database rolled it back.
 */
final class GuardedTransaction {
  /** The deadline of a pause between tries; no pause is nearly that long. */
  private static final Duration PAUSE_MAX = Duration.ofSeconds(1);

  private GuardedTransaction() {}

  static <X extends Exception> void run(Lease lease, DataSource dataSource, int tries, Work<X> work)
      throws X, SQLException {
    for (int failures = 0; ; failures++) {
      // Whether the database undid this try, which may then succeed if it is repeated.
      boolean undone = false;
      try (JdbcGuard guard = JdbcGuard.of(lease);
          Connection transaction = dataSource.getConnection()) {
        boolean autoCommit = transaction.getAutoCommit();
        transaction.setAutoCommit(false);
        try {
          if (failures > 0) {
            // Locks the row before the work's first read, so that nobody can write to the row
            // between its snapshot and the commit.
            guard.verify(transaction);
          }
          work.run(transaction);
          guard.verify(transaction);
          transaction.commit();
        } catch (Throwable e) {
          rollBack(transaction, autoCommit, e);
          undone = guard.isUndone(e);
          throw e;
        }
        transaction.setAutoCommit(autoCommit);
        return;
      } catch (Exception e) {
        if (!undone || failures + 1 == tries) {
          throw e;
        }
      }
      Deadlines.pause(Deadlines.after(PAUSE_MAX), failures);
    }
  }

  /** Rolls back. If that fails, autocommit is left off, since switching it on would commit. */
  private static void rollBack(Connection transaction, boolean autoCommit, Throwable failure) {
    try {
      transaction.rollback();
      transaction.setAutoCommit(autoCommit);
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }
}
