package io.holdfast.lock.bench.candidate;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The local locks of a bare program, one for each name, not fair: only one of its threads asks the
 * store at a time.
 */
final class Gate {
  private final Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();

  ReentrantLock of(String name) {
    return locks.computeIfAbsent(name, any -> new ReentrantLock());
  }
}
