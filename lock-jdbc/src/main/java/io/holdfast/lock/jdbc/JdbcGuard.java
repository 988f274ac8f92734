package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * Lets a transaction commit only while a lease stands, whatever the clocks did: a holder that was
 * frozen past its time and woke up can't commit. Close it after the transaction, before the lease.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock(); JdbcGuard guard = JdbcGuard.open(lease)) {
 *   try (Connection tx = dataSource.getConnection()) {
 *     tx.setAutoCommit(false);
 *     sell(tx);
 *     guard.verify(tx);
 *     tx.commit();
 *   }
 * }
 * }</pre>
 *
 * <p>{@link #verify} writes to the lock's row. Who stole the lock before made it find nothing; who
 * wants to steal it afterwards finds the row locked until the transaction ends. A closed lease
 * stays taken while a guard on it is open, and is released when the last one closes.
 *
 * <p>The transaction must be on the database that has the locks' table.
 *
 * <p>Threads: safe for all, but a connection is its own thread's. Only {@code verify} and
 * {@code inTransaction} do I/O.
 */
public final class JdbcGuard implements AutoCloseable {
  /** The longest chain of causes that is looked through: frameworks wrap an exception or two. */
  private static final int CAUSES_MAX = 16;

  private final LeaseGuard<JdbcGrant> guard;

  private JdbcGuard(LeaseGuard<JdbcGrant> guard) {
    this.guard = guard;
  }

  /**
   * Opens a guard on a lease of {@link JdbcLocks}. No I/O.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   */
  public static JdbcGuard open(Lease lease) {
    return new JdbcGuard(LeaseGuard.open(lease, JdbcGrant.class));
  }

  /**
   * Makes sure that nobody else has had the lock, and that nobody gets it before the transaction
   * ends. Call it last: what follows it runs while other clients can't even try. Until
   * {@link #close()} the lease is not renewed, since renewal would wait for the transaction.
   *
   * <p>An isolation level that refuses to write to what was written since the transaction's first
   * read can refuse this, too, with a {@code SQLException} of SQL state 40001 or MariaDB's error
   * 1020: renewals write to the lock's row, and so does who waits for it. The lease stands then.
   * Begin again, and call this twice: before the first read, so that nobody comes between, and
   * last.
   *
   * @param transaction the caller's connection, in a transaction
   * @throws LockLostException the lease was lost: roll back, at once, since the next holder's row
   *     may stay locked until then
   * @throws IllegalStateException the connection is in autocommit
   * @throws SQLException the database refused or could not tell: roll back. Another try may succeed
   */
  public void verify(Connection transaction) throws SQLException {
    if (transaction.getAutoCommit()) {
      throw new IllegalStateException(
          "The connection is in autocommit, so there is no transaction to guard:"
              + " setAutoCommit(false) first");
    }
    guard.suspendRenewal();
    JdbcGrant grant = guard.grant();
    if (grant.dialect().guardLocksWhatItRefuses() && !isShown(grant)) {
      throw guard.lost();
    }
    boolean stands;
    try {
      stands =
          grant.dialect().guard(transaction, grant.key(), grant.claim().ownerId(), grant.number());
    } catch (SQLException e) {
      if (isLoss(grant, e)) {
        LockLostException lost = guard.lost();
        lost.addSuppressed(e);
        throw lost;
      }
      throw e;
    }
    if (!stands) {
      throw guard.lost();
    }
  }

  /**
   * Whether the grant is gone, and the database's refusal to write thereby explained. The same
   * errors come of writes that changed nobody's lease, and of what else the transaction did.
   */
  private static boolean isLoss(JdbcGrant grant, SQLException refusal) {
    if (!grant.dialect().isTransient(refusal)) {
      return false;
    }
    try {
      return !isShown(grant);
    } catch (SQLException e) {
      refusal.addSuppressed(e);
      return false; // Not known; the caller rolls back either way.
    }
  }

  /** Asks apart from the transaction, which may see the past, or be aborted. */
  private static boolean isShown(JdbcGrant grant) throws SQLException {
    try {
      return grant.isShown();
    } catch (StoreException e) {
      throw new SQLException(
          "It could not be asked on another connection whether the lease stands: " + e.getMessage(),
          e);
    }
  }

  /** Whether the database undid the transaction, or a statement of it, so that it can run again. */
  boolean isUndone(Throwable failure) {
    if (failure instanceof LockLostException) {
      return false;
    }
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSES_MAX; depth++) {
      if (cause instanceof SQLException e && guard.grant().dialect().isTransient(e)) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }

  /** The transaction is over; renewal goes on. Idempotent, no I/O. */
  @Override
  public void close() {
    guard.close();
  }

  /**
   * Runs the work in a transaction of its own that commits only if the lease stands at its end.
   * Rolls back on any exception.
   *
   * @param dataSource gives a connection on the database that has the locks' table
   * @throws LockLostException the lease was lost; nothing was committed
   * @throws SQLException the database failed; if it did so at the commit, that may have happened
   */
  public static <X extends Exception> void inTransaction(
      Lease lease, DataSource dataSource, Work<X> work) throws X, SQLException {
    inTransaction(lease, dataSource, 1, work);
  }

  /**
   * As {@link #inTransaction(Lease, DataSource, Work)}, but when the database undid the transaction
   * in favour of another (a deadlock, a serialization failure, a lock wait that timed out), runs
   * the work again from its start in a new transaction. So the work must leave nothing behind
   * outside of its transaction, or nothing that a second run would not replace.
   *
   * <p>Every try but the first locks the lock's row before the work begins, so that no renewal and
   * no waiter comes between: the work should then take less than the TTL, since the lease is not
   * renewed meanwhile.
   *
   * @param tries how often the work is run at most; 1: as without
   * @throws IllegalArgumentException less than one try
   * @throws LockLostException the lease was lost; nothing was committed
   * @throws SQLException the database undid the last try, too, or failed otherwise; if it did so at
   *     the commit, that may have happened
   */
  public static <X extends Exception> void inTransaction(
      Lease lease, DataSource dataSource, int tries, Work<X> work) throws X, SQLException {
    if (tries < 1) {
      throw new IllegalArgumentException("The work must be tried at least once, not " + tries);
    }
    new GuardedTransaction<>(lease, dataSource, work).run(tries);
  }

  /**
   * Work in a guarded transaction.
   *
   * @param <X> what it throws
   */
  @FunctionalInterface
  public interface Work<X extends Exception> {
    /** Does the work; the transaction is neither committed nor closed by it. */
    void run(Connection transaction) throws X, SQLException;
  }
}
