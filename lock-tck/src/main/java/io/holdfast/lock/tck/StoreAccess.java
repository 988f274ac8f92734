package io.holdfast.lock.tck;

import io.holdfast.lock.LockClientBuilder;

/**
 * A way to one store, from this process. The test process has one (its {@link Fixture}), and every
 * child process opens one of its own.
 *
 * <p>Threads: safe for all.
 */
public interface StoreAccess extends AutoCloseable {

  /**
   * A fresh builder of a client on the store, with the settings that a user would have. What the
   * client needs (a pool, a connection) may be shared by the clients of this access, and ends with
   * it.
   */
  LockClientBuilder<?> newClient();

  /**
   * Guarded writes on the store.
   *
   * @throws UnsupportedOperationException it has none ({@link Capability#GUARDED_WRITES})
   */
  default GuardedWrites guardedWrites() {
    throw new UnsupportedOperationException(Capability.GUARDED_WRITES.name());
  }

  /** Frees what this access opened; the server goes on unless this access started it. */
  @Override
  void close();
}
