package io.holdfast.lock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The content of a node of ours: times for programs, and the holder for humans.
 *
 * @param duration for an attempt, its session's timeout; for a mark, the time for which it counts
 * @param since the time at which the attempt was made; null if that is the node's own {@code ctime}
 * @param number the number of the attempt's grant; null if that is the node's own {@code czxid}, or
 *     in the name of a mark
 */
record NodeData(
    Duration duration, @Nullable Instant since, @Nullable Long number, String holder) {
  private static final String VERSION = "holdfast 1";

  /**
   * The beginning of the first line of all versions. Later ones keep the meaning of the next two.
   */
  private static final String ANY_VERSION = "holdfast ";

  /** Makes the content of a node that has the number of its grant itself. */
  NodeData(Duration duration, @Nullable Instant since, String holder) {
    this(duration, since, null, holder);
  }

  byte[] bytes() {
    StringBuilder times = new StringBuilder().append(duration.toMillis());
    if (since != null) {
      times.append(' ').append(since.toEpochMilli());
    }
    if (number != null) {
      times.append(' ').append(number);
    }
    return (VERSION + "\n" + times + "\n" + holder).getBytes(StandardCharsets.UTF_8);
  }

  /** Parses a node's content; a content that is not ours has a duration of zero. */
  static NodeData of(byte @Nullable [] bytes) {
    String text = bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    String[] lines = text.split("\n", 3);
    if (lines.length == 3 && lines[0].startsWith(ANY_VERSION)) {
      String[] times = lines[1].split(" ", 3);
      try {
        return new NodeData(
            Duration.ofMillis(Long.parseLong(times[0])),
            times.length > 1 ? Instant.ofEpochMilli(Long.parseLong(times[1])) : null,
            times.length > 2 ? Long.valueOf(times[2]) : null,
            lines[2]);
      } catch (NumberFormatException e) {
        // Treated as any other text.
      }
    }
    return new NodeData(Duration.ZERO, null, text.substring(0, Math.min(text.length(), 200)));
  }
}
