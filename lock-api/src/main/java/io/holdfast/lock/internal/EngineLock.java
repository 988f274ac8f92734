package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.Lock;

/** A name and options in a client. */
final class EngineLock implements DistributedLock {
  private final EngineClient client;
  private final LockKey key;
  private final LockOptions options;

  EngineLock(EngineClient client, LockKey key, LockOptions options) {
    this.client = client;
    this.key = key;
    this.options = options;
  }

  @Override
  public String name() {
    return key.name();
  }

  @Override
  public LockOptions options() {
    return options;
  }

  @Override
  public DistributedLock with(LockOptions other) {
    return client.lock(key, other);
  }

  @Override
  public Optional<Lease> tryLock() {
    try {
      return lease(acquire(WaitMode.ASK_ONCE));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public Optional<Lease> tryLock(Duration maxWait) throws InterruptedException {
    return lease(acquire(upTo(maxWait)));
  }

  @Override
  public Lease lockWithin(Duration maxWait) throws InterruptedException {
    Outcome<EngineLease> outcome = acquire(upTo(maxWait));
    if (outcome instanceof Attempt.Taken<EngineLease> taken) {
      throw new LockTimeoutException(key.name(), taken.waited(), taken.holder());
    }
    return ((Attempt.Acquired<EngineLease>) outcome).got();
  }

  @Override
  public Lease lock() throws InterruptedException {
    if (acquire(WaitMode.unlimited(client.time()))
        instanceof Attempt.Acquired<EngineLease> acquired) {
      return acquired.got();
    }
    throw new AssertionError("A wait without limit ran out");
  }

  @Override
  public <X extends Exception> void run(LeaseAction<X> action) throws X, InterruptedException {
    Objects.requireNonNull(action);
    try (Lease lease = lock()) {
      action.run(lease);
    }
  }

  @Override
  public <T, X extends Exception> T call(LeaseFunction<T, X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    try (Lease lease = lock()) {
      return action.call(lease);
    }
  }

  @Override
  public <X extends Exception> boolean tryRun(LeaseAction<X> action) throws X {
    Objects.requireNonNull(action);
    return run(tryLock(), action);
  }

  @Override
  public <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    return run(tryLock(maxWait), action);
  }

  @Override
  public <T, X extends Exception> Optional<T> tryCall(LeaseFunction<T, X> action) throws X {
    Objects.requireNonNull(action);
    return call(tryLock(), action);
  }

  @Override
  public <T, X extends Exception> Optional<T> tryCall(Duration maxWait, LeaseFunction<T, X> action)
      throws X, InterruptedException {
    Objects.requireNonNull(action);
    return call(tryLock(maxWait), action);
  }

  @Override
  public boolean isHeldByCurrentThread() {
    return client.isHeldBy(key, Thread.currentThread());
  }

  @Override
  public Optional<LockHolder> inspect() {
    return client.questions().inspect(key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    if (expectedToken <= 0) {
      throw new IllegalArgumentException(
          "A token is positive, this one is " + expectedToken + ": take it from inspect()");
    }
    return client.questions().forceRelease(key, Token.grantNumber(expectedToken));
  }

  @Override
  public Lock asLock() {
    if (options.ownership() != Ownership.THREAD) {
      throw new IllegalStateException(
          "Lock '" + key.name() + "' is owned by its leases; a Lock is owned by threads");
    }
    return new ThreadOwnedLock(client, key, options);
  }

  @Override
  public String toString() {
    return "DistributedLock[" + key.name() + ", " + options + "]";
  }

  private static Optional<Lease> lease(Outcome<EngineLease> outcome) {
    return outcome instanceof Attempt.Acquired<EngineLease> acquired
        ? Optional.of(acquired.got())
        : Optional.empty();
  }

  private WaitMode upTo(Duration maxWait) {
    return WaitMode.upTo(maxWait, client.time());
  }

  private Outcome<EngineLease> acquire(WaitMode mode) throws InterruptedException {
    return client.acquire(key, options, mode);
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
