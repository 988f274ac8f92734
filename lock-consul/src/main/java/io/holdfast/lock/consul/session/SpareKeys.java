package io.holdfast.lock.consul.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.holdfast.lock.consul.line.Bid;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
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
   * @param permit the permit that its last attempt asked for; {@link Bid#NONE}: none
   * @param sinceNanos when that was
   */
  public record Spare(String line, String key, long index, int permit, long sinceNanos) {}

  /** The one that was given least lately first. */
  @GuardedBy("this")
  private final Map<String, Spare> spares = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Map<String, Deque<String>> keysOfLines = new HashMap<>();

  /** Takes a key out, for one caller: the one that was given last; null: there is none. */
  public synchronized @Nullable Spare take(String line) {
    Deque<String> keys = keysOfLines.get(line);
    if (keys == null) {
      return null;
    }
    Spare spare = spares.get(keys.getLast());
    if (spare != null) {
      remove(spare);
    }
    return spare;
  }

  public synchronized void give(Spare spare) {
    spares.put(spare.key(), spare);
    keysOfLines.computeIfAbsent(spare.line(), unused -> new ArrayDeque<>()).add(spare.key());
  }

  @GuardedBy("this")
  private void remove(Spare spare) {
    spares.remove(spare.key());
    Deque<String> keys = keysOfLines.get(spare.line());
    if (keys != null && keys.remove(spare.key()) && keys.isEmpty()) {
      keysOfLines.remove(spare.line());
    }
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
    old.forEach(this::remove);
    return old;
  }
}
