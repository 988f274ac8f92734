package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.BenchException;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.jspecify.annotations.Nullable;

/** ShedLock without its scheduler: it never waits. */
final class ShedLockClient implements Client {
  private static final Duration AT_MOST = Duration.ofSeconds(30);

  private final LockProvider provider;

  ShedLockClient(LockProvider provider) {
    this.provider = provider;
  }

  @Override
  public Mutex mutex(String name) {
    return new Mutex() {
      private @Nullable SimpleLock held;

      @Override
      public void lock() throws BenchException {
        held = provider
            .lock(new LockConfiguration(Instant.now(), name, AT_MOST, Duration.ZERO))
            .orElseThrow(() -> new BenchException("ShedLock finds the lock taken", null));
      }

      @Override
      public void unlock() {
        Objects.requireNonNull(held).unlock();
      }
    };
  }
}
