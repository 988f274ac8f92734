package io.holdfast.lock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The content of a node of ours: times for programs, and the holder for humans.
 *
 * @param duration for an attempt, its session's timeout; for a mark, the time for which it counts
 * @param since for a mark, the time at which the attempt of its grant was made; null for an
 *     attempt, whose node's {@code ctime} has it
 */
record NodeData(Duration duration, @Nullable Instant since, String holder) {
  private static final String VERSION = "holdfast 1";

  /**
   * The beginning of the first line of all versions. Later ones keep the meaning of the next two.
   */
  private static final String ANY_VERSION = "holdfast ";

  byte[] bytes() {
    String times =
        since == null ? "" + duration.toMillis() : duration.toMillis() + " " + since.toEpochMilli();
    return (VERSION + "\n" + times + "\n" + holder).getBytes(StandardCharsets.UTF_8);
  }

  /** Parses a node's content; a content that is not ours has a duration of zero. */
  static NodeData of(byte @Nullable [] bytes) {
    String text = bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    String[] lines = text.split("\n", 3);
    if (lines.length == 3 && lines[0].startsWith(ANY_VERSION)) {
      String[] times = lines[1].split(" ", 2);
      try {
        Duration duration = Duration.ofMillis(Long.parseLong(times[0]));
        Instant since = times.length == 1 ? null : Instant.ofEpochMilli(Long.parseLong(times[1]));
        return new NodeData(duration, since, lines[2]);
      } catch (NumberFormatException e) {
        // Treated as any other text.
      }
    }
    return new NodeData(Duration.ZERO, null, text.substring(0, Math.min(text.length(), 200)));
  }
}
