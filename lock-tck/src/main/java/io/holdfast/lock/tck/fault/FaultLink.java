package io.holdfast.lock.tck.fault;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The common part of links: the faults that are on. One lock guards them and all that goes over the
 * link; {@link #wake} is called whenever any of it changes.
 */
abstract class FaultLink implements Link {
  /** Half a round trip, which each message takes beside the faults. */
  private final long wayNanos = Link.roundTrip().dividedBy(2).toNanos();

  final ReentrantLock lock = new ReentrantLock();
  final Condition changed = lock.newCondition();
  // All fields below are guarded by the lock.
  final Set<Direction> held = EnumSet.noneOf(Direction.class);
  boolean blackhole;
  boolean refusing;
  int repliesToDrop;
  long requests;
  long connectionsMade;
  private final Map<Direction, Long> delayNanos = new EnumMap<>(Direction.class);
  private final Deque<AutoCloseable> closeables = new ArrayDeque<>();

  @Override
  public void delay(Direction direction, Duration delay) {
    change(() -> delayNanos.put(direction, delay.toNanos()));
  }

  /** Returns the delay; to be called under the lock. */
  final long delayNanos(Direction direction) {
    return wayNanos + delayNanos.getOrDefault(direction, 0L);
  }

  @Override
  public void hold(Direction direction) {
    change(() -> held.add(direction));
  }

  @Override
  public void blackhole() {
    change(() -> blackhole = true);
  }

  @Override
  public void dropReply(int n) {
    requireCounted(n);
    change(() -> repliesToDrop = n);
  }

  static void requireCounted(int n) {
    if (n < 1) {
      throw new IllegalArgumentException("Requests are counted from 1, not from " + n);
    }
  }

  /** Ends the faults that are kept here; to be called under the lock. */
  final void forgetFaults() {
    delayNanos.clear();
    held.clear();
    blackhole = false;
    refusing = false;
    repliesToDrop = 0;
  }

  @Override
  public long requests() {
    return locked(() -> requests);
  }

  @Override
  public long connectionsMade() {
    return locked(() -> connectionsMade);
  }

  @Override
  public void onClose(AutoCloseable resource) {
    change(() -> closeables.addFirst(resource));
  }

  final void closeResources() {
    locked(() -> List.copyOf(closeables)).forEach(FaultLink::closeQuietly);
    change(closeables::clear);
  }

  static void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      // Nothing depends on it.
    }
  }

  /** Wakes the threads that wait for a change; to be called under the lock. */
  void wake() {
    changed.signalAll();
  }

  final void change(Runnable change) {
    locked(() -> {
      change.run();
      wake();
      return true;
    });
  }

  final <T> T locked(Supplier<T> body) {
    lock.lock();
    try {
      return body.get();
    } finally {
      lock.unlock();
    }
  }
}
