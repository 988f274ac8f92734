package io.holdfast.lock.bench;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a bare program puts before its store, so that only one of its threads asks at a time: a lock
 * for each name, not fair.
 */
final class Gate {
  private final Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();

  ReentrantLock of(String name) {
    return locks.computeIfAbsent(name, any -> new ReentrantLock());
  }
}
