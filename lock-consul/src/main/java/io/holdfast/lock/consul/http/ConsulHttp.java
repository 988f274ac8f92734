package io.holdfast.lock.consul.http;

import io.holdfast.lock.consul.ConsulException;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.Dispatcher;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP client for one Consul agent. Each of its requests ends in time. A <em>consistent</em>
 * read is answered by the leader after a majority confirmed that it still leads.
 */
public final class ConsulHttp implements AutoCloseable {
  private static final MediaType JSON = MediaType.get("application/json; charset=utf-8");
  /** The most requests that are under way at once, besides long polls and renewals. */
  private static final int REQUESTS_MAX = 32;

  private static final int IDLE_CONNECTIONS_MAX = 64;

  /** The query that makes a read consistent. */
  static final String CONSISTENT = "consistent";

  /** Consul prolongs a long poll at random, by its wait divided by this at most. */
  private static final int LONG_POLL_EXTRA_DIVISOR = 16;

  private final OkHttpClient client;

  /** Sends the requests that are {@link #limited}. */
  private final Hedging limitedRequests;

  /** Sends the others: a copy of a renewal waits for none of those above. */
  private final Hedging renewals;

  private final Semaphore requestsLeft = new Semaphore(REQUESTS_MAX, true);
  private final ThreadPoolExecutor executor;
  private final Settings settings;
  final Answers answers;
  private final HttpUrl transactions;
  private final HttpUrl consistentTransactions;
  private final Duration storeTimeout;

  /**
   * The address of the agent, and what requests to it need.
   *
   * @param problems makes the causes of failures: the constructor of {@link ConsulException} is not
   *     visible here
   */
  public record Settings(
      OkHttpClient client, HttpUrl base, @Nullable String token, Problems problems) {}

  public ConsulHttp(Settings settings, StoreSettings store) {
    executor = new ThreadPoolExecutor(
        0, Integer.MAX_VALUE, 2, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
          // Without the thread locals of whoever needs another thread.
          Thread thread =
              new Thread(null, task, "holdfast-" + store.clientName() + "-consul", 0, false);
          thread.setDaemon(true);
          return thread;
        });
    executor.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    this.settings = settings;
    answers = new Answers(settings.base(), settings.problems());
    transactions = url("v1/txn", "");
    consistentTransactions = url("v1/txn", CONSISTENT);
    storeTimeout = store.storeTimeout();
    client = settings
        .client()
        .newBuilder()
        .dispatcher(new Dispatcher())
        .connectionPool(new ConnectionPool(IDLE_CONNECTIONS_MAX, 1, TimeUnit.MINUTES))
        // send() resends, and says so (Answer.resent), since a release that is sent twice fails.
        .retryOnConnectionFailure(false)
        .connectTimeout(Duration.ZERO)
        .readTimeout(Duration.ZERO)
        .writeTimeout(Duration.ZERO)
        // Over HTTP/2 all requests share one connection, and would go on using it after it has died
        // silently. With pings it is closed if one is not answered before the next is due.
        .pingInterval(storeTimeout)
        .build();
    limitedRequests = new Hedging(client, storeTimeout);
    renewals = new Hedging(client, storeTimeout);
  }

  /** Opens the client; one read below the prefix shows a wrong address or ACL token at once. */
  public static ConsulHttp open(Settings settings, String prefix, StoreSettings store)
      throws StoreException {
    ConsulHttp http = new ConsulHttp(settings, store);
    try {
      List<Entry> unused = http.read(new Transaction().tree(prefix + "/probe/"), http.deadline());
      return http;
    } catch (StoreException e) {
      http.close();
      throw e;
    }
  }

  /** Returns the deadline of a call that begins now; after the close, it is over at once. */
  public Deadline deadline() {
    // Sockets time out by real time, whatever clock the leases are counted by.
    Duration whole = executor.isShutdown() ? Duration.ZERO : storeTimeout;
    return Deadline.after(whole, TimeSource.system());
  }

  /** Something that sends requests, one after the other. */
  public interface Requests<T> {
    T send() throws StoreException;
  }

  /**
   * Sends requests once there is room for them, so that a client has few connections, however many
   * threads use it. For every request but those of sessions, which are few, and the checks of a
   * renewal, which must not wait.
   */
  public <T> T limited(Requests<T> requests, Deadline deadline) throws StoreException {
    boolean mayBegin = deadline.awaitUninterruptibly(
        leftNanos -> requestsLeft.tryAcquire(leftNanos, TimeUnit.NANOSECONDS));
    if (!mayBegin) {
      throw StoreException.refused(
          "Consul did not answer " + REQUESTS_MAX + " earlier requests of this client in time",
          null);
    }
    try {
      return requests.send();
    } finally {
      requestsLeft.release();
    }
  }

  public Outcome transact(Transaction transaction, Deadline deadline) throws StoreException {
    return limited(
        () -> answers.outcome(put(transactions, transaction.body(), deadline, limitedRequests)),
        deadline);
  }

  /**
   * Carries out a transaction that only checks and reads, as a consistent read. Not
   * {@link #limited}.
   */
  public Outcome check(Transaction transaction, Deadline deadline) throws StoreException {
    return check(transaction, deadline, renewals);
  }

  private Outcome check(Transaction transaction, Deadline deadline, Hedging hedging)
      throws StoreException {
    return answers.outcome(put(consistentTransactions, transaction.body(), deadline, hedging));
  }

  /** Carries out a transaction that only reads, as a consistent read. */
  public List<Entry> read(Transaction transaction, Deadline deadline) throws StoreException {
    Outcome outcome = limited(() -> check(transaction, deadline, limitedRequests), deadline);
    if (outcome.isApplied()) {
      return outcome.entries();
    }
    throw answers.failure(409, outcome.failures().get(0).what(), false);
  }

  /** Reads one key, as a consistent read; null: it does not exist. */
  @Nullable
  public Entry readKey(String key, Deadline deadline) throws StoreException {
    // A tree may be empty, whereas a missing key is an error. Drops the longer keys in the tree.
    return Entry.find(read(new Transaction().tree(key), deadline), key);
  }

  /**
   * Returns the keys and folders directly below a prefix, by a consistent read. A folder stands for
   * all keys in it, and ends with a slash.
   */
  public List<String> keys(String prefix, Deadline deadline) throws StoreException {
    Request request =
        request(url("v1/kv/" + prefix, CONSISTENT + "&keys&separator=/")).get().build();
    Answer answer = limited(() -> send(request, deadline, limitedRequests), deadline);
    if (answer.status() == 404 && answer.index() != null) {
      return List.of();
    }
    if (answer.status() == 200
        && answer.json() instanceof List<?> keys
        && keys.stream().allMatch(String.class::isInstance)) {
      return keys.stream().map(String.class::cast).toList();
    }
    throw answers.notConsuls(answer);
  }

  /** Sends a PUT about a session. What a 404 means is for the caller to know. */
  Answer put(String path, Deadline deadline) throws StoreException {
    return put(url(path, ""), "", deadline, renewals);
  }

  private Answer put(HttpUrl url, String body, Deadline deadline, Hedging hedging)
      throws StoreException {
    return send(request(url).put(RequestBody.create(body, JSON)).build(), deadline, hedging);
  }

  /**
   * Sends a PUT that must not be carried out twice: once, on a new connection, and on a thread that
   * nobody interrupts.
   */
  Answer putOnce(String path, String body, Deadline deadline) throws StoreException {
    if (deadline.isOver()) {
      throw answers.outOfTime(false);
    }
    Request request = request(url(path, "")).put(RequestBody.create(body, JSON)).build();
    FutureTask<Hedging.Reply> sending =
        new FutureTask<>(() -> renewals.sendOnce(request, deadline));
    try {
      execute(sending);
    } catch (OutOfMemoryError e) {
      throw StoreException.refused("There is no thread for a request to Consul: " + e, e);
    }
    Hedging.Reply reply =
        deadline.<Hedging.Reply, StoreException>awaitUninterruptibly(leftNanos -> {
          try {
            return sending.get(leftNanos, TimeUnit.NANOSECONDS);
          } catch (TimeoutException e) {
            throw answers.failure(new InterruptedIOException(e.toString()), false);
          } catch (ExecutionException e) {
            throw answers.failure(
                e.getCause() instanceof IOException io ? io : new IOException(e), false);
          }
        });
    return answers.of(reply, false);
  }

  /** Sends a GET about a session. */
  Answer get(String path, String query, Deadline deadline) throws StoreException {
    return send(request(url(path, query)).get().build(), deadline, renewals);
  }

  private Answer send(Request request, Deadline deadline, Hedging hedging) throws StoreException {
    AtomicBoolean resent = new AtomicBoolean();
    return deadline.awaitUninterruptibly(unused -> send(request, deadline, hedging, resent));
  }

  /**
   * Sends a request, and sends it again on a new connection: once if its connection breaks, since a
   * pooled one is dead after a restart of the agent, for example; and after each interrupt.
   */
  private Answer send(Request request, Deadline deadline, Hedging hedging, AtomicBoolean resent)
      throws InterruptedException, StoreException {
    while (true) {
      if (deadline.isOver()) {
        throw answers.outOfTime(resent.get());
      }
      try {
        return answers.of(hedging.send(request, deadline, resent), resent.get());
      } catch (IOException e) {
        // On a virtual thread, an interrupt closes the socket and leaves the flag set.
        boolean interrupted = Thread.interrupted();
        if (!interrupted && (resent.get() || deadline.isOver() || Answers.isUnreachable(e))) {
          throw answers.failure(e, resent.get());
        }
        resent.set(true);
        if (interrupted) {
          throw new InterruptedException(e.toString());
        }
      }
    }
  }

  /** Makes the failure for a session that ended before it was used. */
  public StoreException sessionGone(String what) {
    return StoreException.refused(
        "A session ended as soon as it was made",
        settings.problems().cause(ConsulException.Problem.SESSION_GONE, 409, what));
  }

  /**
   * The answer to a long poll on a key.
   *
   * @param entry the key; null: it does not exist
   * @param index the Raft index of the state that it shows, or a later one
   */
  public record News(@Nullable Entry entry, long index) {}

  /** Makes a long poll, to be answered once the key is above this index, or after the wait. */
  public Call longPoll(String key, long index, Duration wait) {
    String query = "index=" + index + "&wait=" + wait.toMillis() + "ms";
    Call call = client.newCall(request(url("v1/kv/" + key, query)).get().build());
    call.timeout().timeout(longPollMax(wait).toMillis(), TimeUnit.MILLISECONDS);
    return call;
  }

  /** Returns the longest time that a long poll with this wait can take. */
  public Duration longPollMax(Duration wait) {
    return wait.plus(wait.dividedBy(LONG_POLL_EXTRA_DIVISOR)).plus(storeTimeout);
  }

  /**
   * Sends a long poll, and waits for its answer: for the wait, a sixteenth more, and a store
   * timeout.
   */
  public News listen(Call longPoll) throws StoreException {
    try {
      Answer answer = answers.of(Hedging.Reply.to(longPoll), false);
      if (answer.index() == null) {
        throw answers.notConsuls(answer);
      }
      Entry entry = answer.status() == 404 ? null : single(answer.json());
      return new News(entry, Long.parseLong(answer.index()));
    } catch (IOException | IllegalArgumentException e) {
      throw StoreException.unanswered("A long poll got no answer of use: " + e, e);
    }
  }

  private static Entry single(@Nullable Object json) {
    if (json instanceof List<?> list && list.size() == 1 && list.get(0) instanceof Map<?, ?> kv) {
      return Entry.of(kv);
    }
    throw new IllegalArgumentException("Not one key-value entry");
  }

  private HttpUrl url(String path, String query) {
    HttpUrl.Builder url = settings.base().newBuilder();
    if (!query.isEmpty()) {
      String before = settings.base().encodedQuery();
      url.encodedQuery(before == null ? query : before + "&" + query);
    }
    for (String segment : path.split("/", -1)) {
      url.addPathSegment(segment);
    }
    return url.build();
  }

  private Request.Builder request(HttpUrl url) {
    // By default OkHttp asks for gzip, which costs more than it saves on bodies as small as these.
    Request.Builder request = new Request.Builder().url(url).header("Accept-Encoding", "identity");
    if (settings.token() != null) {
      request.header("X-Consul-Token", settings.token());
    }
    return request;
  }

  /** Begins to send copies of requests that are silent. To be called again and again. */
  public void tend() {
    renewals.tend(executor);
    limitedRequests.tend(executor);
  }

  /** Runs a task on a thread of this client, unless the client is closed. */
  public void execute(Runnable task) {
    executor.execute(task);
  }

  /**
   * Cancels the calls under way, and takes no more tasks. A call that was sent once may be sent
   * once more. A task that runs ends with the deadline that it has: the next one is over at once.
   */
  @Override
  public void close() {
    client.dispatcher().cancelAll();
    executor.shutdown();
    client.connectionPool().evictAll();
  }
}
