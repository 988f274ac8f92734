package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something that happens on another thread. */
final class Await {
  private Await() {}

  static void until(String what, BooleanSupplier condition) {
    long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time: " + what).isLessThan(deadlineNanos);
      LockSupport.parkNanos(1_000_000);
    }
  }
}
