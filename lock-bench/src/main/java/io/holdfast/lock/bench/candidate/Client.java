package io.holdfast.lock.bench.candidate;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Function;

/**
 * A candidate's client of a server, shared by the threads of one JVM; it ends with the JVM. Each
 * method returns a handle for the calling thread. Work that a name needs only once is done there,
 * and not measured.
 */
@FunctionalInterface
public interface Client {
  Handle mutex(String name) throws Exception;

  /** Returns a handle on a semaphore, with which one permit at a time is taken. */
  default Handle permit(String name, int permits) throws Exception {
    throw none("semaphores");
  }

  default Handle read(String name) throws Exception {
    throw none("read locks");
  }

  default Handle write(String name) throws Exception {
    throw none("write locks");
  }

  private static UnsupportedOperationException none(String what) {
    return new UnsupportedOperationException("this candidate has no " + what);
  }

  /** Returns a client whose mutexes are {@link Lock}s. */
  static Client of(Function<String, Lock> locks) {
    return name -> Handle.of(locks.apply(name));
  }

  /** Returns a client that has semaphores only. */
  static Client ofSemaphores(Semaphores semaphores) {
    return new Client() {
      @Override
      public Handle mutex(String name) {
        throw none("mutexes");
      }

      @Override
      public Handle permit(String name, int permits) throws Exception {
        return semaphores.permit(name, permits);
      }
    };
  }

  /** Returns a client that has read-write locks only, which are {@link ReadWriteLock}s. */
  static Client ofReadWriteLocks(Function<String, ReadWriteLock> locks) {
    return new Client() {
      @Override
      public Handle mutex(String name) {
        return write(name);
      }

      @Override
      public Handle read(String name) {
        return Handle.of(locks.apply(name).readLock());
      }

      @Override
      public Handle write(String name) {
        return Handle.of(locks.apply(name).writeLock());
      }
    };
  }

  /** The semaphores of a client. */
  @FunctionalInterface
  interface Semaphores {
    Handle permit(String name, int permits) throws Exception;
  }

  /** Opens clients of a candidate. */
  @FunctionalInterface
  interface Opener {
    /** Opens a client of the server with this address. */
    Client open(String url) throws Exception;
  }
}
