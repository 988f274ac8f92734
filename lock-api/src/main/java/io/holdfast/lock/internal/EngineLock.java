package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.List;
import java.util.Optional;

/** The name, number of permits and options of a lock, bound to a client. */
final class EngineLock extends LockVerbs {
  private final LockKey key;
  private final int permits;

  /** @param permits the lock's number of permits; 1 for a mutex */
  EngineLock(EngineClient client, LockKey key, int permits, LockOptions options) {
    super(client, options);
    this.key = key;
    this.permits = permits;
  }

  @Override
  public String name() {
    return key.name();
  }

  @Override
  public DistributedLock with(LockOptions other) {
    return client.lock(key, permits, other);
  }

  @Override
  Outcome<Lease> acquire(WaitMode mode) throws InterruptedException {
    return client.acquire(request(mode), client::lease);
  }

  @Override
  boolean acquireForThread(WaitMode mode) throws InterruptedException {
    return client.acquire(request(mode), client::threadOwned) instanceof Attempt.Acquired;
  }

  @Override
  boolean releaseForThread() {
    return client.closeOfThread(key, Thread.currentThread());
  }

  private Request request(WaitMode mode) {
    return new Request(key, permits, options, mode);
  }

  @Override
  public boolean isHeldByCurrentThread() {
    return client.isHeldBy(key, Thread.currentThread());
  }

  @Override
  public Optional<LockHolder> inspect() {
    return client.questions.inspect(key);
  }

  @Override
  public List<LockHolder> holders() {
    return client.questions.holders(key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    if (expectedToken <= 0) {
      throw new IllegalArgumentException(
          "A token is positive, this one is " + expectedToken + ": take it from inspect()");
    }
    return client.questions.forceRelease(key, Token.grantNumber(expectedToken));
  }

  @Override
  public String toString() {
    String ofPermits = key.kind() == LockKind.PERMIT ? ", " + permits + " permits" : "";
    return "DistributedLock[" + key.name() + ofPermits + ", " + options + "]";
  }
}
