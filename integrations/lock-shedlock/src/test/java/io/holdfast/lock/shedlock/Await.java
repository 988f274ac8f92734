package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something that happens elsewhere. */
final class Await {
  private Await() {}

  static void within(Duration most, String what, BooleanSupplier condition) {
    long deadlineNanos = System.nanoTime() + most.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time: " + what).isLessThan(deadlineNanos);
      LockSupport.parkNanos(5_000_000);
    }
  }
}
