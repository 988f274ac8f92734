package io.holdfast.lock.bench.candidate;

import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/** A candidate's client of a server, shared by the threads of one JVM; it ends with the JVM. */
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

  /** Opens clients of a candidate. */
  @FunctionalInterface
  interface Opener {
    /** Opens a client of the server with this address. */
    Client open(String url) throws Exception;
  }
}
