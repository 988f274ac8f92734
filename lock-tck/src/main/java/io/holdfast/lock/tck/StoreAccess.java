package io.holdfast.lock.tck;

import io.holdfast.lock.LockClientBuilder;

/**
 * A process's access to one store. The test process has one (its {@link Fixture}), and every child
 * process opens one of its own.
 *
 * <p>Threads: must be safe for use by any number of threads.
 */
public interface StoreAccess extends AutoCloseable {

  /**
   * Returns a new builder of a client on the store, with the settings that a user would have.
   * Resources that clients need (a pool, a connection) may be shared by the clients of this access,
   * and are closed with it.
   */
  LockClientBuilder<?> newClient();

  /**
   * Returns guarded writes on the store.
   *
   * @throws UnsupportedOperationException it has none (see {@link Capability#GUARDED_WRITES})
   */
  default GuardedWrites guardedWrites() {
    throw new UnsupportedOperationException(Capability.GUARDED_WRITES.name());
  }

  /** Closes what this access opened. The server keeps running, unless this access started it. */
  @Override
  void close();
}
