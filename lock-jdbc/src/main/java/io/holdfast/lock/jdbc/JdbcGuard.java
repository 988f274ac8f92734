package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.LeaseGuard;
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
   * @param transaction the caller's connection, in a transaction
   * @throws LockLostException the lease was lost: roll back
   * @throws IllegalStateException the connection is in autocommit
   * @throws SQLException the database could not tell: roll back. The lease may still stand
   */
  public void verify(Connection transaction) throws SQLException {
    if (transaction.getAutoCommit()) {
      throw new IllegalStateException(
          "The connection is in autocommit, so there is no transaction to guard:"
              + " setAutoCommit(false) first");
    }
    guard.suspendRenewal();
    JdbcGrant grant = guard.grant();
    boolean stands;
    try {
      stands =
          grant.dialect().guard(transaction, grant.key(), grant.claim().ownerId(), grant.number());
    } catch (SQLException e) {
      if (grant.dialect().isOvertaken(e)) {
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
    try (JdbcGuard guard = open(lease);
        Connection transaction = dataSource.getConnection()) {
      boolean autoCommit = transaction.getAutoCommit();
      if (autoCommit) {
        transaction.setAutoCommit(false);
      }
      boolean committed = false;
      try {
        work.run(transaction);
        guard.verify(transaction);
        transaction.commit();
        committed = true;
      } finally {
        if (!committed) {
          transaction.rollback();
        }
        if (autoCommit) {
          transaction.setAutoCommit(true);
        }
      }
    }
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
