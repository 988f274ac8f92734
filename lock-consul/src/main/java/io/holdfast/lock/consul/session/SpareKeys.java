package io.holdfast.lock.consul.session;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Keys of one session whose attempts are over, for the next attempts at the same locks. Consul
 * remembers each deleted key for a quarter of an hour or more, and walks over all that it remembers
 * of a line whenever somebody reads that line; so a key stays for a while, and is deleted when
 * nobody came back for it. Thread-safe.
 */
public final class SpareKeys {
  /**
   * A key whose last attempt is over.
   *
   * @param line the folder that it is in
   * @param index the key's index since then
   * @param sinceNanos when that was
   */
  public record Spare(String line, String key, long index, long sinceNanos) {}

  // Both under the monitor. The one that was given least lately first.
  private final Map<String, Spare> spares = new LinkedHashMap<>();
  private final Map<String, String> keysOfLines = new HashMap<>();

  /** Takes a key out, for one caller; null: there is none. */
  public synchronized @Nullable Spare take(String line) {
    String key = keysOfLines.remove(line);
    return key == null ? null : spares.remove(key);
  }

  public synchronized void give(Spare spare) {
    spares.put(spare.key(), spare);
    keysOfLines.put(spare.line(), spare.key());
  }

  /** Whether some were given at that moment or before. */
  synchronized boolean isOld(long untilNanos) {
    return !spares.isEmpty() && spares.values().iterator().next().sinceNanos() - untilNanos <= 0;
  }

  /** Takes out some of those that were given at that moment or before. */
  public synchronized List<Spare> takeOld(long untilNanos, int max) {
    List<Spare> old = new ArrayList<>();
    for (Spare spare : spares.values()) {
      if (spare.sinceNanos() - untilNanos > 0 || old.size() == max) {
        break;
      }
      old.add(spare);
    }
    for (Spare spare : old) {
      spares.remove(spare.key());
      keysOfLines.remove(spare.line(), spare.key());
    }
    return old;
  }
}
