package io.holdfast.lock.bench;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Holdfast, on whatever store. */
final class HoldfastClient implements Client {
  private final LockClient locks;

  HoldfastClient(LockClient locks) {
    this.locks = locks;
  }

  @Override
  public Mutex mutex(String name) {
    DistributedLock lock = locks.get(name);
    return new Mutex() {
      private @Nullable Lease lease;

      @Override
      public void lock() throws InterruptedException {
        lease = lock.lock();
      }

      @Override
      public void unlock() {
        Objects.requireNonNull(lease).close();
      }
    };
  }
}
