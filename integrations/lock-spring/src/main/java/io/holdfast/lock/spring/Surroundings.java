package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** The handling of transactions around a locked call. */
interface Surroundings {
  /** The surroundings in an application without transactions: nothing is done around a call. */
  Surroundings NONE = new Surroundings() {
    @Override
    public void checkCaller() {}

    @Override
    public @Nullable Object proceed(AnyLease lease, MethodInvocation call) throws Throwable {
      return call.proceed();
    }
  };

  /**
   * Checks the transaction and the persistence context of the caller, before anything is locked.
   */
  void checkCaller();

  /** Runs the method under the lease. */
  @Nullable
  Object proceed(AnyLease lease, MethodInvocation call) throws Throwable;
}
