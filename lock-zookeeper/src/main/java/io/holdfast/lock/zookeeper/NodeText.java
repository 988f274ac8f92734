package io.holdfast.lock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a node of ours holds: for programs a duration, for humans the holder.
 *
 * @param duration of an attempt: its session's timeout; of a mark: how long it counts
 */
record NodeText(Duration duration, String holder) {
  private static final String VERSION = "holdfast 1";

  byte[] bytes() {
    return (VERSION + "\n" + duration.toMillis() + "\n" + holder).getBytes(StandardCharsets.UTF_8);
  }

  /** Reads a node; what nobody of ours wrote counts for no time. */
  static NodeText of(byte @Nullable [] bytes) {
    String text = bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    String[] lines = text.split("\n", 3);
    if (lines.length == 3 && lines[0].equals(VERSION)) {
      try {
        return new NodeText(Duration.ofMillis(Long.parseLong(lines[1])), lines[2]);
      } catch (NumberFormatException e) {
        // As any other text.
      }
    }
    return new NodeText(Duration.ZERO, text.substring(0, Math.min(text.length(), 200)));
  }
}
