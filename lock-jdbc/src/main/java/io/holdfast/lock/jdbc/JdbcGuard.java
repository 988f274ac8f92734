package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.dialect.Failure;
import io.holdfast.lock.spi.LeaseGuard;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * A guard that lets a transaction commit only while a lease is valid, whatever clocks say: a holder
 * that was frozen past its deadline can't commit when it wakes up. Close the guard after the
 * transaction and before the lease.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock(); JdbcGuard guard = JdbcGuard.of(lease)) {
 *   try (Connection tx = dataSource.getConnection()) {
 *     tx.setAutoCommit(false);
 *     sell(tx);
 *     guard.verify(tx);
 *     tx.commit();
 *   }
 * }
 * }</pre>
 *
 * <p>{@link #verify} writes to the lock's row. If another client has taken the lock before, the
 * write finds no row, and {@code verify} throws. A client that wants to take it afterwards finds
 * the row locked until the transaction ends. A lease that is closed while guards are open is
 * released when the last of them closes.
 *
 * <p>The transaction must be on the database that has the lock table.
 *
 * <p>Threads: any thread may use a guard, but a connection must not be shared. Only {@code verify}
 * and {@code inTransaction} do I/O, and {@code of} if the wall clock casts doubt on the lease.
 */
public final class JdbcGuard implements AutoCloseable {
  /** The most causes of an exception to look at: frameworks wrap an exception or two. */
  private static final int CAUSES_MAX = 16;

  private final LeaseGuard<JdbcGrant> guard;

  private JdbcGuard(LeaseGuard<JdbcGrant> guard) {
    this.guard = guard;
  }

  /**
   * Opens a guard on a lease of {@link JdbcLocks}. No I/O, unless the wall clock casts doubt on the
   * lease: then the database is asked whether it is valid.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the lease is in doubt, and the database gave no
   *     usable answer
   */
  public static JdbcGuard of(Lease lease) {
    return new JdbcGuard(LeaseGuard.open(lease, JdbcGrant.class));
  }

  /**
   * Whether guards can be opened on the leases of this client: whether it is one of
   * {@link JdbcLocks}. No I/O. A wrapper around such a client is not recognised.
   */
  public static boolean isFor(LockClient client) {
    return LeaseGuard.isFor(client, JdbcStore.class);
  }

  /**
   * Verifies that no other client has had the lock since this lease began, and that none gets it
   * before the transaction ends. Call it last, just before the commit: from here on, other clients
   * can't take the lock, even if the lease expires. The lease is not renewed until
   * {@link #close()}, since the transaction has the lock's row locked.
   *
   * <p>All permits of a semaphore are in one row. So until the transaction ends, nobody can take,
   * close or renew another of its permits either: with a transaction as long as a TTL, other
   * holders lose their leases.
   *
   * <p>Some isolation levels refuse to write to a row that another transaction has written to since
   * this one's first read. They can refuse this call with a {@code SQLException} of SQL state 40001
   * or MariaDB's error 1020, since renewals and waiters write to the lock's row. The lease is still
   * valid then. Start the transaction again and call this twice: before the first read, so that no
   * such write comes in between, and last.
   *
   * @param transaction the caller's connection, in a transaction
   * @throws LockLostException the lease was lost: roll back at once, since the row, which may be
   *     the next holder's by now, can stay locked until then
   * @throws IllegalStateException the connection is in autocommit
   * @throws LockStoreException the lease had to be confirmed first, and the database gave no usable
   *     answer: roll back. Another try may succeed
   * @throws SQLException the database refused or did not answer: roll back. Another try may succeed
   */
  public void verify(Connection transaction) throws SQLException {
    if (transaction.getAutoCommit()) {
      throw new IllegalStateException(
          "The connection is in autocommit, so there is no transaction to guard:"
              + " setAutoCommit(false) first");
    }
    guard.suspendRenewal();
    JdbcGrant grant = guard.grant();
    grant.guarded().set(true);
    if (grant.dialect().guardLocksWhatItRefuses() && !grant.isShown()) {
      throw guard.lost();
    }
    boolean stands;
    try {
      stands = grant.dialect().guard(transaction, grant.stored(), grant.number());
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
   * Whether the database refused the write because the grant is gone. The same errors can be caused
   * by writes that changed no lease, and by whatever else the transaction did.
   */
  private boolean isLoss(JdbcGrant grant, SQLException refusal) {
    if (!isTransient(refusal)) {
      return false;
    }
    try {
      return !grant.isShown();
    } catch (SQLException e) {
      refusal.addSuppressed(e);
      return false; // It is not known whether the lease is lost; the caller rolls back either way.
    }
  }

  /**
   * Whether the database rolled back the transaction or one of its statements, so that it can be
   * run again.
   */
  boolean isUndone(Throwable failure) {
    return !(failure instanceof LockLostException)
        && Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
            .limit(CAUSES_MAX)
            .anyMatch(cause -> cause instanceof SQLException e && isTransient(e));
  }

  private boolean isTransient(SQLException e) {
    return guard.grant().dialect().failure(e) == Failure.TRANSIENT;
  }

  /** Closes this guard, after the transaction has ended; renewal goes on. Idempotent, no I/O. */
  @Override
  public void close() {
    guard.close();
  }

  /**
   * Runs the work in a transaction of its own, which commits only if the lease is still valid at
   * its end. Rolls back on any exception.
   *
   * @param dataSource gives a connection to the database that has the lock table
   * @throws LockLostException the lease was lost; nothing was committed
   * @throws LockStoreException the database could not tell; nothing was committed
   * @throws SQLException the database failed; if it failed at the commit or after it, the
   *     transaction may have been committed
   */
  public static <X extends Exception> void inTransaction(
      Lease lease, DataSource dataSource, Work<X> work) throws X, SQLException {
    inTransaction(lease, dataSource, 1, work);
  }

  /**
   * Runs the work as {@link #inTransaction(Lease, DataSource, Work)} does, and runs it again in a
   * new transaction if the database rolled the first one back in favour of another (after a
   * deadlock, a serialization failure, or a lock wait that timed out). So the work must be
   * repeatable: whatever it does outside of its transaction must be replaced by a second run.
   *
   * <p>From the second try on, the lock's row is locked before the work begins, so that no renewal
   * and no waiter interferes. The work should then take less than the TTL, since the lease is not
   * renewed meanwhile.
   *
   * @param tries the most times that the work is run, at least 1
   * @throws IllegalArgumentException {@code tries} is less than 1
   * @throws LockLostException the lease was lost; nothing was committed
   * @throws LockStoreException the database could not tell; nothing was committed
   * @throws SQLException the database rolled back the last try too, or failed otherwise; if it
   *     failed at the commit or after it, the transaction may have been committed
   */
  public static <X extends Exception> void inTransaction(
      Lease lease, DataSource dataSource, int tries, Work<X> work) throws X, SQLException {
    if (tries < 1) {
      throw new IllegalArgumentException("The work must be tried at least once, not " + tries);
    }
    GuardedTransaction.run(lease, dataSource, tries, work);
  }

  /**
   * Work in a guarded transaction.
   *
   * @param <X> the checked exception that it may throw
   */
  @FunctionalInterface
  public interface Work<X extends Exception> {
    /** Does the work. Must not commit, roll back or close the connection. */
    void run(Connection transaction) throws X, SQLException;
  }
}
