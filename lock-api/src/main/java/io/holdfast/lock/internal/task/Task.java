package io.holdfast.lock.internal.task;

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
  // Guarded by this object's monitor

  private boolean running;

  /** Whether it was submitted since its run began. */
  private boolean runsAgain;

  /** Whether it is in the list. */
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
  protected abstract void work();

  /** Does what is left, on this thread; what fails here is done by one of the workers. */
  protected final void runHere(Workers workers) {
    boolean done = false;
    try {
      work();
      done = true;
    } finally {
      if (!done) {
        workers.submit(this);
      }
    }
  }

  /** Makes a task that runs this. */
  public static Task of(Runnable work) {
    return new Task() {
      @Override
      protected void work() {
        work.run();
      }
    };
  }

  /** Whether the caller must run it; otherwise the thread that is running it will run it again. */
  final synchronized boolean beginRun() {
    runsAgain = running;
    if (running) {
      return false;
    }
    running = true;
    return true;
  }

  /** Called by the thread that ran it: whether it must run again. */
  final synchronized boolean runsAgain() {
    running = runsAgain;
    runsAgain = false;
    return running;
  }

  /** Called by the thread that should have run it and can't. */
  final synchronized void abandonRun() {
    running = false;
  }

  final synchronized void endListed() {
    next = null;
    listed = false;
  }
}
