package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.line.Keys;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one session whose attempts are over. One that keeps nobody waiting is used again by
 * the next attempt at the same lock, and deleted only if there is none for a while. The reason:
 * Consul remembers each deleted key for 15 minutes or more, and walks over all that it remembers of
 * a line at each read of the line. Thread-safe.
 */
public final class IdleKeys {
  /**
   * A key whose last attempt is over.
   *
   * @param index the key's index since the end of that attempt
   * @param sinceNanos the time of that end
   */
  public record IdleKey(String key, long index, long sinceNanos) {}

  // Both guarded by the monitor. In the first, the oldest key comes first.
  private final Map<String, IdleKey> idle = new LinkedHashMap<>();
  private final Map<String, String> keysOfLines = new HashMap<>();

  /** Takes out an idle key of a line; null: there is none. */
  public synchronized @Nullable IdleKey take(String line) {
    String key = keysOfLines.remove(line);
    return key == null ? null : idle.remove(key);
  }

  /** Adds a key that the next attempt may use. */
  public synchronized void give(IdleKey key) {
    addForCleanup(key);
    keysOfLines.put(Keys.lineOf(key.key()), key.key());
  }

  /** Adds a key that no attempt may use again. */
  synchronized void addForCleanup(IdleKey key) {
    idle.put(key.key(), key);
  }

  /**
   * Retires the keys that were added at that time or before, {@code max} at most: from now on no
   * attempt uses them again.
   *
   * @return those keys, again and again until they are removed
   */
  public synchronized List<String> retireOld(long untilNanos, int max) {
    List<String> old = idle.values().stream()
        .takeWhile(one -> one.sinceNanos() - untilNanos <= 0)
        .limit(max)
        .map(IdleKey::key)
        .toList();
    old.forEach(key -> keysOfLines.remove(Keys.lineOf(key), key));
    return old;
  }

  /** Removes retired keys that are dealt with. */
  public synchronized void remove(List<String> retired) {
    retired.forEach(idle::remove);
  }
}
