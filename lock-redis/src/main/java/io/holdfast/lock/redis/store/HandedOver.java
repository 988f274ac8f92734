package io.holdfast.lock.redis.store;

import org.jspecify.annotations.Nullable;

/**
 * A message to a client that the lock may have been handed over to one of its waiters.
 *
 * @param ownerId the waiter's owner id
 * @param poll the number of the waiter's last poll, by which its place in line was kept
 * @param number the number of its grant; 0 if it was given nothing, and should poll
 * @param permit the permit that it was given; 0 for a mutex
 */
record HandedOver(String ownerId, long poll, long number, int permit) {
  private static final int PARTS = 4;

  /** Parses a message; null if it is not one of ours. */
  static @Nullable HandedOver of(String message) {
    String[] parts = message.split("\\|", PARTS);
    if (parts.length < PARTS) {
      return null;
    }
    try {
      return new HandedOver(
          parts[0], Long.parseLong(parts[1]), Long.parseLong(parts[2]), Integer.parseInt(parts[3]));
    } catch (NumberFormatException e) {
      return null;
    }
  }
}
