package io.holdfast.lock.spring;

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
    if (!hasNewTransaction && TransactionSynchronizationManager.isActualTransactionActive()) {
      throw new IllegalStateException(place
          + " has guard = true and was called within a transaction that began before it had its"
          + " lock: call it outside of that transaction, or make its propagation REQUIRES_NEW");
    }
  }

  @Override
  public @Nullable Object proceed(Lease lease, MethodInvocation call) throws Throwable {
    try (GuardedTransactions.Call guarded = transactions.enter(lease)) {
      Object result = call.proceed();
      if (!guarded.isComplete()) {
        throw new IllegalStateException(place
            + " has guard = true, and its transaction was not guarded: it was not one of the"
            + " transaction manager that the method's @Transactional stands for");
      }
      return result;
    }
  }
}
