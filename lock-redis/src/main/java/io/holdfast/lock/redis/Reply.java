package io.holdfast.lock.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
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
   * A lock's value and how long it stands.
   *
   * @param attempt who has it
   * @param released whether only a minimum hold keeps it
   */
  record Held(String attempt, boolean released, long number, String holder, Duration remaining) {
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
            Long.parseLong(parts[2]),
            parts[3],
            millis(both.get(1)));
      } catch (NumberFormatException e) {
        return null;
      }
    }
  }
}
