package io.holdfast.lock.consul.line;

import org.jspecify.annotations.Nullable;

/**
 * The permit of a semaphore that an attempt asks for with its key, and has if its key was the first
 * that did so.
 *
 * @param permit its number; {@link #NONE} while it only waits, and no permit is the attempt's
 * @param permits how many the semaphore has, as the attempt's client knows it
 * @param joined the index at which an attempt that waits, or waited, came into the line; zero: what
 *     is written is what it came with
 */
public record Bid(int permit, int permits, long joined) {
  /** No permit. */
  public static final int NONE = -1;

  private static final String TEXT_OF_NONE = "-";
  private static final int PARTS = 3;

  /** Whether it asks for a permit. */
  public boolean isForPermit() {
    return permit != NONE;
  }

  /** The same attempt's, for another permit. */
  public Bid on(int otherPermit) {
    return new Bid(otherPermit, permits, joined);
  }

  /** That of an attempt that waits, and has come into the line at that index. */
  public Bid waitingSince(long index) {
    return new Bid(NONE, permits, joined > 0 ? joined : index);
  }

  /** Null: it is none. */
  static @Nullable Bid parse(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != PARTS) {
      return null;
    }
    int permit = parts[0].equals(TEXT_OF_NONE) ? NONE : Integer.parseInt(parts[0]);
    return new Bid(permit, Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
  }

  String text() {
    return (isForPermit() ? permit : TEXT_OF_NONE) + "/" + permits + "/" + joined;
  }
}
