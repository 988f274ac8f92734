package io.holdfast.lock.zookeeper;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The permit that an attempt tries first: of each semaphore, the one that this client gave back
 * last, and then those after it in turn. Approximate, since names share slots and other clients are
 * not asked; so clients begin with different ones.
 *
 * <p>Threads: any.
 */
final class PermitGuesses {
  private static final int SLOTS = 1024;

  private final AtomicIntegerArray slots = new AtomicIntegerArray(SLOTS);
  private final int first = ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE / 2);

  /** Returns a permit to try first, of so many. */
  int next(String name, int permits) {
    return Math.floorMod(first + slots.getAndIncrement(slot(name)), permits);
  }

  /** Notes that a permit is free, as far as it is known. */
  void noteFree(String name, int permit) {
    slots.set(slot(name), permit - first);
  }

  private static int slot(String name) {
    return Math.floorMod(name.hashCode(), SLOTS);
  }
}
