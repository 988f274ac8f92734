package io.holdfast.lock.spring;

import io.holdfast.lock.Lease;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.JdbcTransactionObjectSupport;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Gives a guard to each transaction of one transaction manager that begins during a guarded call.
 *
 * <p>A guard verifies in {@link #beforeCommit}, which Spring calls after all synchronizations and
 * immediately before the commit. From then on other transactions wait for the lock's row. If it
 * verified earlier, a transaction begun by one of those synchronizations would wait too.
 *
 * <p>Threads: safe for use by any number of threads; a transaction belongs to one.
 */
final class GuardedTransactions implements TransactionExecutionListener {
  /** The innermost guarded call on a thread, of any transaction manager. */
  private static final ThreadLocal<@Nullable Call> CURRENT = new ThreadLocal<>();

  /** Translates the database's errors into Spring's exceptions, as callers expect. */
  private final JdbcTemplate jdbc;

  private final DataSource dataSource;

  GuardedTransactions(DataSource dataSource) {
    this.dataSource = dataSource;
    this.jdbc = new JdbcTemplate(dataSource);
  }

  /** Guards the transactions that begin on this thread, by the lease, until the call is closed. */
  Call enter(Place place, Lease lease) {
    Call call = new Call(place, lease, CURRENT.get());
    CURRENT.set(call);
    return call;
  }

  @Override
  public void beforeBegin(TransactionExecution transaction) {
    for (Call call = CURRENT.get(); call != null; call = call.outer) {
      if (call.isOf(this)) {
        call.boundBefore = call.bound();
      }
    }
  }

  // Must not throw, since the transaction would stay open.
  @Override
  public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
    if (failure == null
        && transaction instanceof DefaultTransactionStatus status
        && status.isNewTransaction()
        && status.isNewSynchronization()) {
      for (Call call = CURRENT.get(); call != null; call = call.outer) {
        if (call.isOf(this)) {
          call.guard(status);
        }
      }
    }
  }

  @Override
  public void beforeCommit(TransactionExecution transaction) {
    if (!transaction.isNewTransaction()) {
      return; // A savepoint.
    }
    List<GuardedCommit> guards = guardsOf(transaction);
    for (Call call = CURRENT.get(); call != null; call = call.outer) {
      if (call.isOf(this)) {
        call.requireOneOf(guards);
      }
    }
    guards.forEach(GuardedCommit::verify);
  }

  @Override
  public void beforeRollback(TransactionExecution transaction) {
    guardsOf(transaction).forEach(GuardedCommit::rollingBack);
  }

  private static List<GuardedCommit> guardsOf(TransactionExecution transaction) {
    if (!TransactionSynchronizationManager.isSynchronizationActive()) {
      return List.of();
    }
    return TransactionSynchronizationManager.getSynchronizations().stream()
        .filter(GuardedCommit.class::isInstance)
        .map(GuardedCommit.class::cast)
        .filter(commit -> commit.isOf(transaction))
        .toList();
  }

  /** A guarded call on this thread, and the one that it is nested in. */
  final class Call implements AutoCloseable {
    private final Place place;
    private final Lease lease;
    private final @Nullable Call outer;

    /**
     * The resource that was bound to the thread for the DataSource before the latest transaction
     * began.
     */
    private @Nullable Object boundBefore;

    private boolean hasGuarded;

    private Call(Place place, Lease lease, @Nullable Call outer) {
      this.place = place;
      this.lease = lease;
      this.outer = outer;
    }

    private boolean isOf(GuardedTransactions transactions) {
      return GuardedTransactions.this == transactions;
    }

    private void guard(DefaultTransactionStatus transaction) {
      TransactionSynchronizationManager.registerSynchronization(
          new GuardedCommit(this, transaction, exposed(transaction)));
      hasGuarded |= !transaction.isReadOnly();
    }

    /** The connection that the transaction began on, if its manager has bound it to the thread. */
    private @Nullable ConnectionHolder exposed(DefaultTransactionStatus transaction) {
      // Anything else that is bound may belong to another transaction, or to none.
      return transaction.getTransaction() instanceof JdbcTransactionObjectSupport begun
              && begun.hasConnectionHolder()
              && begun.getConnectionHolder() != boundBefore
          ? begun.getConnectionHolder()
          : null;
    }

    /** Returns the resource that is bound to the thread for the DataSource now. */
    @Nullable
    Object bound() {
      return TransactionSynchronizationManager.getResource(dataSource);
    }

    JdbcTemplate jdbc() {
      return jdbc;
    }

    Place place() {
      return place;
    }

    Lease lease() {
      return lease;
    }

    private void requireOneOf(List<GuardedCommit> guards) {
      if (guards.stream().noneMatch(commit -> commit.isBy(this))) {
        throw new IllegalStateException(place
            + " has guard = true, and a transaction was rolled back, since it began before the call"
            + " or without synchronization, so its commit can't be guarded: begin it in the method,"
            + " and leave the synchronization of the transaction manager switched on");
      }
    }

    /** Whether there was a transaction to guard. */
    boolean hasGuarded() {
      return hasGuarded;
    }

    @Override
    public void close() {
      if (outer == null) {
        CURRENT.remove();
      } else {
        CURRENT.set(outer);
      }
    }
  }
}
