package io.holdfast.lock.internal;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.internal.Attempt.Outcome;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** The ways to acquire, the same for all that can be acquired. */
abstract class LockVerbs<L extends AnyLease> implements Acquirable<L> {
  final Leases leases;
  final LockOptions options;

  LockVerbs(Leases leases, LockOptions options) {
    this.leases = leases;
    this.options = options;
  }

  /** Acquires a lease. */
  abstract Outcome<L> acquire(WaitMode mode) throws InterruptedException;

  /** Returns the name, or all names, for humans. */
  abstract String shownName();

  @Override
  public final LockOptions options() {
    return options;
  }

  @Override
  public final Optional<L> tryLock() {
    try {
      return lease(acquire(WaitMode.ASK_ONCE));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public final Optional<L> tryLock(Duration maxWait) throws InterruptedException {
    return lease(acquire(WaitMode.upTo(maxWait, leases.parts.time())));
  }

  private static <L> Optional<L> lease(Outcome<L> outcome) {
    return outcome instanceof Attempt.Acquired<L> acquired
        ? Optional.of(acquired.got())
        : Optional.empty();
  }

  @Override
  public final L lockWithin(Duration maxWait) throws InterruptedException {
    WaitMode mode = WaitMode.upTo(maxWait, leases.parts.time());
    Outcome<L> outcome = acquire(mode);
    if (outcome instanceof Attempt.Taken<L> taken) {
      throw new LockTimeoutException(
          taken.lockName(), mode.waited(leases.parts.time()), taken.holder());
    }
    return ((Attempt.Acquired<L>) outcome).got();
  }

  @Override
  public final L lock() throws InterruptedException {
    return lease(acquire(WaitMode.unlimited(leases.parts.time())))
        .orElseThrow(() -> new AssertionError("A wait without limit ran out"));
  }

  @Override
  public final <X extends Exception> void run(LeaseAction<? super L, X> action)
      throws X, InterruptedException {
    boolean unused = call(returningTrue(action));
  }

  @Override
  public final <T, X extends Exception> T call(LeaseFunction<? super L, T, X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    try (L lease = lock()) {
      return action.call(lease);
    }
  }

  @Override
  public final <X extends Exception> boolean tryRun(LeaseAction<? super L, X> action) throws X {
    return tryCall(returningTrue(action)).isPresent();
  }

  @Override
  public final <X extends Exception> boolean tryRun(
      Duration maxWait, LeaseAction<? super L, X> action) throws X, InterruptedException {
    return tryCall(maxWait, returningTrue(action)).isPresent();
  }

  @Override
  public final <T, X extends Exception> Optional<T> tryCall(LeaseFunction<? super L, T, X> action)
      throws X {
    Objects.requireNonNull(action);
    return call(tryLock(), action);
  }

  @Override
  public final <T, X extends Exception> Optional<T> tryCall(
      Duration maxWait, LeaseFunction<? super L, T, X> action) throws X, InterruptedException {
    Objects.requireNonNull(action);
    return call(tryLock(maxWait), action);
  }

  private static <L extends AnyLease, X extends Exception>
      LeaseFunction<L, Boolean, X> returningTrue(LeaseAction<? super L, X> action) {
    Objects.requireNonNull(action);
    return lease -> {
      action.run(lease);
      return true;
    };
  }

  private <T, X extends Exception> Optional<T> call(
      Optional<L> acquired, LeaseFunction<? super L, T, X> action) throws X {
    if (acquired.isEmpty()) {
      return Optional.empty();
    }
    T result;
    try (L lease = acquired.get()) {
      result = action.call(lease);
    }
    if (result == null) {
      throw new NullPointerException(("The work under lock '%s' is done and was exclusive, and its"
              + " result is null, which an Optional can't hold: use tryRun, or return an Optional")
          .formatted(shownName()));
    }
    return Optional.of(result);
  }
}
