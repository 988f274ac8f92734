package io.holdfast.lock.simulation;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what other threads are about to do. */
public final class Eventually {
  private static final long DEADLINE_SECONDS = 20;

  private Eventually() {}

  /** Returns once it is so; fails if that takes too long. */
  public static void await(String what, BooleanSupplier condition) {
    await(() -> what, condition);
  }

  static void await(Supplier<String> what, BooleanSupplier condition) {
    long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
    for (int look = 0; !condition.getAsBoolean(); look++) {
      if (System.nanoTime() - untilNanos > 0) {
        throw new AssertionError("Waited in vain for " + what.get());
      }
      LockSupport.parkNanos(look < 20 ? 20_000 : 1_000_000);
    }
  }
}
