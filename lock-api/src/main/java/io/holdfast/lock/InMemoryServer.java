package io.holdfast.lock;

import io.holdfast.lock.internal.memory.MemoryTable;

/**
 * A lock server in this JVM's memory, which several {@linkplain InMemoryLocks clients} can share as
 * they would share a database. Its state lives as long as this object, and names that are not in
 * use take no memory.
 */
public final class InMemoryServer {
  final MemoryTable table = new MemoryTable();

  /** Makes a server on which no lock is held. */
  public InMemoryServer() {}
}
