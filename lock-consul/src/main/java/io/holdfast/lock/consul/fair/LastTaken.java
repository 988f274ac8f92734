package io.holdfast.lock.consul.fair;

import io.holdfast.lock.spi.LockKey;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The locks that this client found taken when it last asked without waiting. The next time it reads
 * the line first: that is one read, where an attempt would be two writes. Thread-safe.
 */
public final class LastTaken {
  private static final int KEYS_MAX = 1_000;

  // Guarded by the monitor. The least recently used first.
  private final Map<LockKey, Boolean> keys = new LinkedHashMap<>(16, 0.75f, true) {
    @Override
    protected boolean removeEldestEntry(Map.Entry<LockKey, Boolean> eldest) {
      return size() > KEYS_MAX;
    }
  };

  synchronized boolean contains(LockKey key) {
    return keys.getOrDefault(key, false);
  }

  synchronized void add(LockKey key) {
    keys.put(key, true);
  }

  synchronized void remove(LockKey key) {
    keys.remove(key);
  }
}
