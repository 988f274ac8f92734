package io.holdfast.lock.internal.queue;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The longest read of one name lately, for as long as the client has one. Each that is shorter
 * takes an eighth off it.
 */
final class RecentReads {
  private final AtomicLong longestNanos = new AtomicLong();

  void closed(long readNanos) {
    long unused = longestNanos.accumulateAndGet(
        readNanos, (before, read) -> Math.max(read, before - before / 8));
  }

  long longestNanos() {
    return longestNanos.get();
  }
}
