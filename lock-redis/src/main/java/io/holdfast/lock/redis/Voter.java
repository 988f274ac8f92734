package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One server of a quorum, asked on threads of its own: one that does not answer costs the others
 * nothing. What is asked about one attempt is asked in that order, so that nothing that was given
 * up on overtakes what undoes it.
 *
 * <p>Threads: safe for all.
 */
final class Voter {
  private static final int THREADS_MAX = 2;
  private static final long IDLE_SECONDS = 10;

  private final Server server;
  private final Duration storeTimeout;
  private final ThreadPoolExecutor executor;

  /** The last question about each owner id, while it has no answer. */
  private final ConcurrentHashMap<String, CompletableFuture<?>> last = new ConcurrentHashMap<>();

  Voter(Server server, Duration storeTimeout, String threadName) {
    this.server = server;
    this.storeTimeout = storeTimeout;
    AtomicInteger count = new AtomicInteger();
    this.executor = new ThreadPoolExecutor(
        0,
        THREADS_MAX,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new IdleFirst(),
        task -> {
          Thread thread = new Thread(task, threadName + '-' + count.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        },
        Voter::enqueue);
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
    CompletableFuture<T> answer = new CompletableFuture<>();
    start(question, answer, Server.deadlineAfter(storeTimeout));
    return answer;
  }

  /** Asks once all that was asked about that owner id before has been answered or given up. */
  <T> CompletableFuture<T> ask(String ownerId, Question<T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    CompletableFuture<?> before = last.put(ownerId, answer);
    if (before == null) {
      start(question, answer, Server.deadlineAfter(storeTimeout));
    } else {
      var unused = before.whenComplete(
          (reply, failure) -> start(question, answer, Server.deadlineAfter(storeTimeout)));
    }
    var unused = answer.whenComplete((reply, failure) -> last.remove(ownerId, answer));
    return answer;
  }

  private <T> void start(Question<T> question, CompletableFuture<T> answer, Deadline deadline) {
    try {
      executor.execute(() -> {
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
    server.close();
  }
}
