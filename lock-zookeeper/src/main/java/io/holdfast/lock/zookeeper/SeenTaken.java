package io.holdfast.lock.zookeeper;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The names that attempts of one mode last saw taken; approximate, since of names that share a slot
 * only the last one counts. An attempt for such a name reads before it writes.
 *
 * <p>Threads: any.
 */
final class SeenTaken {
  private static final int SLOTS = 1024;

  private final AtomicIntegerArray slots = new AtomicIntegerArray(SLOTS);

  boolean contains(String name) {
    return slots.get(slot(name)) != 0;
  }

  void note(String name, boolean taken) {
    int slot = slot(name);
    int value = taken ? 1 : 0;
    if (slots.get(slot) != value) {
      slots.set(slot, value);
    }
  }

  private static int slot(String name) {
    return Math.floorMod(name.hashCode(), SLOTS);
  }
}
