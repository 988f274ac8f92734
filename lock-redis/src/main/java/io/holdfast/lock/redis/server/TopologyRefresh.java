package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The refresh of Jedis's view of a Cluster, on a thread of its own. Jedis keeps to no deadline for
 * it: it asks one server after the other, each with the timeouts of the user's client, and also
 * waits for connections of their pools. So a call that needs the new view waits for it no longer
 * than its own deadline, while the refresh goes on.
 *
 * <p>There is at most one refresh at a time, with one thread that ends with it. Another one would
 * do nothing, since Jedis itself has one at a time for all of its users.
 *
 * <p>Threads: safe for use by any number of threads. The monitor guards the last refresh; nothing
 * blocks while it is held.
 */
final class TopologyRefresh implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TopologyRefresh.class);

  private static final long EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /**
   * The time after which a refresh is interrupted, so that it does not wait for ever for a pool
   * that the application has exhausted: Jedis then goes on to the next server. Whatever it does
   * besides ends by the timeouts of the user's client.
   */
  private static final long HANGS_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Runnable jedis;
  private final TimeSource time;
  private final String threadName;
  private Future<?> last = CompletableFuture.completedFuture(null); // under this
  private @Nullable Thread thread; // of the last one; under this
  private long beganNanos; // under this
  private boolean closed; // under this

  /**
   * Makes a refresh that has not begun.
   *
   * @param jedis refreshes Jedis's view; it may take any time
   */
  TopologyRefresh(Runnable jedis, TimeSource time, String threadName) {
    this.jedis = jedis;
    this.time = time;
    this.threadName = threadName;
    this.beganNanos = time.nanos() - EVERY_NANOS;
  }

  /**
   * Starts a refresh, unless one is under way or began just now, and waits for it until the
   * deadline.
   *
   * @return whether it is done; also true if Jedis found no server that answers
   */
  boolean await(Deadline deadline) {
    Future<?> refresh = start();
    return deadline.<Boolean, RuntimeException>awaitUninterruptibly(left -> {
      try {
        Object unused = refresh.get(left, TimeUnit.NANOSECONDS);
        return true;
      } catch (TimeoutException | ExecutionException e) {
        log.debug("The view of the Cluster is not refreshed", e);
        return false;
      }
    });
  }

  /** Starts a refresh, unless one is under way or began just now; returns the last one. */
  synchronized Future<?> start() {
    long now = time.nanos();
    long sinceNanos = now - beganNanos;
    if (!last.isDone()) {
      if (thread != null && sinceNanos > HANGS_NANOS) {
        thread.interrupt();
      }
    } else if (!closed && sinceNanos >= EVERY_NANOS) {
      try {
        FutureTask<?> next = new FutureTask<>(jedis, null);
        Thread started = Daemons.thread(threadName, next);
        started.start();
        // Changed last: after a failure to start, the next call tries again.
        last = next;
        thread = started;
        beganNanos = now;
      } catch (OutOfMemoryError e) {
        // No memory, or no thread. Not thrown, since it would hide the failure for which a new view
        // is wanted.
        return CompletableFuture.failedFuture(e);
      }
    }
    return last;
  }

  /** Starts no more refreshes. One that is under way ends by the timeouts of the user's client. */
  @Override
  public synchronized void close() {
    closed = true;
    if (thread != null) {
      thread.interrupt();
    }
  }
}
