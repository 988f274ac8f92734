package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;

/** The name, number of permits and options of a lock, bound to a client. */
final class EngineLock extends LockVerbs {
  private final EngineClient client;
  private final LockKey key;
  private final int permits;
  private final LockOptions options;

  /** @param permits the lock's number of permits; 1 for a mutex */
  EngineLock(EngineClient client, LockKey key, int permits, LockOptions options) {
    this.client = client;
    this.key = key;
    this.permits = permits;
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
    return client.lock(key, permits, other);
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
    WaitMode mode = upTo(maxWait);
    Outcome<EngineLease> outcome = acquire(mode);
    if (outcome instanceof Attempt.Taken<EngineLease> taken) {
      throw new LockTimeoutException(key.name(), mode.waited(client.time()), taken.holder());
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
  public boolean isHeldByCurrentThread() {
    return client.isHeldBy(key, Thread.currentThread());
  }

  @Override
  public Optional<LockHolder> inspect() {
    return client.questions().inspect(key);
  }

  @Override
  public List<LockHolder> holders() {
    return client.questions().holders(key);
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
    return new ThreadOwned();
  }

  private final class ThreadOwned extends ThreadOwnedLock {
    @Override
    boolean acquire(WaitMode mode) throws InterruptedException {
      return client.acquire(request(mode), client::threadOwned) instanceof Attempt.Acquired;
    }

    @Override
    boolean release(Thread thread) {
      return client.closeOfThread(key, thread);
    }

    @Override
    TimeSource time() {
      return client.time();
    }

    @Override
    String name() {
      return key.name();
    }
  }

  @Override
  public String toString() {
    String ofPermits = key.kind() == LockKind.PERMIT ? ", " + permits + " permits" : "";
    return "DistributedLock[" + key.name() + ofPermits + ", " + options + "]";
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
    return client.acquire(request(mode), client::lease);
  }

  private Request request(WaitMode mode) {
    return new Request(key, permits, options, mode);
  }
}
