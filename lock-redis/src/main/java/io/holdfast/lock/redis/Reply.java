package io.holdfast.lock.redis;

import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a script's answer says. */
final class Reply {
  private Reply() {}

  static boolean isOne(@Nullable Object reply) {
    return reply instanceof Long number && number == 1;
  }

  static String text(@Nullable Object reply) {
    return reply instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : "";
  }

  static Duration millis(@Nullable Object reply) {
    return Duration.ofMillis(reply instanceof Long millis ? Math.max(0, millis) : 0);
  }

  /**
   * The time left of a grant; empty: it does not have the lock.
   *
   * @throws StoreException the answer is none
   */
  static Optional<Duration> left(@Nullable Object reply) throws StoreException {
    if (reply == null) {
      return Optional.empty();
    } else if (reply instanceof Long) {
      return Optional.of(millis(reply));
    }
    throw noAnswer(reply);
  }

  static StoreException noAnswer(@Nullable Object reply) {
    return StoreException.unanswered("Redis answered what is no answer: " + reply, null);
  }

  /**
   * A lock's value and how long it stands.
   *
   * @param owner the owner id of the grant
   * @param released whether only a minimum hold keeps it
   * @param mayHaveLine whether somebody may be in line
   */
  record Held(
      String owner,
      boolean released,
      boolean mayHaveLine,
      long number,
      String holder,
      Duration remaining) {
    private static final int PARTS = 4;

    /** Null: free, or no value of ours. */
    static @Nullable Held of(@Nullable Object reply) {
      if (!(reply instanceof List<?> both) || both.size() < 2) {
        return null;
      }
      String[] parts = text(both.get(0)).split("\\|", PARTS);
      if (parts.length < PARTS) {
        return null;
      }
      try {
        return new Held(
            parts[0],
            parts[1].equals("r"),
            !parts[1].equals("h"),
            Long.parseLong(parts[2]),
            parts[3],
            millis(both.get(1)));
      } catch (NumberFormatException e) {
        return null;
      }
    }

    StoredHolder stored() {
      return stored(remaining);
    }

    /** With a time left that is not this one server's. */
    StoredHolder stored(Duration left) {
      return new StoredHolder(number, holder, since(), left, released);
    }

    /** A number is the time of its grant in microseconds, but for a clock that was set back. */
    private Instant since() {
      return Instant.EPOCH.plus(number, ChronoUnit.MICROS);
    }
  }
}
