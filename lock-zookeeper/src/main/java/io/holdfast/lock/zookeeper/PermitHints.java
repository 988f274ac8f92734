package io.holdfast.lock.zookeeper;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Guesses which permit of a semaphore is free: the one that this client released last, or the one
 * after that which it got last. A wrong guess costs a round trip; semaphores that share a slot
 * spoil each other's guesses.
 *
 * <p>Threads: any.
 */
final class PermitHints {
  private static final int SLOTS = 1024;

  private final AtomicIntegerArray slots = new AtomicIntegerArray(SLOTS);

  int guess(String parent, int permits) {
    return slots.get(slot(parent)) % permits;
  }

  void got(String parent, int permit) {
    slots.set(slot(parent), permit + 1);
  }

  void released(String parent, int permit) {
    slots.set(slot(parent), permit);
  }

  private static int slot(String parent) {
    return Math.floorMod(parent.hashCode(), SLOTS);
  }
}
