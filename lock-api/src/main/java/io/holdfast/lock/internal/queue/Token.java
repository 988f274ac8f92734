package io.holdfast.lock.internal.queue;

/**
 * Fencing tokens. A token consists of the store's number of the grant and the number of hand-offs
 * within the grant so far.
 */
public final class Token {
  private static final int HAND_OFF_BITS = 10;

  /** The highest hand-off index within one grant. */
  static final int HAND_OFFS_MAX = (1 << HAND_OFF_BITS) - 1;

  private Token() {}

  /**
   * Returns the token of a grant's holder after that many hand-offs.
   *
   * @throws IllegalStateException the store gave a grant number out of range
   */
  public static long of(long grantNumber, int handOffs) {
    if (grantNumber <= 0 || grantNumber >= 1L << (63 - HAND_OFF_BITS)) {
      throw new IllegalStateException("The store gave a grant number out of range: " + grantNumber);
    }
    return grantNumber << HAND_OFF_BITS | handOffs;
  }

  /** Returns the number of the grant that a token belongs to. */
  public static long grantNumber(long token) {
    return token >>> HAND_OFF_BITS;
  }
}
