package io.holdfast.lock.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Callers read the clock before they get the table, and so can come in another order. */
class MemoryTableTest {
  private static final LockKey KEY = new LockKey(LockKind.PERMIT, "permits");

  @Test
  void aPermitThatWasReleasedIsFreeForAWaiterThatReadTheClockBefore() throws Exception {
    MemoryTable table = new MemoryTable();
    MemoryStore store = new MemoryStore(table, TimeSource.system());
    MemoryGrant one = table.acquire(claim("one"), null, 0, 0);
    MemoryGrant two = table.acquire(claim("two"), null, 0, 0);
    AtomicInteger wakeUps = new AtomicInteger();
    MemoryStore.Waiter first = store.new Waiter(claim("first"), () -> {});
    MemoryStore.Waiter second = store.new Waiter(claim("second"), wakeUps::incrementAndGet);
    assertThat(table.acquire(first.claim, first, 0, 0)).isNull();
    assertThat(table.acquire(second.claim, second, 0, 0)).isNull();

    table.release(one, Duration.ZERO, 10);
    table.release(two, Duration.ZERO, 10);

    assertThat(table.poll(first, 5, 0)).isNotNull();
    assertThat(wakeUps).hasValue(1);
    assertThat(table.poll(second, 5, 0)).isNotNull();
  }

  private static Claim claim(String ownerId) {
    return new Claim(
        KEY, new Claim.Permit(2), ownerId, Duration.ofMinutes(1), Duration.ZERO, "a test");
  }
}
