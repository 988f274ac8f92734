package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * A locked method, with all that is known at the start about how it is locked.
 *
 * <p>Threads: safe for use by any number of threads.
 */
record LockedMethod(
    Place place,
    Locked annotation,
    LockName name,
    LockOfName locks,
    LockOptions options,
    Duration waitFor,
    BusyOutcome busy,
    WhenLost whenLost,
    ResultKind kind,
    Surroundings surroundings) {

  /** The outcome of a call that finds its lock busy. */
  @FunctionalInterface
  interface BusyOutcome {
    @Nullable
    Object of(MethodInvocation call, LockTimeoutException timeout) throws Exception;
  }

  /** Whether a call that finds the lock busy does not wait, and throws. */
  boolean throwsAtOnceIfBusy() {
    return annotation.whenBusy() == WhenBusy.THROW
        && annotation.busyHandler() == BusyHandler.class
        && waitFor.isZero();
  }

  /** Calls the method under its lock. */
  @Nullable
  Object call(MethodInvocation call) throws Throwable {
    surroundings.checkCaller();
    AnyLease lease;
    try {
      lease = locks.get(name.of(call), options).lockWithin(waitFor);
    } catch (LockTimeoutException e) {
      return busy.of(call, e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    return kind == ResultKind.STAGE ? holdUntilDone(lease, call) : hold(lease, call);
  }

  private Exception interrupted(InterruptedException e) {
    boolean declared =
        Arrays.stream(place.method().getExceptionTypes()).anyMatch(type -> type.isInstance(e));
    if (declared) {
      return e;
    }
    Thread.currentThread().interrupt();
    return new LockInterruptedException(
        place + ": interrupted before it had its lock; it did not run", e);
  }

  private @Nullable Object hold(AnyLease lease, MethodInvocation call) throws Throwable {
    if (whenLost == WhenLost.INTERRUPT) {
      return holdInterruptibly(lease, call);
    }
    try (lease) {
      return proceed(lease, call);
    }
  }

  private @Nullable Object holdInterruptibly(AnyLease lease, MethodInvocation call)
      throws Throwable {
    Object result = null;
    Throwable failure = null;
    try {
      LossInterrupt interrupt = LossInterrupt.on(lease);
      try {
        result = proceed(lease, call);
      } finally {
        interrupt.end();
      }
    } catch (Throwable e) {
      failure = e;
    }
    try {
      lease.close();
    } catch (RuntimeException e) {
      if (failure != null && failure != e) {
        e.addSuppressed(failure);
      }
      throw e;
    }
    if (failure != null) {
      throw failure;
    }
    return result;
  }

  private @Nullable Object proceed(AnyLease lease, MethodInvocation call) throws Throwable {
    Object result = surroundings.proceed(lease, call);
    if (result != null && ResultKind.isAtWork(result)) {
      throw new IllegalStateException(place
          + " returned a "
          + result.getClass().getName()
          + ", whose work goes on without the lock: declare CompletionStage as its type");
    }
    return result;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The caller gets it: the method's type is a stage.
  private @Nullable Object holdUntilDone(AnyLease lease, MethodInvocation call) throws Throwable {
    try {
      CompletionStage<?> stage = (CompletionStage<?>) surroundings.proceed(lease, call);
      if (stage != null) {
        return StageLease.holdUntilComplete(lease, stage);
      }
    } catch (Throwable e) {
      close(lease, e);
      throw e;
    }
    lease.close();
    return null;
  }

  private static void close(AnyLease lease, Throwable failure) {
    try {
      lease.close();
    } catch (RuntimeException e) {
      if (e != failure) {
        failure.addSuppressed(e);
      }
    }
  }
}
