package io.holdfast.lock.tck.rules;

import io.holdfast.lock.LockListener;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A thread that ends with a result or an exception. */
final class Worker<T> {
  /** Tells the worker that calls a client that it begins to wait for a lock. */
  static final LockListener LISTENER = new LockListener() {
    @Override
    public void waiting(LockEvent event) {
      Worker<?> worker = CURRENT.get();
      if (worker != null) {
        worker.isWaiting = true;
      }
    }
  };

  private static final ThreadLocal<@Nullable Worker<?>> CURRENT = new ThreadLocal<>();

  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final Thread thread;

  /** Whether the test knows how the thread ended, or does not want to. */
  private volatile boolean isSettled;

  private volatile boolean isWaiting;

  Worker(Callable<T> body) {
    thread = new Thread(
        () -> {
          CURRENT.set(this);
          try {
            result.complete(body.call());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        },
        "tck-worker");
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  boolean isDone() {
    return result.isDone();
  }

  /**
   * Whether it waits, or has waited, for a lock: behind a thread of the same client, or in the
   * store's line.
   */
  boolean isWaiting() {
    return isWaiting;
  }

  void interrupt() {
    thread.interrupt();
  }

  /** Returns the result, or fails the test. */
  T get(Duration within) {
    try {
      return Objects.requireNonNull(await(within));
    } catch (ExecutionException e) {
      isSettled = true;
      throw new AssertionError("Failed on another thread: " + e.getCause(), e.getCause());
    }
  }

  /** Returns what the body threw; fails the test if it threw nothing. */
  Throwable failure(Duration within) {
    isSettled = true;
    try {
      throw new AssertionError("Expected an exception on the other thread, got " + await(within));
    } catch (ExecutionException e) {
      return Objects.requireNonNull(e.getCause());
    }
  }

  private T await(Duration within) throws ExecutionException {
    try {
      return result.get(within.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      isSettled = true;
      throw failed("Another thread was not done within " + within);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted", e);
    }
  }

  /** Returns an error with the thread's stack trace. */
  private AssertionError failed(String message) {
    AssertionError error = new AssertionError(message);
    error.setStackTrace(thread.getStackTrace());
    return error;
  }

  /** Ends the thread after the test; its result no longer matters. */
  void abandon() {
    if (!result.isDone()) {
      isSettled = true;
      thread.interrupt();
    }
  }

  void collect(List<Throwable> failures) {
    try {
      T unused = result.get(RuleTest.LONG.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      if (!isSettled) {
        failures.add(e.getCause());
      }
    } catch (TimeoutException e) {
      failures.add(failed("A thread of the test does not end"));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
