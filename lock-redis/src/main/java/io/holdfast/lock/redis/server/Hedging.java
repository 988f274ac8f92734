package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.Pool;

/**
 * Hedged requests: one that has had no answer for a third of the store timeout is sent once more,
 * on a new connection, while its sender still listens to the first. The first answer counts. A
 * connection that was idle can be dead without notice, or lead to a server that is no longer the
 * primary; a server that is slow answers on both. So the first connection is closed only if the
 * other has answered before it.
 *
 * <p>The sender waits for a copy that was sent, even if the first was answered before: so no copy
 * comes after the request that undoes it, and a grant to the copy is not overlooked.
 *
 * <p>Copies go one after the other. Those of requests that were sent before the new connection was
 * opened share it.
 *
 * <p>Threads: safe for use by any number of threads. One of its own looks for silent requests, and
 * sends the copies.
 *
 * @see <a href="https://doi.org/10.1145/2408776.2408794">J. Dean, L. A. Barroso: The Tail at
 *     Scale</a>
 */
public final class Hedging implements AutoCloseable {
  private static final int PARTS_OF_STORE_TIMEOUT = 3;

  /**
   * The number of times that the thread looks within the time that makes a request a silent one.
   */
  private static final int LOOKS = 8;

  private final Pool<Connection> pool;
  private final long silentNanos;
  private final ThreadPoolExecutor thread;
  private final Set<Request> requests = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean watched = new AtomicBoolean();

  Hedging(Pool<Connection> pool, Duration storeTimeout, String threadName) {
    this.pool = pool;
    this.silentNanos = silentAfter(storeTimeout).toNanos();
    this.thread = Daemons.pool(threadName, 1);
  }

  /** Returns the time without an answer after which a request counts as silent, in whole ms. */
  public static Duration silentAfter(Duration storeTimeout) {
    return Duration.ofMillis(Math.max(1, storeTimeout.toMillis() / PARTS_OF_STORE_TIMEOUT));
  }

  /**
   * The answer to a request.
   *
   * @param replies for each call its reply, or the error that the server answered
   * @param repeated whether a copy was sent, whichever was answered
   */
  record Answered(List<Object> replies, boolean repeated) {}

  /**
   * Sends calls over a connection, and waits for the answer to them and to their copy, if one was
   * sent. If the copy's comes first, the connection is closed.
   *
   * @throws JedisConnectionException the connection broke, and no copy was answered; or the answer
   *     was a "no", and that to the copy is not known
   */
  Answered run(Connection connection, Deadline deadline, List<Call> calls) throws StoreException {
    Request request = new Request(connection, deadline, calls);
    try {
      requests.add(request);
      watch();
      return request.answered(Wire.exchange(connection, deadline, calls, request::isAnswered));
    } catch (JedisConnectionException e) {
      return request.answeredByCopy(e);
    } finally {
      request.end();
      requests.remove(request);
    }
  }

  private void watch() {
    if (watched.get() || !watched.compareAndSet(false, true)) {
      return;
    }
    try {
      thread.execute(this::sendCopies);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      watched.set(false); // Without a copy, the request can still be answered.
    }
  }

  /** Sends copies of silent requests until no request is under way. */
  private void sendCopies() {
    try {
      while (!requests.isEmpty() && !thread.isShutdown()) {
        copySilent();
        TimeUnit.NANOSECONDS.sleep(silentNanos / LOOKS);
      }
    } catch (InterruptedException e) {
      // The client was closed.
    } finally {
      watched.set(false);
      if (!requests.isEmpty()) {
        watch(); // Its sender may have found the thread still at work.
      }
    }
  }

  private void copySilent() {
    Copies copies = null;
    try {
      for (Optional<Request> next = nextSilent(); next.isPresent(); next = nextSilent()) {
        Request request = next.get();
        if (copies == null || copies.openedNanos - request.sentNanos < 0) {
          close(copies);
          copies = null;
          copies = new Copies(System.nanoTime(), OwnConnection.open(pool));
        }
        request.copyOver(copies.connection);
      }
    } catch (Throwable e) {
      // There is no other connection, or it broke: the requests are given up by their senders. An
      // Error must not end the thread, on which later requests rely.
    } finally {
      close(copies);
    }
  }

  private static void close(@Nullable Copies copies) {
    if (copies != null) {
      Wire.closeQuietly(copies.connection);
    }
  }

  /** Returns the request that was sent first of those that are silent and have no copy. */
  private Optional<Request> nextSilent() {
    long now = System.nanoTime();
    return requests.stream()
        .filter(request -> now - request.sentNanos > silentNanos && request.isAlone())
        .min(Comparator.comparingLong(request -> request.sentNanos - now));
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }

  /** A connection for copies. */
  private record Copies(long openedNanos, Connection connection) {}

  /** Calls that were sent over a connection, and perhaps their copy. */
  private static final class Request {
    private enum State {
      /** No copy was sent. */
      ALONE,
      /** A copy was sent, and neither was answered. */
      COPIED,
      /** The copy was answered, before the first. */
      COPY_ANSWERED,
      /** The first was answered, or the request is given up. */
      OVER
    }

    final long sentNanos = System.nanoTime();
    private final Connection first;
    private final Deadline deadline;
    private final List<Call> calls;
    private final AtomicReference<State> state = new AtomicReference<>(State.ALONE);
    private final CompletableFuture<List<Object>> copy = new CompletableFuture<>();

    Request(Connection first, Deadline deadline, List<Call> calls) {
      this.first = first;
      this.deadline = deadline;
      this.calls = calls;
    }

    /** Whether a copy may be sent: once its time is over, its sender gives the request up. */
    boolean isAlone() {
      return state.get() == State.ALONE && !deadline.isOver();
    }

    /** Notes that the first was answered, so that no copy is needed. */
    void isAnswered() {
      state.compareAndSet(State.ALONE, State.OVER);
    }

    /** Ends the request; its connection is not closed from now on. */
    void end() {
      state.set(State.OVER);
    }

    /**
     * Sends a copy, unless that is no longer needed. If its answer comes first, wakes the sender.
     */
    void copyOver(Connection connection) throws StoreException {
      if (!isAlone() || !state.compareAndSet(State.ALONE, State.COPIED)) {
        return;
      }
      try {
        List<Object> replies = Wire.exchange(connection, deadline, calls, () -> {});
        boolean isFaster = state.compareAndSet(State.COPIED, State.COPY_ANSWERED);
        copy.complete(replies);
        if (isFaster) {
          Wire.closeQuietly(first);
        }
      } catch (Throwable e) {
        copy.completeExceptionally(e);
        throw e;
      }
    }

    /** Takes in the answer to the first. A "no" counts only if the copy was told the same. */
    Answered answered(List<Object> replies) {
      State before = state.getAndSet(State.OVER);
      if (before == State.ALONE || before == State.OVER) {
        return new Answered(replies, false);
      }
      if (before == State.COPY_ANSWERED) {
        Wire.closeQuietly(first); // So does the thread that sent the copy.
      }
      List<Object> merged = new ArrayList<>(replies);
      if (replies.stream().anyMatch(Reply::isNo)) {
        List<Object> copied = copied()
            .orElseThrow(
                () -> new JedisConnectionException("A copy of the request was not answered"));
        for (int i = 0; i < merged.size(); i++) {
          if (Reply.isNo(merged.get(i))) {
            merged.set(i, copied.get(i));
          }
        }
      } else {
        var unused = copied(); // Only so that it does not come late.
      }
      return new Answered(merged, true);
    }

    /**
     * Returns the answer to the copy, after the first one's connection broke.
     *
     * @throws JedisConnectionException there is no copy, or no answer to it
     */
    Answered answeredByCopy(JedisConnectionException failure) {
      State before = state.getAndSet(State.OVER);
      Optional<List<Object>> replies =
          before == State.COPIED || before == State.COPY_ANSWERED ? copied() : Optional.empty();
      return new Answered(replies.orElseThrow(() -> failure), true);
    }

    /** Waits for the answer to the copy; empty if there is none. */
    private Optional<List<Object>> copied() {
      return deadline.<Optional<List<Object>>, RuntimeException>awaitUninterruptibly(left -> {
        try {
          return Optional.of(copy.get(left, TimeUnit.NANOSECONDS));
        } catch (ExecutionException | TimeoutException e) {
          return Optional.empty();
        }
      });
    }
  }
}
