package io.holdfast.lock.internal;

import io.holdfast.lock.internal.cleanup.Cleanup;
import io.holdfast.lock.internal.event.Callbacks;
import io.holdfast.lock.internal.queue.WaitQueues;
import io.holdfast.lock.internal.renewal.Keeper;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import java.util.List;

/** Short tasks without a thread of their own, which the keeper runs between its scans. */
final class KeeperChores implements Keeper.Chores {
  /** The pause before a task that found no thread or no memory is tried again. */
  private static final long RETRY_NANOS = 100_000_000;

  private final Clocks time;
  private final WaitQueues queues;
  private final Callbacks callbacks;
  private final Cleanup cleanup;
  private final DroppedLeases droppedLeases;
  private final List<Workers> workers;

  private boolean retries;
  private long retryAtNanos;

  KeeperChores(
      Clocks time,
      WaitQueues queues,
      Callbacks callbacks,
      Cleanup cleanup,
      DroppedLeases droppedLeases,
      List<Workers> workers) {
    this.time = time;
    this.queues = queues;
    this.callbacks = callbacks;
    this.cleanup = cleanup;
    this.droppedLeases = droppedLeases;
    this.workers = workers;
  }

  @Override
  public long run() {
    droppedLeases.find();
    long nextNanos = cleanup.submitDue();
    retryTasks();
    return retries ? Nanos.earlier(nextNanos, retryAtNanos) : nextNanos;
  }

  @Override
  public boolean areLocksInUse() {
    return !queues.all().isEmpty();
  }

  @Override
  public void log(Runnable line) {
    callbacks.log(line);
  }

  private void retryTasks() {
    boolean anyLeft = callbacks.isBehind();
    for (Workers some : workers) {
      anyLeft |= some.hasWaiting();
    }
    if (!anyLeft) {
      retries = false;
      return;
    }
    long nowNanos = time.nanos();
    if (!retries) {
      retries = true;
      retryAtNanos = nowNanos + RETRY_NANOS;
    } else if (nowNanos - retryAtNanos >= 0) {
      retryAtNanos = nowNanos + RETRY_NANOS;
      callbacks.retry();
      workers.forEach(Workers::retry);
    }
  }
}
