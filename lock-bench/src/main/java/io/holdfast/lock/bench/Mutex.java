package io.holdfast.lock.bench;

/** One thread's handle on one lock: taken and given back in turn, by that thread alone. */
interface Mutex {
  /** Waits until the lock is had; a candidate that cannot wait throws when it is taken. */
  void lock() throws Exception;

  void unlock() throws Exception;
}
