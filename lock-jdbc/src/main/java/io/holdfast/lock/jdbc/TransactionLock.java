package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * The pessimistic way: a row lock in the caller's own transaction, which ends with it. No lease, no
 * TTL, no token, nothing to release: as exclusive as the transaction, and held as long.
 *
 * <pre>{@code
 * tx.setAutoCommit(false);
 * locks.lock(tx, "account/42");
 * transfer(tx);
 * tx.commit();
 * }</pre>
 *
 * <p>For work that is all in this transaction. It holds a connection throughout, and a frozen
 * holder blocks the others until the database ends its session. Lock before you read: with
 * REPEATABLE READ or stricter, what you read is as old as the transaction's first read, and
 * PostgreSQL and MariaDB refuse the lock if that was before its last holder's end (a
 * {@code SQLException}: roll back, begin again), while MySQL does not. On clusters with several
 * writers (Galera, group replication) it excludes within one node, and across nodes only one of two
 * commits.
 *
 * <p>These names are apart from those of leases. The rows are in the same table; the first use of a
 * name adds one in the caller's transaction.
 *
 * <p>Threads: safe for all; immutable. No method commits or rolls back.
 */
public final class TransactionLock {
  private final String table;

  private TransactionLock(String table) {
    this.table = table;
  }

  /** Locks in the default table. */
  public static TransactionLock create() {
    return inTable(JdbcLocks.DEFAULT_TABLE);
  }

  /**
   * Locks in another table, made by the same script.
   *
   * @throws IllegalArgumentException as {@link JdbcLocks.Builder#table(String)}
   */
  public static TransactionLock inTable(String table) {
    return new TransactionLock(JdbcLocks.checkTable(table));
  }

  /**
   * Locks the name until the transaction ends; waits while another transaction has it, for as long
   * as the database's own lock timeout says.
   *
   * @param transaction the caller's connection, in a transaction
   * @throws IllegalArgumentException the name breaks a rule
   * @throws IllegalStateException the connection is in autocommit, or of an unknown database
   * @throws SQLException the wait timed out, a deadlock, or the database failed: roll back
   */
  public void lock(Connection transaction, String name) throws SQLException {
    String key = key(transaction, name);
    Dialect.of(transaction, table).lockRow(transaction, key);
  }

  /**
   * Locks the name until the transaction ends, unless another transaction has it. Does not wait for
   * one that has it, but on MySQL, for a second or two, if this process has not met the name yet.
   * On H2 it may wait for one that uses the name for the first time ever.
   *
   * @param transaction the caller's connection, in a transaction that goes on either way
   * @return whether it is locked now
   * @throws IllegalArgumentException the name breaks a rule
   * @throws IllegalStateException the connection is in autocommit, or of an unknown database
   * @throws SQLException the database failed: roll back
   */
  public boolean tryLock(Connection transaction, String name) throws SQLException {
    String key = key(transaction, name);
    return Dialect.of(transaction, table).tryLockRow(transaction, key);
  }

  private static String key(Connection transaction, String name) throws SQLException {
    String key = Keys.ofTransaction(new LockKey(LockKind.MUTEX, name));
    if (transaction.getAutoCommit()) {
      throw new IllegalStateException(
          "The connection is in autocommit, so the lock would end with this call:"
              + " setAutoCommit(false) first");
    }
    return key;
  }
}
