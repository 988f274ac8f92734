package io.holdfast.lock.internal.task;

/**
 * A look at whether enough of the stack is left for what comes next. A thread that is nearly out of
 * it fails here, before anything was changed, and not in the middle: a lock of
 * {@code java.util.concurrent} whose locking or unlocking overflows the stack can stay locked (JEP
 * 270 makes that rare, not impossible).
 */
public final class StackReserve {
  /** With this many frames, several times of what the engine's own calls take. */
  private static final int FRAMES = 24;

  /** Enough for a call into the JDK that locks and allocates. */
  private static final int LIBRARY_FRAMES = 256;

  private StackReserve() {}

  /**
   * Looks, before a call of the engine's own.
   *
   * @throws StackOverflowError hardly any stack is left
   */
  public static void ensure() {
    long unused = take(FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }

  /**
   * Looks, before a call into a library whose locks would stay locked.
   *
   * @throws StackOverflowError little stack is left
   */
  static void ensureForLibrary() {
    long unused = take(LIBRARY_FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }

  /** The arguments make the frame large. */
  private static long take(
      int frames, long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    return frames == 0 ? a + b + c + d + e : take(frames - 1, b, c, d, e, f, g, h, i, a) + i;
  }
}
