package io.holdfast.lock.consul.line;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;

/**
 * Raft indexes that this client wrote at, and when: what was last changed at such an index, or an
 * earlier one, has been as it is since. Consul tells no times. Those of the last minutes are close
 * together, older ones further and further apart. Thread-safe.
 */
final class SeenIndexes {
  private static final long SPACING_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Even, so that of one more every second is one between two others. */
  private static final int KEPT_MAX = 64;

  private record Seen(long index, long nanos) {}

  /** The latest first. Guarded by the monitor. */
  private final Deque<Seen> all = new ArrayDeque<>();

  /**
   * Notes the index of a write of this client.
   *
   * @param sentNanos when the request was sent
   * @param nowNanos when the answer came
   */
  synchronized void note(long index, long sentNanos, long nowNanos) {
    // An index that is lower than one of an earlier write: an older snapshot was restored.
    if (all.stream().anyMatch(one -> one.nanos() - sentNanos <= 0 && one.index() >= index)) {
      all.clear();
    }
    if (all.isEmpty() || nowNanos - all.getFirst().nanos() >= SPACING_NANOS) {
      all.addFirst(new Seen(index, nowNanos));
    }
    if (all.size() > KEPT_MAX) {
      dropEverySecond();
    }
  }

  /** Drops every second one, but neither the latest nor the oldest. */
  private void dropEverySecond() {
    boolean drop = false;
    for (Iterator<Seen> seen = all.iterator(); seen.hasNext(); drop = !drop) {
      seen.next();
      if (drop) {
        seen.remove();
      }
    }
  }

  /** Whether that index certainly existed this long before now. */
  synchronized boolean isOlder(long index, long nanos, long nowNanos) {
    Iterator<Seen> seen = all.iterator();
    while (seen.hasNext()) {
      Seen one = seen.next();
      if (nowNanos - one.nanos() >= nanos) {
        return one.index() >= index;
      }
    }
    return false;
  }
}
