package io.holdfast.lock.internal.task;

/**
 * A look at whether enough of the stack is left for what comes next. A thread that is nearly out of
 * it fails here, before anything was changed, and not in the middle: a mutex whose locking or
 * unlocking overflows the stack can stay locked, since the error comes after the fact
 * ({@code ReservedStackAccess}, JEP 270).
 */
public final class StackReserve {
  /** With this many frames, several times of what the engine's own calls take. */
  private static final int FRAMES = 8;

  private StackReserve() {}

  /**
   * Looks.
   *
   * @throws StackOverflowError hardly any stack is left
   */
  public static void ensure() {
    long unused = take(FRAMES, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }

  /** The arguments make the frame large. */
  private static long take(
      int frames, long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    return frames == 0 ? a + b + c + d + e : take(frames - 1, b, c, d, e, f, g, h, i, a) + i;
  }
}
