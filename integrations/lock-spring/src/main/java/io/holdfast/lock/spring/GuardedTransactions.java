package io.holdfast.lock.spring;

import io.holdfast.lock.Lease;
import io.holdfast.lock.jdbc.JdbcGuard;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The transactions of a transaction manager, of which those that begin during a guarded call get a
 * guard.
 *
 * <p>Threads: safe for use by any number of threads; a transaction belongs to one.
 */
final class GuardedTransactions implements TransactionExecutionListener {
  /** Translates what the database refuses with into Spring's exceptions, as callers expect. */
  private final JdbcTemplate jdbc;

  private final ThreadLocal<@Nullable Call> current = new ThreadLocal<>();

  GuardedTransactions(DataSource dataSource) {
    this.jdbc = new JdbcTemplate(dataSource);
  }

  /** Has the transactions that begin on this thread guarded by the lease, until the close. */
  Call enter(Lease lease) {
    Call call = new Call(lease, current.get());
    current.set(call);
    return call;
  }

  // Must not throw, since the transaction would stay open.
  @Override
  public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
    if (failure != null || !transaction.isNewTransaction()) {
      return;
    }
    for (Call call = current.get(); call != null; call = call.outer) {
      call.guard(transaction);
    }
  }

  /** A guarded call on this thread, and the one that it is nested in. */
  final class Call implements AutoCloseable {
    private final Lease lease;
    private final @Nullable Call outer;
    private int guarded;
    private int unguarded;

    private Call(Lease lease, @Nullable Call outer) {
      this.lease = lease;
      this.outer = outer;
    }

    private void guard(TransactionExecution transaction) {
      boolean isSynchronized =
          transaction instanceof DefaultTransactionStatus status && status.isNewSynchronization();
      if (isSynchronized) {
        TransactionSynchronizationManager.registerSynchronization(new GuardedCommit(lease, jdbc));
        guarded++;
      } else {
        unguarded++;
      }
    }

    /** Whether there was a transaction, and all were guarded. */
    boolean isComplete() {
      return guarded > 0 && unguarded == 0;
    }

    @Override
    public void close() {
      if (outer == null) {
        current.remove();
      } else {
        current.set(outer);
      }
    }
  }

  /** A commit that is refused if the lease is not valid any more. */
  private static final class GuardedCommit implements TransactionSynchronization {
    private final Lease lease;
    private final JdbcTemplate jdbc;
    private @Nullable JdbcGuard guard;

    GuardedCommit(Lease lease, JdbcTemplate jdbc) {
      this.lease = lease;
      this.jdbc = jdbc;
    }

    @Override
    public void beforeCommit(boolean readOnly) {
      JdbcGuard opened = JdbcGuard.open(lease);
      guard = opened;
      jdbc.execute((ConnectionCallback<@Nullable Void>) transaction -> {
        opened.verify(transaction);
        return null;
      });
    }

    @Override
    public void afterCompletion(int status) {
      if (guard != null) {
        guard.close();
      }
    }
  }
}
