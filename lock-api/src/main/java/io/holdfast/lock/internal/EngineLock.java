package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.util.Optional;

/** The name and options of a lock, bound to a client's leases. */
final class EngineLock extends ThreadOwnable<Lease> implements DistributedLock {
  private final LockKey key;

  EngineLock(Leases leases, LockKey key, LockOptions options) {
    super(leases, options);
    this.key = key;
  }

  @Override
  public String name() {
    return key.name();
  }

  @Override
  String shownName() {
    return key.name();
  }

  @Override
  public DistributedLock with(LockOptions other) {
    leases.parts.checkOptions(other);
    return new EngineLock(leases, key, other);
  }

  @Override
  Outcome<Lease> acquire(WaitMode mode) throws InterruptedException {
    return leases.acquire(request(mode), leases::lease);
  }

  @Override
  boolean acquireForThread(WaitMode mode) throws InterruptedException {
    return leases.acquire(request(mode), leases::threadOwned) instanceof Attempt.Acquired;
  }

  @Override
  boolean releaseForThread() {
    return leases.closeOfThread(key, Claim.EXCLUSIVE, Thread.currentThread());
  }

  private Request request(WaitMode mode) {
    return new Request(key, Claim.EXCLUSIVE, options, mode);
  }

  @Override
  public boolean isHeldByCurrentThread() {
    return leases.isHeldBy(key, Claim.EXCLUSIVE, Thread.currentThread());
  }

  @Override
  public Optional<LockHolder> inspect() {
    return leases.questions.inspect(key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    return leases.questions.forceRelease(key, expectedToken);
  }

  @Override
  public String toString() {
    return "DistributedLock[" + key.name() + ", " + options + "]";
  }
}
