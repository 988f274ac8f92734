package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Threads that have no memory for a moment go on afterwards. */
@Tag("nightly")
class FullHeapTest {

  /** Its poller is told that the heap is full, at each of the first looks at the clock. */
  private static final class FailingTime implements TimeSource {
    private final AtomicInteger failures = new AtomicInteger();

    @Override
    public long nanos() {
      if (Thread.currentThread().getName().endsWith("-poller") && failures.get() < 3) {
        failures.incrementAndGet();
        throw new OutOfMemoryError("a test");
      }
      return System.nanoTime();
    }

    @Override
    public long wallMillis() {
      return System.currentTimeMillis();
    }

    @Override
    public void park(Object blocker, long nanos) {
      LockSupport.parkNanos(blocker, nanos);
    }
  }

  @Test
  void aPollerThatHadNoMemoryLooksAgain() throws Exception {
    FailingTime time = new FailingTime();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (HikariDataSource pool = Server.H2.pool(8);
        LockClient holder = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        LockClient waiter =
            JdbcLocks.builder(pool).schema(SchemaMode.CREATE).timeSource(time).build()) {
      String name = Claims.freshKey().name();
      Future<Boolean> granted;
      try (Lease lease = holder.get(name).lock()) {
        granted = executor.submit(() -> {
          try (Lease waited = waiter.get(name).lock()) {
            return waited.isHeld();
          }
        });
        Await.until("the poller had no memory", () -> time.failures.get() == 3);
        Await.pause(Duration.ofMillis(100));
        assertThat(lease.isHeld()).isTrue();
      }
      assertThat(granted.get(10, TimeUnit.SECONDS)).isTrue();
    } finally {
      executor.shutdownNow();
    }
  }
}
