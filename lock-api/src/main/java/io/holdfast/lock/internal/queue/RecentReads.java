package io.holdfast.lock.internal.queue;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How long the reads of one name took lately, as long as the client has one. Each that is shorter
 * than the longest takes an eighth off it.
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
