package io.holdfast.lock.spring;

import io.holdfast.lock.jdbc.JdbcGuard;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronization;

/**
 * The commit of a transaction, refused if the lease is not valid any more.
 *
 * <p>Threads: only the transaction's.
 */
final class GuardedCommit implements TransactionSynchronization {
  private final GuardedTransactions.Call call;
  private final TransactionExecution transaction;

  /** The transaction's own connection, or null if its manager does not expose it. */
  private final @Nullable ConnectionHolder connection;

  private @Nullable JdbcGuard guard;

  /** Whether the commit was verified, or a rollback was asked for. */
  private boolean isDecided;

  GuardedCommit(
      GuardedTransactions.Call call,
      TransactionExecution transaction,
      @Nullable ConnectionHolder connection) {
    this.call = call;
    this.transaction = transaction;
    this.connection = connection;
  }

  boolean isOf(TransactionExecution other) {
    return transaction == other;
  }

  boolean isBy(GuardedTransactions.Call other) {
    return call == other;
  }

  /**
   * Verifies the lease, as the last step before the commit. If this throws, the transaction is
   * rolled back.
   */
  void verify() {
    if (transaction.isReadOnly()) {
      call.lease().ensureHeld(); // The guard's write would be refused.
    } else {
      verifyOnConnection();
    }
    isDecided = true;
  }

  private void verifyOnConnection() {
    if (!isExposed()) {
      throw new IllegalStateException(call.place()
          + " has guard = true, and its transaction was rolled back, since the transaction manager"
          + " does not expose its connection, so the commit can't be guarded: use a manager that"
          + " does (for JPA, with a vendor adapter or JpaDialect), or leave guard out");
    }
    JdbcGuard opened = JdbcGuard.of(call.lease());
    guard = opened;
    call.jdbc().execute((ConnectionCallback<@Nullable Void>) tx -> {
      opened.verify(tx);
      return null;
    });
  }

  /** Notes that Spring rolls back, so that nothing is left to do at the end. */
  void rollingBack() {
    isDecided = true;
  }

  @Override
  public void afterCompletion(int status) {
    try {
      if (!isDecided && isExposed()) {
        rollBack();
      }
    } finally {
      if (guard != null) {
        guard.close();
      }
    }
  }

  /**
   * Rolls back a transaction that Spring may have left open. If a synchronization throws one of
   * Spring's exceptions for transactions before the commit, Spring takes it for a failure of the
   * commit itself, and goes on to switch the connection back to autocommit. That would commit what
   * was not verified.
   */
  private void rollBack() {
    call.jdbc().execute((ConnectionCallback<@Nullable Void>) tx -> {
      if (!tx.getAutoCommit()) {
        tx.rollback();
      }
      return null;
    });
  }

  private boolean isExposed() {
    return connection != null && call.bound() == connection;
  }
}
