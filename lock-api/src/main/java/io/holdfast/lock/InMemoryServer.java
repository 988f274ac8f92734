package io.holdfast.lock;

import io.holdfast.lock.internal.memory.MemoryTable;

/**
 * Locks in this JVM's memory: what several {@linkplain InMemoryLocks clients} share, as they would
 * share a database. Gone with the object; holds nothing for names that are not in use.
 */
public final class InMemoryServer {
  final MemoryTable table = new MemoryTable();

  /** A server without locks. */
  public InMemoryServer() {}
}
