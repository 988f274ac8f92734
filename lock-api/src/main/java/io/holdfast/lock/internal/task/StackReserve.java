package io.holdfast.lock.internal.task;

/**
 * Checks that enough stack is left for what comes next. A thread that has nearly none left fails
 * here, before any change, and not in the middle: a lock of {@code java.util.concurrent} whose
 * locking or unlocking overflows the stack can stay locked (JEP 270 makes that rare, not
 * impossible).
 */
public final class StackReserve {
  /** The number of large frames to try: together several times what the engine's own calls need. */
  private static final int FRAMES = 24;

  /** The number of frames to try before a call into the JDK that locks and allocates. */
  private static final int LIBRARY_FRAMES = 256;

  private StackReserve() {}

  /**
   * Checks before a call within the engine.
   *
   * @throws StackOverflowError hardly any stack is left
   */
  public static void ensure() {
    long unused = take(FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }

  /**
   * Checks before a call into a library whose locks could stay locked.
   *
   * @throws StackOverflowError little stack is left
   */
  static void ensureForLibrary() {
    long unused = take(LIBRARY_FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }

  /** Calls itself that many times; the arguments make each frame large. */
  private static long take(
      int frames, long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    return frames == 0 ? a + b + c + d + e : take(frames - 1, b, c, d, e, f, g, h, i, a) + i;
  }
}
