package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A lease that is held until a stage is complete.
 *
 * <p>It is closed on a thread of a pool, since the thread that completes the stage may be one that
 * must not block. If all threads of the pool are busy, it is closed on that thread all the same.
 */
final class StageLease {
  private static final int CLOSERS_MAX = 16;
  private static final long IDLE_SECONDS_MAX = 10;

  private static final ThreadPoolExecutor CLOSERS = new ThreadPoolExecutor(
      0,
      CLOSERS_MAX,
      IDLE_SECONDS_MAX,
      TimeUnit.SECONDS,
      new SynchronousQueue<>(),
      daemons(),
      (task, full) -> task.run());

  private final AnyLease lease;
  private final CompletableFuture<@Nullable Object> result = new CompletableFuture<>();

  private StageLease(AnyLease lease) {
    this.lease = lease;
  }

  private static ThreadFactory daemons() {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      String name = "holdfast-spring-release-" + number.incrementAndGet();
      Thread thread =
          new Thread(null, task, name, 0, false); // No thread locals of the application.
      thread.setDaemon(true);
      return thread;
    };
  }

  /**
   * Returns a stage that completes as this one does, once the lease is closed. If the stage refuses
   * to be waited for, throws its exception, and leaves the lease open.
   */
  static CompletableFuture<@Nullable Object> holdUntilComplete(
      AnyLease lease, CompletionStage<?> stage) {
    StageLease held = new StageLease(lease);
    stage.whenComplete(held::completed);
    return held.result;
  }

  private void completed(@Nullable Object value, @Nullable Throwable failure) {
    Runnable end = () -> end(value, failure);
    try {
      CLOSERS.execute(end);
    } catch (Throwable noThread) { // The lease must be closed all the same.
      end.run();
    }
  }

  private void end(@Nullable Object value, @Nullable Throwable failure) {
    Throwable outcome = failure;
    try {
      lease.close();
    } catch (Throwable closeFailure) {
      if (outcome == null) {
        outcome = closeFailure;
      } else if (outcome != closeFailure) {
        outcome.addSuppressed(closeFailure);
      }
    }
    if (outcome == null) {
      result.complete(value);
    } else {
      result.completeExceptionally(outcome);
    }
  }
}
