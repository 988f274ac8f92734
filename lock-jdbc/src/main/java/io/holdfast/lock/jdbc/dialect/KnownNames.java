package io.holdfast.lock.jdbc.dialect;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Names whose rows this process has met, the latest some thousand. It can be wrong about one that
 * was purged since.
 *
 * <p>Threads: safe for all.
 */
final class KnownNames {
  private static final int MAX = 10_000;

  /** In the order of their last use; guarded by this. */
  private final Map<String, Boolean> names = new LinkedHashMap<>(16, 0.75f, true) {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
      return size() > MAX;
    }
  };

  synchronized void add(String name) {
    names.put(name, true);
  }

  synchronized boolean has(String name) {
    return names.getOrDefault(name, false);
  }
}
