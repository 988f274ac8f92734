package io.holdfast.lock.internal.task;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Work that is left to do, by whichever thread gets to it. It can be submitted again at any time
 * and may then run again: each run does what is still left. {@link Workers} never runs one task on
 * two threads at once.
 *
 * <p>A task is its own node in the list of those that found no thread, so that putting it there
 * allocates nothing and can't fail, even where the heap is full.
 */
public abstract class Task {
  private static final AtomicIntegerFieldUpdater<Task> RUNNING =
      AtomicIntegerFieldUpdater.newUpdater(Task.class, "running");

  private static final int IDLE = 0;
  private static final int RUNS = 1;
  private static final int RUNS_AND_IS_TO_RUN_AGAIN = 2;

  private volatile int running;

  /** Whether it is in the list. Guarded by the monitor of this. */
  boolean listed;

  /** Owned by whoever put it into the list, then by whoever took the list. */
  @Nullable
  Task next;

  /** For subclasses. */
  protected Task() {}

  /** Does what is left. If it throws, it is run again later. */
  protected abstract void work() throws Exception;

  /** Whether the caller is to run it; else the thread that runs it already runs it again. */
  final boolean beginRun() {
    while (true) {
      if (RUNNING.compareAndSet(this, IDLE, RUNS)) {
        return true;
      }
      if (running == RUNS_AND_IS_TO_RUN_AGAIN
          || RUNNING.compareAndSet(this, RUNS, RUNS_AND_IS_TO_RUN_AGAIN)) {
        return false;
      }
    }
  }

  /** For who runs it: whether it is to be run again. */
  final boolean runsAgain() {
    if (RUNNING.compareAndSet(this, RUNS, IDLE)) {
      return false;
    }
    running = RUNS;
    return true;
  }

  /** For who was to run it, and can't. */
  final void abandonRun() {
    running = IDLE;
  }

  final synchronized void endListed() {
    next = null;
    listed = false;
  }
}
