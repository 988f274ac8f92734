package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Polls for more waiters than one statement takes. */
class PollerTest {

  /** As if each statement took longer than any waiter's pause. */
  private static final class SlowTime implements TimeSource {
    private final AtomicLong nanos = new AtomicLong();

    @Override
    public long nanos() {
      return nanos.addAndGet(2 * PollPace.POLL_NANOS_MAX);
    }

    @Override
    public long wallMillis() {
      return TimeUnit.NANOSECONDS.toMillis(nanos.get());
    }

    @Override
    public void park(Object blocker, long nanos) {
      LockSupport.parkNanos(blocker, Math.min(nanos, Duration.ofMillis(1).toNanos()));
    }
  }

  @Test
  void thoseForWhomThereWasNoRoomInOnePollComeInTheNext() throws Exception {
    LockKey key = Claims.freshKey();
    try (HikariDataSource pool = Server.H2.pool(4);
        JdbcStore store = Stores.open(pool, new SlowTime())) {
      assertThat(store.tryAcquire(claim(key, Duration.ofMinutes(5)))).isPresent();
      JdbcTicket last = join(store, key);
      for (int i = 0; i < Protocol.BATCH_MAX; i++) {
        last = join(store, key);
      }
      JdbcTicket polled = last;
      Await.until("the last is polled for", () -> {
        synchronized (store.poller) {
          return polled.pace.polls > 0;
        }
      });
    }
  }

  private static JdbcTicket join(JdbcStore store, LockKey key) throws Exception {
    Acquisition acquisition = store.acquireOrQueue(claim(key), () -> {});
    return (JdbcTicket) ((Acquisition.Queued) acquisition).ticket();
  }
}
