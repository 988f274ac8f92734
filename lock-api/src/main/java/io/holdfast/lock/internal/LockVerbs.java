package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.Attempt.Outcome;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.Lock;

/**
 * The part of a {@link DistributedLock} that acquires it, the same for one name and for several.
 */
abstract class LockVerbs implements DistributedLock {
  final EngineClient client;
  final LockOptions options;

  LockVerbs(EngineClient client, LockOptions options) {
    this.client = client;
    this.options = options;
  }

  /** Acquires a lease. */
  abstract Outcome<Lease> acquire(WaitMode mode) throws InterruptedException;

  /** Acquires the lock for the calling thread, without a lease; false if it is taken. */
  abstract boolean acquireForThread(WaitMode mode) throws InterruptedException;

  /** Releases what the calling thread last acquired without a lease; false if there is nothing. */
  abstract boolean releaseForThread();

  @Override
  public final LockOptions options() {
    return options;
  }

  @Override
  public final Optional<Lease> tryLock() {
    try {
      return lease(acquire(WaitMode.ASK_ONCE));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public final Optional<Lease> tryLock(Duration maxWait) throws InterruptedException {
    return lease(acquire(WaitMode.upTo(maxWait, client.parts.time())));
  }

  private static Optional<Lease> lease(Outcome<Lease> outcome) {
    return outcome instanceof Attempt.Acquired<Lease> acquired
        ? Optional.of(acquired.got())
        : Optional.empty();
  }

  @Override
  public final Lease lockWithin(Duration maxWait) throws InterruptedException {
    WaitMode mode = WaitMode.upTo(maxWait, client.parts.time());
    Outcome<Lease> outcome = acquire(mode);
    if (outcome instanceof Attempt.Taken<Lease> taken) {
      throw new LockTimeoutException(
          taken.lockName(), mode.waited(client.parts.time()), taken.holder());
    }
    return ((Attempt.Acquired<Lease>) outcome).got();
  }

  @Override
  public final Lease lock() throws InterruptedException {
    return lease(acquire(WaitMode.unlimited(client.parts.time())))
        .orElseThrow(() -> new AssertionError("A wait without limit ran out"));
  }

  @Override
  public final Lock asLock() {
    if (options.ownership() != Ownership.THREAD) {
      throw new IllegalStateException(
          "Lock '" + name() + "' is owned by its leases; a Lock is owned by threads");
    }
    return new ThreadOwnedLock(this);
  }

  @Override
  public final <X extends Exception> void run(LeaseAction<X> action)
      throws X, InterruptedException {
    boolean unused = call(returningTrue(action));
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
    return tryCall(returningTrue(action)).isPresent();
  }

  @Override
  public final <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<X> action)
      throws X, InterruptedException {
    return tryCall(maxWait, returningTrue(action)).isPresent();
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

  private static <X extends Exception> LeaseFunction<Boolean, X> returningTrue(
      LeaseAction<X> action) {
    Objects.requireNonNull(action);
    return lease -> {
      action.run(lease);
      return true;
    };
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
      throw new NullPointerException(("The work under lock '%s' is done and was exclusive, and its"
              + " result is null, which an Optional can't hold: use tryRun, or return an Optional")
          .formatted(name()));
    }
    return Optional.of(result);
  }
}
