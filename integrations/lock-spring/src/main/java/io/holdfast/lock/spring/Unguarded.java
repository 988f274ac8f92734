package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Warns once if a method is called within a transaction that it takes part in: its lock is released
 * before the transaction commits.
 */
final class Unguarded implements Surroundings {
  private static final Logger log = LoggerFactory.getLogger(Locked.class);

  private final Place place;
  private final boolean isApart;
  private final AtomicBoolean hasWarned = new AtomicBoolean();

  /** @param isApart whether the method takes no part in its caller's transaction */
  Unguarded(Place place, boolean isApart) {
    this.place = place;
    this.isApart = isApart;
  }

  @Override
  public void checkCaller() {
    ReadBefore.refuse(place);
    if (!isApart
        && TransactionSynchronizationManager.isActualTransactionActive()
        && !hasWarned.getAndSet(true)) {
      log.warn(
          "{} was called within a transaction: unless that one has committed already, the lock is"
              + " released before it commits, and the next holder may not see what was done. Call it"
              + " outside of the transaction (said once)",
          place);
    }
  }

  @Override
  public @Nullable Object proceed(AnyLease lease, MethodInvocation call) throws Throwable {
    return call.proceed();
  }
}
