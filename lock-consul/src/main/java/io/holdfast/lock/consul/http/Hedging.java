package io.holdfast.lock.consul.http;

import io.holdfast.lock.spi.Deadline;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.jspecify.annotations.Nullable;

/**
 * Hedged requests: one that is silent for a third of the store timeout is sent once more, on a new
 * connection, while its sender still listens to the first. The first answer counts. A connection
 * that was idle may have died without a sign; a server that is slow answers on both. So the first
 * connection is closed only if the other was answered before it. Copies go one after the other, so
 * that a server that stands still gets one connection more, and not one for each thread.
 *
 * <p>The one that is not answered may be carried out long after the sender has gone on. That does
 * no harm:
 *
 * <ul>
 *   <li>A write to the key of an attempt names the index of that key, or requires that the key is
 *       missing and the gate of its session at its index. The first that is carried out changes
 *       that for good: such a key is deleted with a write to the gate. If it is refused, the sender
 *       of a lock reads whether the key is its own, and that of a release is told that it was sent
 *       twice. If there is no answer of use, the attempt is withdrawn by a write to both.
 *   <li>A key that is deleted without a condition is one that nobody uses again.
 *   <li>A countdown that is written again has the same sessions, and ends when they do.
 *   <li>Another write to a gate costs the next attempt a read; one to a watched key, a force check.
 *   <li>A renewal or the end of a session is the same twice. The creation of one is not, and has no
 *       copy.
 * </ul>
 *
 * @see <a href="https://doi.org/10.1145/2408776.2408794">J. Dean, L. A. Barroso: The Tail at
 *     Scale</a>
 */
final class Hedging {
  private static final int PARTS_OF_STORE_TIMEOUT = 3;

  private final OkHttpClient pooled;

  /** A copy of {@link #pooled} that makes a new connection for each request. */
  private final OkHttpClient unpooled;

  private final long silentNanos;
  private final Set<Sending> underWay = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean copying = new AtomicBoolean();

  Hedging(OkHttpClient client, Duration storeTimeout) {
    pooled = client;
    unpooled = client
        .newBuilder()
        .connectionPool(new ConnectionPool(0, 1, TimeUnit.NANOSECONDS))
        .build();
    silentNanos = storeTimeout.dividedBy(PARTS_OF_STORE_TIMEOUT).toNanos();
  }

  /** An answer of any status, read to its end. */
  record Reply(int status, String body, @Nullable String index) {
    private static final String INDEX = "X-Consul-Index";

    /** Whether it is an answer to the question, and not the refusal of one. */
    boolean isAnswer() {
      return status == 200 || status == 404 || status == 409;
    }

    /** Waits for the answer to a call. */
    static Reply to(Call call) throws IOException {
      try (Response response = execute(call)) {
        return new Reply(response.code(), response.body().string(), response.header(INDEX));
      }
    }

    /**
     * Executes a call. Whatever else it throws is an I/O error: an interrupted connect, which
     * OkHttp does not declare, and the exception of a user's interceptor.
     */
    private static Response execute(Call call) throws IOException {
      try {
        return call.execute();
      } catch (Exception e) {
        if (e instanceof InterruptedException) {
          Thread.currentThread().interrupt();
          throw (IOException) new InterruptedIOException(e.toString()).initCause(e);
        }
        throw e instanceof IOException io ? io : new IOException(e);
      }
    }
  }

  /**
   * Sends a request.
   *
   * @param resent whether it was sent before, then on a connection that broke, so that it goes on a
   *     new one now; set if a copy of it is sent
   */
  Reply send(Request request, Deadline deadline, AtomicBoolean resent) throws IOException {
    OkHttpClient client = resent.get() ? unpooled : pooled;
    Sending sending = new Sending(request, deadline, call(client, request, deadline));
    underWay.add(sending);
    try {
      return Reply.to(sending.first);
    } catch (IOException e) {
      return sending.replyToCopy(e);
    } finally {
      underWay.remove(sending);
      if (sending.end()) {
        resent.set(true);
      }
    }
  }

  /** Sends a request once, on a new connection. */
  Reply sendOnce(Request request, Deadline deadline) throws IOException {
    return Reply.to(call(unpooled, request, deadline));
  }

  private static Call call(OkHttpClient client, Request request, Deadline deadline) {
    Call call = client.newCall(request);
    call.timeout().timeout(Math.max(1, deadline.leftNanos()), TimeUnit.NANOSECONDS);
    return call;
  }

  /**
   * Begins to send copies of the requests that are silent, unless that is under way. To be called
   * again and again.
   *
   * @param executor runs a task on another thread
   */
  void tend(Executor executor) {
    if (!copying.get() && nextSilent().isPresent()) {
      executor.execute(this::copySilent);
    }
  }

  private void copySilent() {
    if (!copying.compareAndSet(false, true)) {
      return;
    }
    try {
      for (Optional<Sending> next = nextSilent(); next.isPresent(); next = nextSilent()) {
        next.get().copy();
      }
    } finally {
      copying.set(false);
    }
  }

  /** Returns the request that was sent first of those that are silent and have no copy. */
  private Optional<Sending> nextSilent() {
    long nowNanos = System.nanoTime();
    return underWay.stream()
        .filter(sending -> nowNanos - sending.sentNanos >= silentNanos && sending.isAlone())
        .min(Comparator.comparingLong(sending -> sending.sentNanos - nowNanos));
  }

  /** A request that was sent, and perhaps its copy. */
  private final class Sending {
    final long sentNanos = System.nanoTime();
    final Call first;
    private final Request request;
    private final Deadline deadline;
    private final CompletableFuture<Reply> copied = new CompletableFuture<>();

    // Both guarded by the monitor.
    private @Nullable Call copy;
    private boolean over;

    Sending(Request request, Deadline deadline, Call first) {
      this.request = request;
      this.deadline = deadline;
      this.first = first;
    }

    synchronized boolean isAlone() {
      return copy == null && !over && !copied.isDone();
    }

    /**
     * Sends the copy, unless the request is over, and waits until one of the two is answered.
     * Whatever is thrown concerns this copy alone, and the first may still be answered: its sender
     * is told of it if it is not.
     */
    void copy() {
      try {
        Call call = call(unpooled, request, deadline);
        synchronized (this) {
          if (!isAlone()) {
            return;
          }
          copy = call;
        }
        Reply reply = Reply.to(call);
        if (reply.isAnswer()) {
          copied.complete(reply);
          first.cancel();
        } else {
          copied.completeExceptionally(new IOException("Its copy was answered " + reply.status()));
        }
      } catch (Throwable e) {
        copied.completeExceptionally(e);
      }
    }

    /**
     * Returns the reply to the copy, after the first call failed.
     *
     * @param failure is thrown if there is no such reply
     */
    Reply replyToCopy(IOException failure) throws IOException {
      synchronized (this) {
        if (copy == null) {
          over = true;
          throw failure;
        }
      }
      return deadline.<Reply, IOException>awaitUninterruptibly(leftNanos -> {
        try {
          return copied.get(leftNanos, TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
          failure.addSuppressed(e);
          throw failure;
        }
      });
    }

    /**
     * Ends the request; a copy that is not answered is given up.
     *
     * @return whether there was a copy
     */
    synchronized boolean end() {
      over = true;
      if (copy != null) {
        copy.cancel();
      }
      return copy != null;
    }
  }
}
