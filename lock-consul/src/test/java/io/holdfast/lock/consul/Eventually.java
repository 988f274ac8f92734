package io.holdfast.lock.consul;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waiting for conditions. */
final class Eventually {
  private static final Duration MAX = Duration.ofSeconds(45);

  private Eventually() {}

  static void eventually(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + MAX.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("Not within " + MAX + ": " + what);
      }
      LockSupport.parkNanos(10_000_000);
    }
  }
}
