package io.holdfast.lock;

import io.holdfast.lock.internal.memory.MemoryStore;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreSettings;
import java.util.Objects;

/**
 * Lock clients without a server, for unit tests: the same engine as on every store, over a map in
 * this JVM's memory. Excludes nobody outside of this JVM.
 */
public final class InMemoryLocks {
  private InMemoryLocks() {}

  /** For a client with a server of its own. */
  public static Builder builder() {
    return builder(new InMemoryServer());
  }

  /** For a client that shares the server with others. */
  public static Builder builder(InMemoryServer server) {
    return new Builder(Objects.requireNonNull(server));
  }

  /** Builds in-memory clients. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final InMemoryServer server;

    private Builder(InMemoryServer server) {
      this.server = server;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) {
      return new MemoryStore(server.table, settings.time());
    }
  }
}
