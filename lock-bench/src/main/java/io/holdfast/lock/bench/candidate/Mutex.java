package io.holdfast.lock.bench.candidate;

/** One thread's handle on one lock; locked and unlocked in turn, by that thread alone. */
public interface Mutex {
  /**
   * Takes the lock, and waits for it if necessary. A candidate that cannot wait throws if the lock
   * is taken.
   */
  void lock() throws Exception;

  void unlock() throws Exception;

  /** An action of a mutex without state. */
  @FunctionalInterface
  interface Step {
    void run() throws Exception;
  }

  static Mutex of(Step lock, Step unlock) {
    return new Mutex() {
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
}
