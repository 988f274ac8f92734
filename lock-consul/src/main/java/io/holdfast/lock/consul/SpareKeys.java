package io.holdfast.lock.consul;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Keys that nobody has, for the next attempts at the same locks. Consul remembers each deleted key
 * for a quarter of an hour or more, and walks over all that it remembers of a line whenever
 * somebody reads that line. So a client comes back with the same key as long as no request about it
 * can be on its way; after any doubt the next attempt gets a new one. Thread-safe.
 */
final class SpareKeys {
  private static final int LINES_MAX = 1024;

  private final ReentrantLock mutex = new ReentrantLock();

  // Under the mutex; the one that was used least lately first.
  private final Map<String, String> keys = new LinkedHashMap<>();

  /** Gives the key away, to one caller. */
  @Nullable
  String take(String line) {
    mutex.lock();
    try {
      return keys.remove(line);
    } finally {
      mutex.unlock();
    }
  }

  void give(String line, String key) {
    mutex.lock();
    try {
      keys.put(line, key);
      if (keys.size() > LINES_MAX) {
        keys.remove(keys.keySet().iterator().next());
      }
    } finally {
      mutex.unlock();
    }
  }
}
