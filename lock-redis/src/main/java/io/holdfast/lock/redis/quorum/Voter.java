package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * One server of a quorum, asked on threads of its own, so that a server that does not answer delays
 * no other. Questions about the same attempt are asked in order, whichever threads ask them, so
 * that a request can't be overtaken by the one that undoes it.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Voter {
  /** The most threads of a lane, however large the pool is. */
  private static final int THREADS_MAX = 32;

  /**
   * A group of threads. A question waits for those of its own lane only, and for earlier ones about
   * the same attempt.
   */
  enum Lane {
    /** Attempts to get a lock, all of their rounds, and requests that only look: any number. */
    ACQUIRE,

    /** Calls about a grant that somebody has, and withdrawals of whole attempts. */
    GRANT,

    /** Renewals, which must come in time however many grants are given back. */
    RENEWAL,

    /** Lists of locks, for which a server looks through all of its keys. */
    LIST;

    /** Returns the number of threads: as many as can get a connection, where there are many. */
    int threads(Pool<Connection> pool) {
      return switch (this) {
        case ACQUIRE, GRANT ->
          pool.getMaxTotal() < 1 ? THREADS_MAX : Math.min(pool.getMaxTotal(), THREADS_MAX);
        case RENEWAL -> 1;
        case LIST -> 2;
      };
    }
  }

  private final Server server;
  private final Duration storeTimeout;
  private final Map<Lane, ThreadPoolExecutor> executors = new EnumMap<>(Lane.class);

  /** The last question about each attempt that is not answered yet, by owner id. */
  private final ConcurrentHashMap<String, CompletableFuture<?>> last = new ConcurrentHashMap<>();

  /** The last {@link #askForLock} of each attempt that is not answered yet, by owner id. */
  private final Map<String, CompletableFuture<?>> asking = new ConcurrentHashMap<>();

  Voter(Server server, Duration storeTimeout, Function<Lane, ThreadPoolExecutor> threads) {
    this.server = server;
    this.storeTimeout = storeTimeout;
    for (Lane lane : Lane.values()) {
      executors.put(lane, threads.apply(lane));
    }
  }

  /** A question to one server. */
  @FunctionalInterface
  interface Question<T> {
    T ask(Server server) throws StoreException;
  }

  /** Asks the server; the result fails with a {@link StoreException}, or as the question did. */
  <T> CompletableFuture<T> ask(Lane lane, Question<T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    start(lane, question, answer);
    return answer;
  }

  /** Asks the server once all earlier questions about that attempt were answered or have failed. */
  <T> CompletableFuture<T> ask(Lane lane, Claim attempt, Question<T> question) {
    String ownerId = attempt.ownerId();
    CompletableFuture<T> answer = new CompletableFuture<>();
    CompletableFuture<?> before = last.put(ownerId, answer);
    var unused = answer.whenComplete((reply, failure) -> last.remove(ownerId, answer));
    var unusedToo = (before == null ? CompletableFuture.completedFuture(null) : before)
        .whenComplete((reply, failure) -> start(lane, question, answer));
    return answer;
  }

  /**
   * Asks the server for a lock, in order as {@link #ask(Lane, Claim, Question)} does. Refuses while
   * the attempt's last such question is not answered: a waiter polls on while a server hangs, and
   * its questions would pile up. Used by one thread at a time for an attempt.
   */
  <T> CompletableFuture<T> askForLock(Claim attempt, Question<T> question) {
    String ownerId = attempt.ownerId();
    CompletableFuture<?> before = asking.get(ownerId);
    if (before != null && !before.isDone()) {
      return CompletableFuture.failedFuture(
          StoreException.refused("The server has not answered this attempt yet", null));
    }
    CompletableFuture<T> answer = ask(Lane.ACQUIRE, attempt, question);
    asking.put(ownerId, answer);
    var unused = answer.whenComplete((reply, failure) -> asking.remove(ownerId, answer));
    return answer;
  }

  private <T> void start(Lane lane, Question<T> question, CompletableFuture<T> answer) {
    try {
      Deadline deadline = Server.deadlineAfter(storeTimeout);
      Objects.requireNonNull(executors.get(lane)).execute(() -> {
        // It is done if it was refused, for want of a thread, although it was queued.
        if (answer.isDone() || deadline.isOver()) {
          answer.completeExceptionally(StoreException.refused(
              "The server has not answered others for " + storeTimeout + ", so it was not asked",
              null));
          return;
        }
        try {
          answer.complete(question.ask(server));
        } catch (StoreException | RuntimeException | Error e) {
          answer.completeExceptionally(e);
        }
      });
    } catch (RejectedExecutionException | Error e) {
      // Otherwise the next question about the same attempt would wait for ever.
      answer.completeExceptionally(
          StoreException.refused("The client was closed, or got no thread to ask on: " + e, e));
    }
  }

  /**
   * Waits until the deadline for the questions about attempts that are open now and, if all
   * succeed, for all others; then takes no more, and drops those that have not begun.
   */
  void close(Deadline deadline) {
    CompletableFuture<?> asked =
        CompletableFuture.allOf(last.values().toArray(CompletableFuture[]::new));
    boolean succeeded = deadline.<Boolean, RuntimeException>awaitUninterruptibly(left -> {
      try {
        Object unused = asked.get(left, TimeUnit.NANOSECONDS);
        return true;
      } catch (ExecutionException | TimeoutException e) {
        return false; // What could not be undone ends by its TTL.
      }
    });
    if (succeeded) {
      executors.values().forEach(ThreadPoolExecutor::shutdown);
      for (ThreadPoolExecutor executor : executors.values()) {
        boolean unused = deadline.<Boolean, RuntimeException>awaitUninterruptibly(
            left -> executor.awaitTermination(left, TimeUnit.NANOSECONDS));
      }
    }
    executors.values().forEach(ThreadPoolExecutor::shutdownNow);
    server.close();
  }
}
