package io.holdfast.lock.spi;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The permits that the attempts of one client try first, for stores whose requests must name one:
 * of each semaphore, the one that this client gave back last, and then those after it in turn.
 * Approximate, since names share slots and other clients are not asked; so clients begin with
 * different ones. No I/O.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class PermitGuesses {
  private static final int SLOTS = 1024;

  private final AtomicIntegerArray slots = new AtomicIntegerArray(SLOTS);
  private final int first = ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE / 2);

  /** Makes the guesses of one client. */
  public PermitGuesses() {}

  /** Returns a permit to try first, of so many: 0 to {@code permits - 1}. */
  public int next(String name, int permits) {
    return Math.floorMod(first + slots.getAndIncrement(slot(name)), permits);
  }

  /** Notes that a permit is free, as far as this client knows. */
  public void noteFree(String name, int permit) {
    slots.set(slot(name), permit - first);
  }

  private static int slot(String name) {
    return Math.floorMod(name.hashCode(), SLOTS);
  }
}
