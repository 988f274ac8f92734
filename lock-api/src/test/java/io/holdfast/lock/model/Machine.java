package io.holdfast.lock.model;

import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A process on a machine of its own: its two clocks, and its threads, which go on when the world
 * says so. It can be frozen (its threads stop), suspended (its monotonic clock stops too), and die.
 */
final class Machine implements TimeSource, Executor {
  private static final long MILLIONTHS = 1_000_000;

  private final World world;
  private final int index;
  private final int ratePpm;
  private final int wallRatePpm;

  private long nanos;
  private long wallNanos = 1_700_000_000_000_000_000L;
  private boolean frozen;
  private boolean suspended;
  private boolean dead;

  /** The number of times that one or all of its threads were kept from their work. */
  private int stops;

  /** The time of the store's last answer to a thread; the stops until then are beside it. */
  private long answeredAtNanos = -1;

  private int stopsAtAnswer;
  private @Nullable Thread answered;

  private final List<Runnable> ready = new ArrayList<>();
  private final Queue<Runnable> readyFromOutside = new ConcurrentLinkedQueue<>();
  private final List<Sleeper> sleepers = new ArrayList<>();
  private int threads;

  private record Sleeper(Thread thread, long untilNanos) {}

  Machine(World world, int index, long startNanos, int ratePpm, int wallRatePpm) {
    this.world = world;
    this.index = index;
    this.nanos = startNanos;
    this.ratePpm = ratePpm;
    this.wallRatePpm = wallRatePpm;
  }

  int index() {
    return index;
  }

  // Threads

  Thread thread(Runnable task, String name) {
    threads++;
    return VirtualThreads.unstarted(this, name, () -> {
      try {
        task.run();
      } catch (Broken e) {
        world.fail(e);
      } catch (Throwable e) {
        world.fail(new Broken(Rule.DOCUMENTED, this + ": a thread died of " + e, e));
      } finally {
        threads--;
      }
    });
  }

  /** Those that have not ended. */
  int threads() {
    return threads;
  }

  /** One of its threads can go on. */
  @Override
  public void execute(Runnable continuation) {
    if (world.isInside()) {
      ready.add(continuation);
    } else {
      // A real timer, after ten seconds of real time.
      readyFromOutside.add(continuation);
    }
  }

  boolean isRunnable() {
    Runnable outside = readyFromOutside.poll();
    if (outside != null) {
      ready.add(outside);
    }
    return !ready.isEmpty() && isRunning();
  }

  boolean hasReady() {
    return !ready.isEmpty();
  }

  void runOne(Dice dice) {
    int which = ready.size() == 1 || dice.below(4) > 0 ? 0 : dice.below(ready.size());
    ready.remove(which).run();
  }

  // Clocks, as its threads see them

  @Override
  public long nanos() {
    if (world.lingers()) {
      long before = nanos;
      linger();
      return world.diceOneIn(2) ? before : nanos;
    }
    return nanos;
  }

  /** Another thread may go on, or a long time may pass, right before or after a clock is read. */
  @SuppressWarnings("ThreadPriorityCheck") // The scheduler is ours.
  private void linger() {
    long stallNanos = world.stallNanos();
    if (stallNanos == 0) {
      Thread.yield();
      return;
    }
    stops++;
    Thread thread = Thread.currentThread();
    boolean[] over = new boolean[1];
    world.say(() ->
        this + ": " + thread.getName() + " is kept from its work for " + World.millis(stallNanos));
    world.after(stallNanos, () -> {
      over[0] = true;
      LockSupport.unpark(thread);
    });
    while (!over[0] && !thread.isInterrupted()) {
      LockSupport.park(this);
    }
    // The permit may have been somebody else's.
    LockSupport.unpark(thread);
  }

  @Override
  public long wallMillis() {
    return wallNanos / MILLIONTHS;
  }

  @Override
  public void park(Object blocker, long parkNanos) {
    if (parkNanos <= 0) {
      return;
    }
    Sleeper sleeper = new Sleeper(Thread.currentThread(), nanos + parkNanos);
    sleepers.add(sleeper);
    try {
      LockSupport.park(blocker);
    } finally {
      sleepers.remove(sleeper);
    }
  }

  // Clocks, as the world sees them

  long nanosNow() {
    return nanos;
  }

  /** By how much its wall clock is ahead of its monotonic one, as read. */
  long wallAheadNanos() {
    return wallMillis() * MILLIONTHS - nanos;
  }

  /** World time until the next of its threads is due; a long time if none is. */
  long toNextSleeper() {
    long next = Long.MAX_VALUE;
    if (isRunning()) {
      for (Sleeper sleeper : sleepers) {
        long left = sleeper.untilNanos - nanos;
        if (left < Long.MAX_VALUE / 4) {
          next = Math.min(next, Math.max(0, left));
        }
      }
    }
    return next == Long.MAX_VALUE ? next : next + next / 500 * (ratePpm < 0 ? 1 : 0) + 1;
  }

  void pass(long worldNanos) {
    wallNanos += worldNanos + worldNanos * wallRatePpm / MILLIONTHS;
    if (!suspended) {
      nanos += worldNanos + worldNanos * ratePpm / MILLIONTHS;
    }
  }

  void wakeSleepers() {
    if (!suspended && !dead) {
      for (Sleeper sleeper : List.copyOf(sleepers)) {
        if (sleeper.untilNanos - nanos <= 0) {
          LockSupport.unpark(sleeper.thread);
        }
      }
    }
  }

  // What happens to it

  boolean isRunning() {
    return !frozen && !suspended && !dead;
  }

  boolean isSuspended() {
    return suspended;
  }

  boolean isDead() {
    return dead;
  }

  int stops() {
    return stops;
  }

  void answered() {
    answeredAtNanos = world.nanos();
    stopsAtAnswer = stops;
    answered = Thread.currentThread();
  }

  /** Whether the calling thread was it, and that is no time ago. */
  boolean isJustAnswered() {
    return answered == Thread.currentThread()
        && answeredAtNanos == world.nanos()
        && stopsAtAnswer == stops;
  }

  void freeze(boolean on) {
    stops++;
    frozen = on;
  }

  void suspend(boolean on) {
    stops++;
    suspended = on;
  }

  void die() {
    stops++;
    dead = true;
  }

  void setWallClock(long byNanos) {
    stops++;
    wallNanos += byNanos;
  }

  /** At the end of the world: who has nothing to do ends, the others are forgotten. */
  void bury() {
    dead = false;
    frozen = false;
    suspended = false;
    for (int i = 0; i < 1_000 && !ready.isEmpty(); i++) {
      ready.remove(0).run();
    }
    dead = true;
  }

  @Override
  public String toString() {
    return String.valueOf((char) ('A' + index));
  }
}
