package io.holdfast.lock.internal;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's threads, but for the keeper: daemons, made as needed, gone when idle. */
final class Background implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Background.class);

  private static final int CLEAN_UP_THREADS = 2;
  private static final long IDLE_SECONDS = 10;

  private final ExecutorService renewals;
  private final ThreadPoolExecutor cleanUp;
  private final ThreadFactory callbackThreads;
  private final ExecutorService callbacks;

  Background(String clientName) {
    this.renewals = Executors.newCachedThreadPool(threads("holdfast-renewal-" + clientName));
    this.cleanUp = new ThreadPoolExecutor(
        CLEAN_UP_THREADS,
        CLEAN_UP_THREADS,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        threads("holdfast-clean-up-" + clientName));
    cleanUp.allowCoreThreadTimeOut(true);
    this.callbackThreads = threads("holdfast-callback-" + clientName);
    this.callbacks = Executors.newCachedThreadPool(callbackThreads);
  }

  /** Renews a group: each on a thread of its own. */
  void renew(Runnable round) {
    start(renewals, round);
  }

  /** Puts right what was left at the store; few threads, so that an outage does not make many. */
  void cleanUp(Runnable task) {
    start(cleanUp, task);
  }

  /** Runs user code; also what is still to be told after the close. */
  void callBack(Runnable task) {
    try {
      callbacks.execute(task);
    } catch (RejectedExecutionException e) {
      callbackThreads.newThread(task).start();
    }
  }

  private static void start(ExecutorService executor, Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      // The client was closed, and said so to everybody; what is left ends by its TTL.
      log.debug("A task came after the close of its lock client: {}", task);
    }
  }

  /** Takes nothing new; what was begun or queued for user code still runs. */
  @Override
  public void close() {
    renewals.shutdown();
    cleanUp.shutdownNow();
    callbacks.shutdown();
  }

  static ThreadFactory threads(String name) {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }
}
