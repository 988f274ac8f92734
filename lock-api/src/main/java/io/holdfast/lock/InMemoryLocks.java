package io.holdfast.lock;

import io.holdfast.lock.internal.memory.MemoryStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreSettings;
import java.util.Objects;

/**
 * Lock clients without a server, for unit tests: the engine that all stores share, on a map in this
 * JVM's memory. Gives no exclusion between JVMs.
 */
public final class InMemoryLocks {
  private InMemoryLocks() {}

  /** Returns a builder of a client with an in-memory server of its own. */
  public static Builder builder() {
    return builder(new InMemoryServer());
  }

  /** Returns a builder of a client that shares the in-memory server with other clients. */
  public static Builder builder(InMemoryServer server) {
    return new Builder(Objects.requireNonNull(server));
  }

  /** Builds in-memory clients. */
  public static final class Builder extends SemaphoreClientBuilder<Builder> {
    private final InMemoryServer server;

    private Builder(InMemoryServer server) {
      this.server = server;
    }

    @Override
    protected PermitStore openStore(StoreSettings settings) {
      return new MemoryStore(server.table, settings.time());
    }
  }
}
