package io.holdfast.lock.simulation;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Clocks that stand still until a test moves them. A parked thread goes on when it is unparked or
 * interrupted, or when its time has come.
 *
 * <p>The monotonic clock starts shortly before it overflows, as it may on a real machine.
 */
public final class SimulatedTime implements TimeSource {
  private final List<Sleeper> sleepers = new ArrayList<>();
  private long nanos = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(25);
  private final Map<Thread, Integer> parks = new WeakHashMap<>();
  private long wallNanos = TimeUnit.DAYS.toNanos(20_000);

  private static final class Sleeper {
    private final Thread thread = Thread.currentThread();
    private final long untilNanos;

    Sleeper(long untilNanos) {
      this.untilNanos = untilNanos;
    }
  }

  @Override
  public synchronized long nanos() {
    return nanos;
  }

  @Override
  public synchronized long wallMillis() {
    return TimeUnit.NANOSECONDS.toMillis(wallNanos);
  }

  @Override
  public void park(Object blocker, long parkNanos) {
    if (parkNanos <= 0) {
      return;
    }
    Sleeper sleeper;
    synchronized (this) {
      sleeper = new Sleeper(nanos + parkNanos);
      sleepers.add(sleeper);
      parks.merge(sleeper.thread, 1, Integer::sum);
    }
    try {
      LockSupport.park(blocker);
    } finally {
      synchronized (this) {
        sleepers.remove(sleeper);
      }
    }
  }

  /** Both clocks move on. */
  public void advance(Duration duration) {
    move(duration.toNanos(), duration.toNanos());
  }

  /** The machine sleeps for so long: its monotonic clock stands still. Also: somebody sets it. */
  public void jumpWallClock(Duration duration) {
    move(0, duration.toNanos());
  }

  /** Lets both clocks run, about as fast as the real ones, while the action does. */
  public void runDuring(Runnable action) {
    Thread runner = new Thread(() -> {
      while (!Thread.currentThread().isInterrupted()) {
        LockSupport.parkNanos(1_000_000);
        advance(Duration.ofMillis(1));
      }
    });
    runner.setDaemon(true);
    runner.start();
    try {
      action.run();
    } finally {
      runner.interrupt();
    }
  }

  private synchronized void move(long byNanos, long wallByNanos) {
    nanos += byNanos;
    wallNanos += wallByNanos;
    for (Sleeper sleeper : sleepers) {
      if (sleeper.untilNanos - nanos <= 0) {
        LockSupport.unpark(sleeper.thread);
      }
    }
  }

  /** Whether this thread waits for a time that has not come. */
  public synchronized boolean isParked(Thread thread) {
    return sleepers.stream().anyMatch(s -> s.thread == thread && s.untilNanos - nanos > 0);
  }

  /** The number of times that this thread has parked so far. */
  public synchronized int parks(Thread thread) {
    return parks.getOrDefault(thread, 0);
  }
}
