package io.holdfast.lock.internal.task;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Work that is left to do, on whichever thread is free. It can be submitted again at any time and
 * may then run again; each run does what is still left. {@link Workers} never runs a task on two
 * threads at once.
 *
 * <p>A task is its own node in the list of tasks that found no thread, so that adding it allocates
 * nothing and can't fail, even if the heap is full.
 */
public abstract class Task {
  private static final AtomicIntegerFieldUpdater<Task> RUNNING =
      AtomicIntegerFieldUpdater.newUpdater(Task.class, "running");

  private static final int IDLE = 0;
  private static final int RUNS = 1;
  private static final int RUNS_AND_IS_TO_RUN_AGAIN = 2;

  private volatile int running;

  /** Whether it is in the list. Guarded by this object's monitor. */
  boolean listed;

  /**
   * The next task in the list. Accessed by the thread that adds this task, then by the thread that
   * takes the list.
   */
  @Nullable
  Task next;

  /** For subclasses. */
  protected Task() {}

  /** Does what is left. If it throws, it is run again later. */
  protected abstract void work() throws Exception;

  /** Whether the caller must run it; otherwise the thread that is running it will run it again. */
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

  /** Called by the thread that ran it: whether it must run again. */
  final boolean runsAgain() {
    if (RUNNING.compareAndSet(this, RUNS, IDLE)) {
      return false;
    }
    running = RUNS;
    return true;
  }

  /** Called by the thread that should have run it and can't. */
  final void abandonRun() {
    running = IDLE;
  }

  final synchronized void endListed() {
    next = null;
    listed = false;
  }
}
