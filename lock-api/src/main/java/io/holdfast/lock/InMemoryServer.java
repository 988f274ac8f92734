package io.holdfast.lock;

import io.holdfast.lock.internal.memory.MemoryTable;

/**
 * A lock server in this JVM's memory, which several {@linkplain InMemoryLocks clients} can share as
 * they would share a database. Its state lives as long as this object; names that are no longer in
 * use are forgotten.
 *
 * <p>Threads: safe for use by any number of threads. All its clients must use the same
 * {@linkplain LockClientBuilder#timeSource clock}.
 */
public final class InMemoryServer {
  final MemoryTable table = new MemoryTable();

  /** Makes a server on which no lock is held. */
  public InMemoryServer() {}
}
