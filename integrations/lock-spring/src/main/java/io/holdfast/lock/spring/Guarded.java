package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.Lease;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Makes the commits of a call's transactions conditional on its lease. */
final class Guarded implements Surroundings {
  private final Place place;
  private final boolean hasNewTransaction;
  private final GuardedTransactions transactions;

  Guarded(Place place, boolean hasNewTransaction, GuardedTransactions transactions) {
    this.place = place;
    this.hasNewTransaction = hasNewTransaction;
    this.transactions = transactions;
  }

  @Override
  public void checkCaller() {
    ReadBefore.refuse(place);
    if (!hasNewTransaction && TransactionSynchronizationManager.isActualTransactionActive()) {
      throw new IllegalStateException(place
          + " has guard = true and was called within a transaction that began before it had its"
          + " lock: call it outside of that transaction, or make its propagation REQUIRES_NEW");
    }
  }

  @Override
  public @Nullable Object proceed(AnyLease lease, MethodInvocation call) throws Throwable {
    try (GuardedTransactions.Call guarded = transactions.enter(place, (Lease) lease)) {
      Object result = call.proceed();
      if (!guarded.hasGuarded()) {
        throw new IllegalStateException(place
            + " has guard = true, and what it did has been committed without a guard, if it was not"
            + " marked for rollback: its transaction was not one of the transaction manager that the"
            + " method's @Transactional stands for. Name that manager in"
            + " @Transactional(transactionManager = ...)");
      }
      return result;
    }
  }
}
