package io.holdfast.lock.internal.task;

import org.jspecify.annotations.Nullable;

/**
 * Work for whichever thread is free. It can be submitted again at any time and may then run again;
 * each run does what is still left. {@link Workers} never runs a task on two threads at once.
 *
 * <p>A task is its own node in the list of {@link Workers#retry}, so that adding it allocates
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

  /** Does what is left. If it throws, it is called again later. */
  protected abstract void work();

  /** Does what is left, on this thread; if that fails, one of the workers does it. */
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

  /** Begins a run. False if another thread is running the task, which will then run it again. */
  final synchronized boolean beginRun() {
    runsAgain = running;
    if (running) {
      return false;
    }
    running = true;
    return true;
  }

  /** Ends a run, unless the task was submitted meanwhile: then the caller must run it again. */
  final synchronized boolean runsAgain() {
    running = runsAgain;
    runsAgain = false;
    return running;
  }

  /** Ends a run that the caller could not finish. */
  final synchronized void abandonRun() {
    running = false;
  }

  final synchronized void endListed() {
    next = null;
    listed = false;
  }
}
