package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** The methods of a lock that acquire it, run something, and release it. */
abstract class LockVerbs implements DistributedLock {

  @Override
  public final <X extends Exception> void run(LeaseAction<X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    try (Lease lease = lock()) {
      action.run(lease);
    }
  }

  @Override
  public final <T, X extends Exception> T call(LeaseFunction<T, X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    try (Lease lease = lock()) {
      return action.call(lease);
    }
  }

  @Override
  public final <X extends Exception> boolean tryRun(LeaseAction<X> action) throws X {
    Objects.requireNonNull(action);
    return run(tryLock(), action);
  }

  @Override
  public final <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    return run(tryLock(maxWait), action);
  }

  @Override
  public final <T, X extends Exception> Optional<T> tryCall(LeaseFunction<T, X> action) throws X {
    Objects.requireNonNull(action);
    return call(tryLock(), action);
  }

  @Override
  public final <T, X extends Exception> Optional<T> tryCall(
      Duration maxWait, LeaseFunction<T, X> action) throws X, InterruptedException {
    Objects.requireNonNull(action);
    return call(tryLock(maxWait), action);
  }

  private static <X extends Exception> boolean run(Optional<Lease> acquired, LeaseAction<X> action)
      throws X {
    if (acquired.isEmpty()) {
      return false;
    }
    try (Lease lease = acquired.get()) {
      action.run(lease);
      return true;
    }
  }

  private <T, X extends Exception> Optional<T> call(
      Optional<Lease> acquired, LeaseFunction<T, X> action) throws X {
    if (acquired.isEmpty()) {
      return Optional.empty();
    }
    T result;
    try (Lease lease = acquired.get()) {
      result = action.call(lease);
    }
    if (result == null) {
      throw new NullPointerException("The work under lock '"
          + name()
          + "' is done and was exclusive, and its result is null, which an Optional can't hold: use"
          + " tryRun, or return an Optional");
    }
    return Optional.of(result);
  }
}
