package io.holdfast.lock.simulation;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A thread of a test that does one thing. */
public final class Actor<T> {
  private final SimulatedTime time;
  private final FutureTask<T> task;
  private final Thread thread;

  /** Starts it. */
  public Actor(SimulatedTime time, String name, Callable<T> action) {
    this.time = time;
    this.task = new FutureTask<>(action);
    this.thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Returns when the thread waits for time to pass or for somebody to wake it. */
  public Actor<T> awaitParked() {
    Eventually.await(
        () -> "thread '" + thread.getName() + "' to wait; it is " + thread.getState(),
        this::isParked);
    return this;
  }

  private boolean isParked() {
    return time.isParked(thread) && thread.getState() == Thread.State.WAITING;
  }

  public void interrupt() {
    thread.interrupt();
  }

  public boolean isDone() {
    return task.isDone();
  }

  /** Returns the result, or throws the exception as it is. */
  public T result() throws Exception {
    try {
      return task.get(20, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception exception) {
        throw exception;
      }
      throw e;
    } catch (TimeoutException e) {
      AssertionError error = new AssertionError("Thread '" + thread.getName() + "' is not done");
      error.setStackTrace(thread.getStackTrace());
      throw error;
    }
  }
}
