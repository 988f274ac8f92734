package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;

/**
 * What is written under an attempt's key, for humans and for those who wait.
 *
 * @param released whether only a minimum hold keeps the name taken
 * @param millis the TTL of the session; of a released one, how long it must stay from its writing
 * @param holder who
 */
record Mark(boolean released, long millis, String holder) {
  private static final String HELD = "attempt";
  private static final String RELEASED = "released";

  static Mark attempt(Claim claim, Session session) {
    return new Mark(false, session.ttlNanos() / 1_000_000, claim.holder());
  }

  static Mark released(Claim claim, long holdNanos) {
    return new Mark(true, (holdNanos + 999_999) / 1_000_000, claim.holder());
  }

  /** A foreign text is somebody's attempt of an unknown length. */
  static Mark parse(String text) {
    String[] words = text.split(" ", 3);
    if (words.length == 3 && (words[0].equals(HELD) || words[0].equals(RELEASED))) {
      try {
        return new Mark(words[0].equals(RELEASED), Long.parseLong(words[1]), words[2]);
      } catch (NumberFormatException e) {
        return new Mark(false, 0, text);
      }
    }
    return new Mark(false, 0, text);
  }

  String text() {
    return (released ? RELEASED : HELD) + " " + millis + " " + holder;
  }
}
