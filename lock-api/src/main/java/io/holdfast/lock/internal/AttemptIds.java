package io.holdfast.lock.internal;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Ids that nobody can guess, and no two of which are equal: 128 random bits in hexadecimal.
 *
 * <p>Threads: safe for all.
 */
final class AttemptIds {
  private static final int ID_BYTES = 16;

  /** For so many ids at once: most of what random bytes cost is the asking for them. */
  private static final int IDS_AHEAD = 64;

  private static final HexFormat HEX = HexFormat.of();

  private final SecureRandom random = new SecureRandom();
  private final ReentrantLock mutex = new ReentrantLock();

  /** Guarded by the mutex. */
  private final byte[] ahead = new byte[IDS_AHEAD * ID_BYTES];

  /** Guarded by the mutex. */
  private int used = ahead.length;

  String next() {
    mutex.lock();
    try {
      if (used == ahead.length) {
        random.nextBytes(ahead);
        used = 0;
      }
      used += ID_BYTES;
      return HEX.formatHex(ahead, used - ID_BYTES, used);
    } finally {
      mutex.unlock();
    }
  }
}
