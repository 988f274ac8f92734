package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import java.time.DateTimeException;
import java.time.Instant;

/**
 * The value of a key, for humans and for those who wait.
 *
 * @param released whether its last attempt is over: it keeps the name taken for that long at most
 * @param millis for how long its holder can believe in it after the session's last renewal; of a
 *     released one, how long it must stay from its writing
 * @param over all attempts at this key that joined at this index or before are over for certain;
 *     zero: none is
 * @param since when its holder asked for the lock, by the holder's wall clock: Consul tells no time
 *     in its answers
 * @param holder who
 */
public record Mark(boolean released, long millis, long over, Instant since, String holder) {
  private static final String HELD = "attempt";
  private static final String RELEASED = "released";

  public static Mark of(Entry entry) {
    return parse(entry.value());
  }

  /** One whose attempt is over; the name is to stay taken for that long. */
  public static Mark released(long over, long holdNanos, Instant since, String holder) {
    return new Mark(true, (holdNanos + 999_999) / 1_000_000, over, since, holder);
  }

  /** The same, once the name is to stay taken for so long; zero: it is free again. */
  public Mark withHold(long holdNanos) {
    return released(over, holdNanos, since, holder);
  }

  /** Whether the key keeps nobody waiting: it is there for its client's next attempt. */
  public boolean isIdle() {
    return released && millis == 0;
  }

  /** A foreign text is somebody's attempt of an unknown length at an unknown time. */
  public static Mark parse(String text) {
    String[] words = text.split(" ", 5);
    if (words.length == 5 && (words[0].equals(HELD) || words[0].equals(RELEASED))) {
      try {
        long millis = Long.parseLong(words[1]);
        long over = Long.parseLong(words[2]);
        Instant since = Instant.parse(words[3]);
        if (millis >= 0 && over >= 0) {
          return new Mark(words[0].equals(RELEASED), millis, over, since, words[4]);
        }
      } catch (NumberFormatException | DateTimeException e) {
        return foreign(text);
      }
    }
    return foreign(text);
  }

  private static Mark foreign(String text) {
    return new Mark(false, 0, 0, Instant.EPOCH, text);
  }

  public String text() {
    return (released ? RELEASED : HELD) + " " + millis + " " + over + " " + since + " " + holder;
  }
}
