package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Share;
import java.util.concurrent.ThreadLocalRandom;

/** One thread's handle on one lock; locked and unlocked in turn, by that thread alone. */
public interface Mutex {
  /**
   * Takes the lock, and waits for it if necessary. A candidate that cannot wait throws if the lock
   * is taken.
   */
  void lock() throws Exception;

  void unlock() throws Exception;

  /** Returns the part of the lock that this thread has while it is inside. */
  default Share share() {
    return Share.ALL;
  }

  /** An action of a mutex without state. */
  @FunctionalInterface
  interface Step {
    void run() throws Exception;
  }

  static Mutex of(Step lock, Step unlock) {
    return of(lock, unlock, Share.ALL);
  }

  static Mutex of(Step lock, Step unlock, Share share) {
    return new Mutex() {
      @Override
      public void lock() throws Exception {
        lock.run();
      }

      @Override
      public void unlock() throws Exception {
        unlock.run();
      }

      @Override
      public Share share() {
        return share;
      }
    };
  }

  /** Returns a handle that reads nine times of ten, at random, and writes otherwise. */
  static Mutex mostlyReading(Mutex read, Mutex write) {
    return new Mutex() {
      private Mutex last = write;

      @Override
      public void lock() throws Exception {
        last = ThreadLocalRandom.current().nextInt(10) == 0 ? write : read;
        last.lock();
      }

      @Override
      public void unlock() throws Exception {
        last.unlock();
      }

      @Override
      public Share share() {
        return last.share();
      }
    };
  }
}
