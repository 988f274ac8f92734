package io.holdfast.lock.bench;

import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/** A peer whose locks are {@link Lock}s. */
final class JavaLockClient implements Client {
  private final Function<String, Lock> locks;

  JavaLockClient(Function<String, Lock> locks) {
    this.locks = locks;
  }

  @Override
  public Mutex mutex(String name) {
    Lock lock = locks.apply(name);
    return new Mutex() {
      @Override
      public void lock() {
        lock.lock();
      }

      @Override
      public void unlock() {
        lock.unlock();
      }
    };
  }
}
