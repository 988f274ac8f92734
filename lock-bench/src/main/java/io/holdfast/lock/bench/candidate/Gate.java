package io.holdfast.lock.bench.candidate;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock in the JVM for each name, not fair, which a bare program puts in front of its store, so
 * that only one of its threads asks at a time.
 */
final class Gate {
  private final Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();

  ReentrantLock of(String name) {
    return locks.computeIfAbsent(name, any -> new ReentrantLock());
  }
}
