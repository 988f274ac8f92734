package io.holdfast.lock.bench.candidate;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** One thread's handle on one lock; locked and unlocked in turn, by that thread alone. */
public interface Handle {
  /**
   * Takes the lock, and waits for it if necessary. A candidate that cannot wait throws if the lock
   * is taken.
   */
  void lock() throws Exception;

  void unlock() throws Exception;

  /** A step of a handle that has no state of its own. */
  @FunctionalInterface
  interface Step {
    void run() throws Exception;
  }

  static Handle of(Step lock, Step unlock) {
    return new Handle() {
      @Override
      public void lock() throws Exception {
        lock.run();
      }

      @Override
      public void unlock() throws Exception {
        unlock.run();
      }
    };
  }

  static Handle of(Lock lock) {
    return of(lock::lock, lock::unlock);
  }

  /** Gives back what {@code lock()} returned. */
  @FunctionalInterface
  interface Return<T> {
    void give(T taken) throws Exception;
  }

  /** Returns a handle that keeps what a lock returns, to give that back. */
  static <T> Handle keeping(Callable<T> lock, Return<T> unlock) {
    return new Handle() {
      private @Nullable T taken;

      @Override
      public void lock() throws Exception {
        taken = lock.call();
      }

      @Override
      public void unlock() throws Exception {
        unlock.give(Objects.requireNonNull(taken));
      }
    };
  }
}
