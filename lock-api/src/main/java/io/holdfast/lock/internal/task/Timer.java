package io.holdfast.lock.internal.task;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.util.PriorityQueue;

/**
 * Tasks that are to be run later. Has no thread of its own: one that is there in any case looks
 * when the next is due.
 *
 * <p>Threads: any; the queue is guarded by a mutex, under which nothing else is locked.
 */
public final class Timer {
  private final TimeSource time;
  private final Workers workers;
  private final Runnable onEarlier;

  private final PriorityQueue<Entry> entries =
      new PriorityQueue<>((a, b) -> Long.signum(a.atNanos() - b.atNanos()));

  private record Entry(long atNanos, Task task) {}

  /** @param onEarlier told, on any thread, that something is to be run; throws nothing */
  public Timer(TimeSource time, Workers workers, Runnable onEarlier) {
    this.time = time;
    this.workers = workers;
    this.onEarlier = onEarlier;
  }

  /** Has a task run by a worker at that time. */
  public void runAt(long atNanos, Task task) {
    Entry entry = new Entry(atNanos, task);
    synchronized (this) {
      entries.add(entry);
    }
    onEarlier.run();
  }

  /** Submits what is due; when the next is. */
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
