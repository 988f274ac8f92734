package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Product;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Pessimistic locking: a row lock in the caller's own transaction, which ends with the transaction.
 * There is no lease, TTL or token, and nothing to release: the lock is as exclusive as the
 * transaction, and lasts as long.
 *
 * <pre>{@code
 * tx.setAutoCommit(false);
 * locks.lock(tx, "account/42");
 * transfer(tx);
 * tx.commit();
 * }</pre>
 *
 * <p>Use it for work that is entirely in this transaction. It holds a connection throughout, and a
 * frozen holder blocks the others until the database ends its session. Lock before you read: with
 * REPEATABLE READ or a stricter isolation level, everything you read is as old as the transaction's
 * first read. If that was before the last holder ended, PostgreSQL and MariaDB refuse the lock
 * (with a {@code SQLException}: roll back and start again), but MySQL does not. On clusters with
 * several writers (Galera, group replication) it excludes others on the same node; of two
 * transactions on different nodes, only one can commit.
 *
 * <p>These names are independent of the names of leases. The rows are in the same table; the first
 * use of a name inserts one in the caller's transaction.
 *
 * <p>Threads: safe for use by any number of threads. No method commits or rolls back.
 */
public final class TransactionLock {
  private final String table;

  /** The statements for each kind of database that has been met. */
  private final Map<Product, Dialect> dialects = new ConcurrentHashMap<>();

  private TransactionLock(String table) {
    this.table = table;
  }

  /** Returns transaction locks in the default table. */
  public static TransactionLock create() {
    return inTable(JdbcLocks.DEFAULT_TABLE);
  }

  /**
   * Returns transaction locks in another table, created by the same script.
   *
   * @throws IllegalArgumentException not a valid table name, as in
   *     {@link JdbcLocks.Builder#table(String)}
   */
  public static TransactionLock inTable(String table) {
    return new TransactionLock(JdbcLocks.checkTable(table));
  }

  /**
   * Locks the name until the transaction ends. Waits while another transaction has it, for at most
   * the database's own lock timeout.
   *
   * @param transaction the caller's connection, in a transaction
   * @throws IllegalArgumentException the name breaks a rule
   * @throws IllegalStateException the connection is in autocommit, or of an unknown database
   * @throws SQLException the wait timed out, a deadlock, or the database failed: roll back
   */
  public void lock(Connection transaction, String name) throws SQLException {
    String key = key(transaction, name);
    dialect(transaction).lockRow(transaction, key);
  }

  /**
   * Locks the name until the transaction ends, unless another transaction has it. Does not wait for
   * that one, with two exceptions: on MySQL it may wait a second or two if this process has not
   * used the name yet, and on H2 it may wait for a transaction that uses the name for the first
   * time ever.
   *
   * <p>On MySQL, if this process has used the name, and its row is gone since (by a purge or a
   * rollback), the gap is locked where it was: new names next to it wait until the transaction
   * ends.
   *
   * @param transaction the caller's connection, in a transaction that goes on either way
   * @return whether this transaction has the lock now
   * @throws IllegalArgumentException the name breaks a rule
   * @throws IllegalStateException the connection is in autocommit, or of an unknown database
   * @throws SQLException the database failed, or the name is taken and a lock wait that timed out
   *     undid the transaction (MySQL and MariaDB with {@code innodb_rollback_on_timeout}): roll
   *     back
   */
  public boolean tryLock(Connection transaction, String name) throws SQLException {
    String key = key(transaction, name);
    return dialect(transaction).tryLockRow(transaction, key);
  }

  private Dialect dialect(Connection transaction) throws SQLException {
    return dialects.computeIfAbsent(Product.of(transaction), product -> product.dialect(table));
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
