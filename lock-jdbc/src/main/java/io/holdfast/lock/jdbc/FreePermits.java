package io.holdfast.lock.jdbc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.holdfast.lock.spi.LockKey;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The permits that this client gave back last: others may have taken them since. For some thousand
 * semaphores.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class FreePermits {
  private static final int SEMAPHORES_MAX = 4_096;

  /** In the order of their last use. */
  @GuardedBy("this")
  private final Map<LockKey, BitSet> byKey = new LinkedHashMap<>(16, 0.75f, true) {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<LockKey, BitSet> eldest) {
      return size() > SEMAPHORES_MAX;
    }
  };

  synchronized void add(LockKey key, int permit) {
    byKey.computeIfAbsent(key, absent -> new BitSet()).set(permit);
  }

  /**
   * Removes and returns one that is below the number of permits; the first of all permits if there
   * is none.
   */
  synchronized int take(LockKey key, int permits) {
    BitSet free = byKey.get(key);
    if (free == null) {
      return 0;
    }
    int permit = free.nextSetBit(0);
    if (permit < 0 || permit >= permits) {
      return 0;
    }
    free.clear(permit);
    return permit;
  }
}
