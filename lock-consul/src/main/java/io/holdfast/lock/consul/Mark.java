package io.holdfast.lock.consul;

import java.time.DateTimeException;
import java.time.Instant;

/**
 * What is written under an attempt's key, for humans and for those who wait.
 *
 * @param released whether only a minimum hold keeps the name taken
 * @param millis the TTL of the session; of a released one, how long it must stay from its writing
 * @param since when its holder asked for the lock, by the holder's wall clock: Consul tells no time
 *     in its answers
 * @param holder who
 */
record Mark(boolean released, long millis, Instant since, String holder) {
  private static final String HELD = "attempt";
  private static final String RELEASED = "released";

  static Mark attempt(Attempt attempt) {
    return new Mark(
        false,
        attempt.session().ttlNanos() / 1_000_000,
        attempt.asked(),
        attempt.claim().holder());
  }

  static Mark released(Attempt attempt, long holdNanos) {
    return new Mark(
        true,
        (holdNanos + 999_999) / 1_000_000,
        attempt.asked(),
        attempt.claim().holder());
  }

  /** A foreign text is somebody's attempt of an unknown length at an unknown time. */
  static Mark parse(String text) {
    String[] words = text.split(" ", 4);
    if (words.length == 4 && (words[0].equals(HELD) || words[0].equals(RELEASED))) {
      try {
        long millis = Long.parseLong(words[1]);
        Instant since = Instant.parse(words[2]);
        if (millis >= 0) {
          return new Mark(words[0].equals(RELEASED), millis, since, words[3]);
        }
      } catch (NumberFormatException | DateTimeException e) {
        return foreign(text);
      }
    }
    return foreign(text);
  }

  private static Mark foreign(String text) {
    return new Mark(false, 0, Instant.EPOCH, text);
  }

  String text() {
    return (released ? RELEASED : HELD) + " " + millis + " " + since + " " + holder;
  }
}
