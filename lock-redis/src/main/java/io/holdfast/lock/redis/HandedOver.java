package io.holdfast.lock.redis;

import org.jspecify.annotations.Nullable;

/**
 * A message to a client about one of its waiters.
 *
 * @param ownerId the waiter's owner id
 * @param look the look that the place in line came from when it was called
 * @param number the number of its grant; 0: it was given nothing, and is to look
 */
record HandedOver(String ownerId, long look, long number) {
  private static final int PARTS = 3;

  /** Null: no message of ours. */
  static @Nullable HandedOver of(String message) {
    String[] parts = message.split("\\|", PARTS);
    if (parts.length < PARTS) {
      return null;
    }
    try {
      return new HandedOver(parts[0], Long.parseLong(parts[1]), Long.parseLong(parts[2]));
    } catch (NumberFormatException e) {
      return null;
    }
  }
}
