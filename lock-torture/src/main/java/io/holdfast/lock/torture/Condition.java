package io.holdfast.lock.torture;

import io.holdfast.lock.torture.WorkerLog.Note;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The threads of a worker that fill its heap, use up its threads, and record its stalls. */
final class Condition {
  private static final long PULSE_NANOS = 20_000_000;

  /** The shortest stall: a busy machine delays a thread for less. */
  private static final long STALL_NANOS_MIN = 50_000_000;

  private static final int BYTES_MAX = 1 << 20;
  private static final int BYTES_MIN = 64;

  /**
   * The attempts before the heap is filled: a class of the JVM whose initialisation fails for want
   * of memory is lost for ever.
   */
  private static final int WARM_ATTEMPTS = 10 * Worker.THREADS;

  /** The pause after a failed allocation, which costs several collections. */
  private static final long REFILL_NANOS = 100_000_000;

  private Condition() {}

  static void start(WorkerLog log) {
    start("pulse", () -> beat(log));
    start("heap-filler", () -> fillAndFree(log));
    start("thread-hoarder", () -> hoardThreads(log));
  }

  private static void start(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Records for how long nothing ran here: the process was frozen, or collected garbage. */
  private static void beat(WorkerLog log) {
    long stalled = 0;
    long before = System.nanoTime();
    while (true) {
      LockSupport.parkNanos(PULSE_NANOS);
      long now = System.nanoTime();
      long late = now - before - PULSE_NANOS;
      if (late > STALL_NANOS_MIN) {
        stalled += late;
        log.note(Note.STALLED_NANOS, stalled);
      }
      before = now;
    }
  }

  /**
   * Takes the stacks of threads that have ended, which new threads would use again. The parent
   * leaves no room for another stack.
   */
  private static void hoardThreads(WorkerLog log) {
    while (true) {
      if (log.noted(Note.HOARD_THREADS) != 0) {
        try {
          start("hoarded", () -> {
            while (log.noted(Note.HOARD_THREADS) != 0) {
              LockSupport.parkNanos(PULSE_NANOS);
            }
          });
          continue;
        } catch (OutOfMemoryError e) {
          // As it should be.
        }
      }
      LockSupport.parkNanos(PULSE_NANOS);
    }
  }

  private static void fillAndFree(WorkerLog log) {
    @Nullable Object blocks = null; // A list: pairs of the pair before and a block.
    int bytes = BYTES_MAX;
    while (true) {
      if (log.noted(Note.FILL_HEAP) == 0 || log.attempts() < WARM_ATTEMPTS) {
        if (blocks != null) {
          blocks = null;
          log.note(Note.HEAP_FREED_AT, System.nanoTime());
          log.note(Note.HEAP_IS_FULL, 0);
        }
        bytes = BYTES_MAX;
        LockSupport.parkNanos(PULSE_NANOS);
        continue;
      }
      log.note(Note.HEAP_IS_FULL, 1);
      try {
        blocks = new Object[] {blocks, new byte[bytes]};
      } catch (OutOfMemoryError e) {
        if (bytes > BYTES_MIN) {
          bytes /= 8;
        } else {
          bytes = BYTES_MAX / 16; // Takes what others free meanwhile.
          LockSupport.parkNanos(REFILL_NANOS);
        }
      }
    }
  }
}
