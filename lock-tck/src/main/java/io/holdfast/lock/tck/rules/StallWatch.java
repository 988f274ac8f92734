package io.holdfast.lock.tck.rules;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Notices that the machine ran nothing of this JVM for a while, or confirmed no write to its disk,
 * which the servers wait for: to a test, either looks like a lost lease.
 */
final class StallWatch {
  /** A stall that can make a test fail that should not. */
  static final Duration WORTH_TELLING = Duration.ofMillis(250);

  private static final long STEP_MILLIS = 50;
  private static final int STALLS_KEPT_MAX = 1_000;

  private static final StallWatch SHARED = new StallWatch();

  /** Of the time in which the watch was to look and did not. */
  private record Stall(long nanos, long endedAtNanos) {}

  private final Deque<Stall> stalls = new ArrayDeque<>();
  private long lookedAtNanos = System.nanoTime();

  private StallWatch() {
    Thread thread = new Thread(this::watch, "tck-stall-watch");
    thread.setDaemon(true);
    thread.start();
  }

  /** One for all tests: it costs a write. */
  static StallWatch shared() {
    return SHARED;
  }

  /** The longest stall since then, if it was worth telling. */
  synchronized Duration longestSince(long sinceNanos) {
    long longestNanos = Math.max(0, System.nanoTime() - lookedAtNanos);
    for (Stall stall : stalls) {
      if (stall.endedAtNanos() - sinceNanos > 0) {
        longestNanos = Math.max(longestNanos, stall.nanos());
      }
    }
    return Duration.ofNanos(longestNanos);
  }

  private void watch() {
    try (FileChannel file = open()) {
      while (true) {
        Thread.sleep(STEP_MILLIS);
        if (file != null) {
          file.write(ByteBuffer.wrap(new byte[1]), 0);
          file.force(false);
        }
        looked();
      }
    } catch (InterruptedException | IOException e) {
      // From here on each failure is taken for the machine's, asked again, and told as such.
    }
  }

  private synchronized void looked() {
    long nowNanos = System.nanoTime();
    long stallNanos = nowNanos - lookedAtNanos - STEP_MILLIS * 1_000_000;
    if (stallNanos > WORTH_TELLING.toNanos()) {
      stalls.add(new Stall(stallNanos, nowNanos));
      if (stalls.size() > STALLS_KEPT_MAX) {
        stalls.remove();
      }
    }
    lookedAtNanos = nowNanos;
  }

  /** On the disk of temporary files; null if there is none, and then only the JVM is watched. */
  private static @Nullable FileChannel open() {
    try {
      Path path = Files.createTempFile("tck-stall-watch", null);
      return FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException e) {
      return null;
    }
  }
}
