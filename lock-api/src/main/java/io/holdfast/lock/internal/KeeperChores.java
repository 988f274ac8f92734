package io.holdfast.lock.internal;

import io.holdfast.lock.internal.renewal.Keeper;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Nanos;
import java.util.List;

/** Short tasks without a thread of their own, which the keeper runs between its scans. */
final class KeeperChores implements Keeper.Chores {
  /** The pause before a task that found no thread or no memory is tried again. */
  private static final long RETRY_NANOS = 100_000_000;

  private final EngineClient client;
  private final List<Workers> workers;

  private boolean retries;
  private long retryAtNanos;

  KeeperChores(EngineClient client) {
    this.client = client;
    this.workers = List.of(client.settlers, client.cleaners, client.callbackThreads);
  }

  @Override
  public long run() {
    client.droppedLeases.find();
    long nextNanos = client.cleanup.submitDue();
    retryTasks();
    return retries ? Nanos.earlier(nextNanos, retryAtNanos) : nextNanos;
  }

  @Override
  public boolean areLocksInUse() {
    return !client.queues.all().isEmpty();
  }

  @Override
  public void log(Runnable line) {
    client.callbacks.log(line);
  }

  private void retryTasks() {
    boolean anyLeft = client.callbacks.isBehind();
    for (Workers some : workers) {
      anyLeft |= some.hasWaiting();
    }
    if (!anyLeft) {
      retries = false;
      return;
    }
    long nowNanos = client.time.nanos();
    if (!retries) {
      retries = true;
      retryAtNanos = nowNanos + RETRY_NANOS;
    } else if (nowNanos - retryAtNanos >= 0) {
      retryAtNanos = nowNanos + RETRY_NANOS;
      client.callbacks.retry();
      workers.forEach(Workers::retry);
    }
  }
}
