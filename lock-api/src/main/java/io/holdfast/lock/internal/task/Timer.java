package io.holdfast.lock.internal.task;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.util.PriorityQueue;

/**
 * Tasks that are to be run later. Has no thread of its own: an existing thread calls
 * {@link #submitDue} when the next task is due.
 *
 * <p>Threads: any. The queue is guarded by a mutex, under which nothing else is locked.
 */
public final class Timer {
  private final TimeSource time;
  private final Workers workers;
  private final Runnable onEarlier;

  private final PriorityQueue<Entry> entries =
      new PriorityQueue<>((a, b) -> Long.signum(a.atNanos() - b.atNanos()));

  private record Entry(long atNanos, Task task) {}

  /** @param onEarlier called, on any thread, when a task was added; throws nothing */
  public Timer(TimeSource time, Workers workers, Runnable onEarlier) {
    this.time = time;
    this.workers = workers;
    this.onEarlier = onEarlier;
  }

  /** Has a worker run a task at that time. */
  public void runAt(long atNanos, Task task) {
    Entry entry = new Entry(atNanos, task);
    synchronized (this) {
      entries.add(entry);
    }
    onEarlier.run();
  }

  /** Submits the tasks that are due, and returns the time at which the next one is. */
  public long submitDue() {
    long nowNanos = time.nanos();
    while (true) {
      Entry due;
      synchronized (this) {
        Entry first = entries.peek();
        if (first == null) {
          return nowNanos + Nanos.FOREVER;
        } else if (first.atNanos() - nowNanos > 0) {
          return first.atNanos();
        }
        due = entries.remove();
      }
      workers.submit(due.task());
    }
  }
}
