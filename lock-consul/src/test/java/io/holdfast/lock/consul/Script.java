package io.holdfast.lock.consul;

import java.io.IOException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okio.Buffer;

/** A plan for the next requests of certain kinds; all others pass. */
final class Script implements Interceptor {
  /** Any request for a session's own keys or a line. */
  static final Predicate<Request> TRANSACTION = request -> path(request).equals("/v1/txn");

  private final CopyOnWriteArrayList<Rule> rules = new CopyOnWriteArrayList<>();

  private record Rule(Predicate<Request> which, AtomicInteger left, Interceptor what) {}

  /** A long poll on an attempt's key. */
  static boolean isOnAttempt(Request request) {
    return path(request).startsWith("/v1/kv/holdfast/m/");
  }

  /** A long poll on a session's key. */
  static boolean isOnSession(Request request) {
    return path(request).startsWith("/v1/kv/holdfast/session/");
  }

  /** Whether a long poll asks for the present state, and does not wait for a change. */
  static boolean isFromAnew(Request request) {
    return "0".equals(request.url().queryParameter("index"));
  }

  static boolean hasText(Request request, String text) {
    try {
      Buffer body = new Buffer();
      if (request.body() != null) {
        request.body().writeTo(body);
      }
      return body.readUtf8().contains(text);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String path(Request request) {
    return request.url().encodedPath();
  }

  /** Does something with the next requests of a kind. */
  void next(int times, Predicate<Request> which, Interceptor what) {
    rules.add(new Rule(which, new AtomicInteger(times), what));
  }

  /**
   * Transactions of the calling thread. Those of the background, which can free an attempt at any
   * time, are left alone.
   */
  static Predicate<Request> transactionOfThisThread() {
    Thread caller = Thread.currentThread();
    return TRANSACTION.and(unused -> Thread.currentThread() == caller);
  }

  /** Loses the answers to the next transactions of the calling thread, which are carried out. */
  void loseAnswers(int times) {
    next(times, transactionOfThisThread(), chain -> {
      chain.proceed(chain.request()).close();
      throw new IOException("The answer was lost");
    });
  }

  /** Returns an answer that nobody can read for want of memory. */
  static Response broken(Chain chain) {
    return answer(chain, 200, 1, "")
        .newBuilder()
        .body(new ResponseBody() {
          @Override
          public MediaType contentType() {
            return MediaType.get("application/json");
          }

          @Override
          public long contentLength() {
            return -1;
          }

          @Override
          public okio.BufferedSource source() {
            throw new OutOfMemoryError("Scripted");
          }
        })
        .build();
  }

  /** Returns an answer as Consul gives it. */
  static Response answer(Chain chain, int status, long index, String body) {
    return new Response.Builder()
        .request(chain.request())
        .protocol(Protocol.HTTP_1_1)
        .code(status)
        .message("Scripted")
        .header("X-Consul-Index", Long.toString(index))
        .body(ResponseBody.create(body, MediaType.get("application/json")))
        .build();
  }

  @Override
  public Response intercept(Chain chain) throws IOException {
    for (Rule rule : rules) {
      if (rule.which().test(chain.request()) && rule.left().getAndDecrement() > 0) {
        return rule.what().intercept(chain);
      }
    }
    return chain.proceed(chain.request());
  }

  /** A place where a request or its answer waits until it may go on. */
  static final class Gate {
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch open = new CountDownLatch(1);

    /** Sends a request at once, and holds its answer back until the gate opens. */
    Response answerLater(Chain chain) throws IOException {
      Response response = chain.proceed(chain.request());
      pass();
      return response;
    }

    /** Holds a request back until the gate opens. */
    Response askLater(Chain chain) throws IOException {
      pass();
      return chain.proceed(chain.request());
    }

    /** Fails a request when the gate opens. */
    Response failLater(Chain unused) throws IOException {
      pass();
      throw new IOException("Scripted");
    }

    private void pass() throws IOException {
      reached.countDown();
      try {
        if (!open.await(60, TimeUnit.SECONDS)) {
          throw new IOException("Nobody opened the gate");
        }
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    boolean isReached() {
      return reached.getCount() == 0;
    }

    void open() {
      open.countDown();
    }
  }
}
