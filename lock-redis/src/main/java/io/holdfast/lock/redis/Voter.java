package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One server of a quorum, asked on threads of its own: one that does not answer costs the others
 * nothing. What is asked about one attempt is asked in that order, so that nothing that was given
 * up on overtakes what undoes it. Renewals have a thread to themselves, however much else is asked.
 *
 * <p>Threads: safe for all.
 */
final class Voter {
  private static final int THREADS_MAX = 2;
  private static final long IDLE_SECONDS = 10;

  private final Server server;
  private final Duration storeTimeout;
  private final ThreadPoolExecutor executor;
  private final ThreadPoolExecutor renewals;

  /** The last question about each attempt, by its owner id, while it has no answer. */
  private final ConcurrentHashMap<String, CompletableFuture<?>> last = new ConcurrentHashMap<>();

  Voter(Server server, Duration storeTimeout, String threadName) {
    this.server = server;
    this.storeTimeout = storeTimeout;
    this.executor = new ThreadPoolExecutor(
        0,
        THREADS_MAX,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new IdleFirst(),
        daemons(threadName),
        Voter::enqueue);
    this.renewals = new ThreadPoolExecutor(
        1,
        1,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        daemons(threadName + "-renewal"));
    renewals.allowCoreThreadTimeOut(true);
  }

  private static ThreadFactory daemons(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, name + '-' + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Takes a task only for a thread that is idle; if there is none, the pool makes one more. */
  private static final class IdleFirst extends LinkedTransferQueue<Runnable> {
    private static final long serialVersionUID = 1;

    @Override
    public boolean offer(Runnable task) {
      return tryTransfer(task);
    }
  }

  /** All threads are busy. */
  private static void enqueue(Runnable task, ThreadPoolExecutor executor) {
    if (executor.isShutdown()) {
      throw new RejectedExecutionException();
    }
    ((IdleFirst) executor.getQueue()).put(task);
  }

  /** What to ask. */
  @FunctionalInterface
  interface Question<T> {
    T ask(Server server) throws StoreException;
  }

  /** Asks; the answer fails with a {@link StoreException}. */
  <T> CompletableFuture<T> ask(Question<T> question) {
    return ask(executor, question);
  }

  /** The same, for a renewal. */
  <T> CompletableFuture<T> askToRenew(Question<T> question) {
    return ask(renewals, question);
  }

  private <T> CompletableFuture<T> ask(ThreadPoolExecutor by, Question<T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    start(by, question, answer);
    return answer;
  }

  /** Asks once all that was asked about that attempt before has been answered or given up. */
  <T> CompletableFuture<T> ask(Claim attempt, Question<T> question) {
    String ownerId = attempt.ownerId();
    CompletableFuture<T> answer = new CompletableFuture<>();
    CompletableFuture<?> before = last.put(ownerId, answer);
    if (before == null) {
      start(executor, question, answer);
    } else {
      var unused = before.whenComplete((reply, failure) -> start(executor, question, answer));
    }
    var unused = answer.whenComplete((reply, failure) -> last.remove(ownerId, answer));
    return answer;
  }

  private <T> void start(ThreadPoolExecutor by, Question<T> question, CompletableFuture<T> answer) {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    try {
      by.execute(() -> {
        if (deadline.isOver()) {
          answer.completeExceptionally(StoreException.refused(
              "The server has not answered others for " + storeTimeout + ", so it was not asked",
              null));
          return;
        }
        try {
          answer.complete(question.ask(server));
        } catch (StoreException e) {
          answer.completeExceptionally(e);
        } catch (RuntimeException | Error e) {
          answer.completeExceptionally(StoreException.unanswered("Redis failed: " + e, e));
        }
      });
    } catch (RejectedExecutionException e) {
      answer.completeExceptionally(StoreException.refused("The client was closed", e));
    }
  }

  /** Waits for what is still to be asked, no longer than there is time, and takes no more. */
  void close(Deadline deadline) {
    CompletableFuture<?> asked =
        CompletableFuture.allOf(last.values().toArray(CompletableFuture[]::new));
    boolean answered = deadline.<Boolean, RuntimeException>awaitUninterruptibly(left -> {
      try {
        Object unused = asked.get(left, TimeUnit.NANOSECONDS);
        return true;
      } catch (ExecutionException | TimeoutException e) {
        return false; // what could not be undone ends by its TTL
      }
    });
    if (answered) {
      executor.shutdown();
      boolean unused = deadline.<Boolean, RuntimeException>awaitUninterruptibly(
          left -> executor.awaitTermination(left, TimeUnit.NANOSECONDS));
    }
    List<Runnable> unused = executor.shutdownNow();
    List<Runnable> unusedRenewals = renewals.shutdownNow();
    server.close();
  }
}
