package io.holdfast.lock.jdbc.dialect;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Names whose rows this process has used, limited to the latest few thousand. Can be wrong about a
 * name that was purged since.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class KnownNames {
  private static final int MAX = 10_000;

  /** The names, in the order of their last use; guarded by this object's monitor. */
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
