package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Share;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Function;

/**
 * A candidate's client of a server, shared by the threads of one JVM; it ends with the JVM. All its
 * locks are of one kind.
 */
@FunctionalInterface
public interface Client {
  /**
   * Returns a handle for the calling thread. Work that a name needs only once is done here, and not
   * measured.
   */
  Mutex mutex(String name) throws Exception;

  /** Returns a client whose locks are {@link Lock}s. */
  static Client of(Function<String, Lock> locks) {
    return name -> {
      Lock lock = locks.apply(name);
      return Mutex.of(lock::lock, lock::unlock);
    };
  }

  /** Returns a client that only reads {@link ReadWriteLock}s. */
  static Client reading(Function<String, ReadWriteLock> locks) {
    return name -> {
      Lock read = locks.apply(name).readLock();
      return Mutex.of(read::lock, read::unlock, Share.READ);
    };
  }

  /** Returns a client that reads, nine times of ten, and writes {@link ReadWriteLock}s. */
  static Client mostlyReading(Function<String, ReadWriteLock> locks) {
    return name -> {
      ReadWriteLock lock = locks.apply(name);
      Lock read = lock.readLock();
      Lock write = lock.writeLock();
      return Mutex.mostlyReading(
          Mutex.of(read::lock, read::unlock, Share.READ), Mutex.of(write::lock, write::unlock));
    };
  }

  /** Opens clients of a candidate. */
  @FunctionalInterface
  interface Opener {
    /** Opens a client of the server with this address. */
    Client open(String url) throws Exception;
  }
}
