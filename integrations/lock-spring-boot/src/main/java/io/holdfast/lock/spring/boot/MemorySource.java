package io.holdfast.lock.spring.boot;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockClientBuilder;

/** The memory of this JVM. */
record MemorySource() implements StoreSource {
  @Override
  public StoreKind kind() {
    return StoreKind.MEMORY;
  }

  @Override
  public LockClientBuilder<?> builder() {
    return InMemoryLocks.builder();
  }

  @Override
  public String place() {
    return "memory (for tests: other processes are not excluded)";
  }

  @Override
  public String whenUnreachable() {
    return whenUnusable();
  }

  @Override
  public String whenUnusable() {
    return "choose another store with " + StoreChoice.PROPERTY;
  }
}
