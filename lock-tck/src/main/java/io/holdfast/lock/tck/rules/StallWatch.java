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
 * Notices when the machine did not run this JVM for a while, or when its disk, for which the
 * servers wait, confirmed no write: to a test, either looks like a lost lease.
 */
final class StallWatch {
  /** The length from which a stall can make a test fail without a fault of the store. */
  static final Duration WORTH_TELLING = Duration.ofMillis(250);

  private static final long STEP_MILLIS = 50;
  private static final int STALLS_KEPT_MAX = 1_000;

  private static final StallWatch SHARED = new StallWatch();

  /** A time in which the watch should have looked and did not. */
  private record Stall(long nanos, long endedAtNanos) {}

  private final Deque<Stall> stalls = new ArrayDeque<>();
  private long lookedAtNanos = System.nanoTime();

  private StallWatch() {
    Thread thread = new Thread(this::watch, "tck-stall-watch");
    thread.setDaemon(true);
    thread.start();
  }

  /** Returns the watch that all tests share, since it costs disk writes. */
  static StallWatch shared() {
    return SHARED;
  }

  /**
   * Returns the longest stall since then, or the time since the last look if that is longer;
   * shorter stalls are not recorded.
   */
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
      // From here on each failure is taken for the machine's fault, and the test is repeated and
      // reported as such.
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

  /**
   * Opens a file on the disk of temporary files; null if that fails, and then only the JVM is
   * watched.
   */
  private static @Nullable FileChannel open() {
    try {
      Path path = Files.createTempFile("tck-stall-watch", null);
      return FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException e) {
      return null;
    }
  }
}
