package io.holdfast.lock.spring;

import io.holdfast.lock.Lease;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** The handling of transactions around a locked call. */
interface Surroundings {
  /** Of an application without transactions. */
  Surroundings NONE = new Surroundings() {
    @Override
    public void checkCaller() {}

    @Override
    public @Nullable Object proceed(Lease lease, MethodInvocation call) throws Throwable {
      return call.proceed();
    }
  };

  /** Checks where the call comes from, before anything is locked. */
  void checkCaller();

  /** Runs the method under the lease. */
  @Nullable
  Object proceed(Lease lease, MethodInvocation call) throws Throwable;
}
