package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.SocketFactory;
import okhttp3.OkHttpClient;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Faulty replies: each is an error with a name, and never "busy". */
class FaultsTest {
  /** The least pause between a long poll of a waiter that failed and the next. */
  private static final long LEAST_PAUSE_MILLIS = 250;

  private static ServerContainer server;

  private final WrongAnswers answers = new WrongAnswers();
  private final Requests requests = new Requests();
  private final OkHttpClient users = new OkHttpClient.Builder()
      .addInterceptor(requests)
      .addInterceptor(answers)
      .build();
  private final String name = "faults/" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  private LockClient client() {
    return client(users);
  }

  private static LockClient client(OkHttpClient users) {
    return ConsulLocks.builder(users, ConsulServer.address(server))
        .storeTimeout(Duration.ofSeconds(4))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(12)))
        .build();
  }

  @ParameterizedTest
  @CsvSource({
    "429, Your IP is issuing too many concurrent connections, TOO_MANY_REQUESTS",
    "500, No cluster leader, NO_LEADER",
    "500, rpc error making call: No cluster leader, NO_LEADER",
    "500, rpc error making call: EOF, OTHER",
    "403, Permission denied, ACL_DENIED",
    "403, ACL not found, ACL_DENIED"
  })
  void aRefusalIsAnErrorWithItsCause(int status, String body, ConsulException.Problem problem)
      throws Exception {
    try (LockClient client = client()) {
      client.get(name).lock().close();
      answers.begin("/v1/txn", status, body);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get(name).tryLock())
          .satisfies(e -> assertThat(cause(e).problem()).isEqualTo(problem))
          .satisfies(e -> assertThat(cause(e).status()).isEqualTo(status))
          .satisfies(e -> assertThat(e.getMessage().contains("the right to write sessions"))
              .isEqualTo(problem == ConsulException.Problem.ACL_DENIED));
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get(name).tryLock(Duration.ofMillis(10)))
          .satisfies(e -> assertThat(cause(e).problem()).isEqualTo(problem));
      answers.end();
      client.get(name).lock().close();
    }
  }

  private static ConsulException cause(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ConsulException consul) {
        return consul;
      }
    }
    throw new AssertionError("No answer of Consul among the causes", e);
  }

  @Test
  void anAgentThatIsNotThereIsAnError() {
    int port = Ports.free();
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() ->
            ConsulLocks.builder(new OkHttpClient(), "http://127.0.0.1:" + port).build())
        .withMessageContaining("can't be reached");
  }

  @Test
  void anInterceptorThatThrowsIsAnErrorAndTheClientEndsAllTheSame() throws Exception {
    AtomicBoolean throwing = new AtomicBoolean();
    AtomicInteger underWay = new AtomicInteger();
    OkHttpClient users = new OkHttpClient.Builder()
        .addInterceptor(chain -> {
          if (throwing.get()) {
            throw new IllegalStateException("The interceptor is broken");
          }
          underWay.incrementAndGet();
          try {
            return chain.proceed(chain.request());
          } finally {
            underWay.decrementAndGet();
          }
        })
        .build();
    try (LockClient client = ConsulLocks.builder(users, ConsulServer.address(server))
        .storeTimeout(Duration.ofSeconds(4))
        // Its long polls take up to five minutes.
        .defaultOptions(LockOptions.renewed(Duration.ofMinutes(5)))
        .build()) {
      Lease unused = client.get(name).lock();
      Await.until("its session is watched", () -> underWay.get() == 1);
      throwing.set(true);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get("other-" + name).tryLock())
          .withMessageContaining("The interceptor is broken");
    }
    Await.until("no request is left", () -> underWay.get() == 0);
  }

  @Test
  void anAddressWithAWrongPathIsAnErrorThatNamesIt() {
    String address = ConsulServer.address(server) + "/wrong";
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> ConsulLocks.builder(new OkHttpClient(), address).build())
        .withMessageContaining(address);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "404; 404 page not found",
        "404; {\"message\":\"no Route matched with those values\"}",
        "200; <html>Welcome</html>",
        "200; [1]",
        "200; {}"
      })
  void whatAnswersInConsulsPlaceSaysNothingAboutLocks(int status, String body) throws Exception {
    try (LockClient client = client();
        LockClient other = client(new OkHttpClient())) {
      Lease lease = client.get(name).lock();
      answers.begin("/v1/", status, body);
      for (ThrowingCallable question : List.<ThrowingCallable>of(
          () -> client.list("", 10),
          () -> client.get(name).inspect(),
          () -> client.get(name).forceRelease(lease.token()),
          () -> client.get("free/" + name).tryLock(),
          () -> client.get("free/" + name).tryLock(Duration.ofSeconds(1)),
          lease::verify,
          this::client)) {
        assertThatExceptionOfType(LockStoreException.class)
            .isThrownBy(question)
            .withMessageContaining(ConsulServer.address(server));
      }
      assertThat(lease.isHeld()).isTrue();
      lease.close();
      answers.end();
      Await.until("it is free", () -> other.get(name).inspect().isEmpty());
    }
  }

  @Test
  void aSessionThatIsGoneUnnoticedIsReplaced() throws Exception {
    try (LockClient client = client()) {
      // The client does not hear of the end of its session.
      answers.begin("/v1/kv/", 500, "No cluster leader");
      Lease first = client.get(name).lock();
      TestHttp http = new TestHttp(ConsulServer.address(server));
      String session = http.sessionOf(ConsulGuard.of(first).key());
      first.close();
      http.destroySession(session);
      try (Lease second = client.get(name).lock()) {
        assertThat(http.sessionOf(ConsulGuard.of(second).key())).isNotEqualTo(session);
        assertThat(second.token()).isGreaterThan(first.token());
      }
    }
  }

  @Test
  void aSessionThatTheServersSettingsForbidIsARefusalThatSaysSo() throws Exception {
    try (LockClient client = client();
        LockStore store = PlainStore.open(users, ConsulServer.address(server), "faults")) {
      // The words are those of Consul.
      answers.begin(
          "/v1/session/create",
          500,
          "Invalid Session TTL '30000000000', must be between [1m0s=24h0m0s]");
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get(name).tryLock())
          .withMessageContaining("session_ttl_min");
      // The request changed nothing, so nothing is to be withdrawn.
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> store.tryAcquire(OpenStore.claim(name)))
          .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
      answers.end();
    }
  }

  @Test
  void sessionsThatEndAtOnceAreAnError() throws Exception {
    try (LockClient client = client()) {
      client.get(name).lock().close();
      answers.begin(
          "/v1/txn",
          409,
          "{\"Results\":null,\"Errors\":[{\"OpIndex\":0,\"What\":\"invalid session\"}]}");
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get(name).tryLock())
          .satisfies(
              e -> assertThat(cause(e).problem()).isEqualTo(ConsulException.Problem.SESSION_GONE));
      answers.end();
    }
  }

  @Test
  void aTransactionThatFailsInsideConsulTellsNothingAboutTheLock() throws Exception {
    try (LockStore store = PlainStore.open(users, ConsulServer.address(server), "faults")) {
      Grant grant = store.tryAcquire(OpenStore.claim(name)).orElseThrow();
      answers.begin(
          "/v1/txn",
          409,
          "{\"Results\":null,\"Errors\":[{\"OpIndex\":0,\"What\":\"failed kvs lookup: broken\"}]}");
      for (ThrowingCallable question : List.<ThrowingCallable>of(
          () -> store.verify(grant),
          () -> store.release(grant, Duration.ZERO),
          () -> store.forceRelease(OpenStore.key(name), grant.number()),
          () -> store.tryAcquire(OpenStore.claim(name)))) {
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(question)
            .withMessageContaining("failed kvs lookup");
      }
      answers.end();
      assertThat(store.verify(grant)).isPresent();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  @Test
  void aHolderWhoseRenewalsAreRefusedIsUncertainUntilOneIsNot() throws Exception {
    try (LockClient client = client();
        Lease lease = client.get(name).lock()) {
      answers.begin("/v1/session/renew/", 429, "Too many");
      Await.until("the holder doubts", () -> lease.state() == LeaseState.UNCERTAIN);
      answers.end();
      Await.until("and is sure again", () -> lease.state() == LeaseState.HELD);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {429, 404})
  void aWaiterWhoseLongPollsAreRefusedLooksNowAndThenAndGetsTheLock(int status) throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (LockClient holder = client(new OkHttpClient());
        LockClient waiting = client()) {
      Lease lease = holder.get(name).lock();
      waiting.get("warm").lock().close();
      answers.begin("/v1/kv/", status, "No answer of Consul's");
      requests.forget();
      long begin = System.nanoTime();
      Future<Long> turn = thread.submit(() -> {
        try (Lease next = waiting.get(name).lock()) {
          return next.token();
        }
      });
      Await.until("it asked several times", () -> requests.count("/v1/kv/holdfast/m/") >= 4);
      long asked = requests.count("/v1/kv/holdfast/m/");
      long elapsedMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
      assertThat(asked)
          .as("in " + elapsedMillis + " ms")
          .isLessThanOrEqualTo(2 + elapsedMillis / LEAST_PAUSE_MILLIS);
      lease.close();
      assertThat(turn.get(30, TimeUnit.SECONDS)).isGreaterThan(lease.token());
    } finally {
      answers.end();
      thread.shutdownNow();
    }
  }

  @Test
  void anInterruptDuringAConnectBreaksNothing() throws Exception {
    SlowConnects connects = new SlowConnects();
    // No connection is kept, so that the acquire must connect.
    OkHttpClient slow = new OkHttpClient.Builder()
        .socketFactory(connects)
        .addInterceptor(chain -> chain.proceed(
            chain.request().newBuilder().header("Connection", "close").build()))
        .build();
    try (LockClient client = client(slow)) {
      connects.slow.set(true);
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      AtomicBoolean flag = new AtomicBoolean();
      Thread thread = new Thread(() -> {
        try (Lease lease = client.get(name).tryLock().orElseThrow()) {
          flag.set(Thread.interrupted());
          lease.verify();
        } catch (Throwable e) {
          thrown.set(e);
        }
      });
      thread.start();
      Await.until("somebody connects", () -> connects.waiting.get());
      thread.interrupt();
      connects.go.countDown();
      thread.join(30_000);
      assertThat(thrown.get()).isNull();
      assertThat(flag).isTrue();
    }
  }

  /** As on a virtual thread, where an interrupt closes the socket and leaves the flag set. */
  @Test
  void anInterruptThatClosesTheSocketBreaksNothing() throws Exception {
    Thread caller = Thread.currentThread();
    AtomicInteger requests = new AtomicInteger();
    try (OpenStore open = new OpenStore(ConsulServer.address(server))) {
      Grant grant = open.acquire(name);
      open.script.next(Integer.MAX_VALUE, request -> Thread.currentThread() == caller, chain -> {
        if (requests.getAndIncrement() == 0) {
          caller.interrupt();
        }
        if (caller.isInterrupted()) {
          throw new SocketException("Closed by interrupt");
        }
        return chain.proceed(chain.request());
      });
      assertThat(open.store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(Thread.interrupted()).as("the flag").isTrue();
      assertThat(requests).hasValue(2);
    } finally {
      boolean unused = Thread.interrupted();
    }
  }

  /** A factory of sockets that connect only when they are let. */
  private static final class SlowConnects extends SocketFactory {
    final AtomicBoolean slow = new AtomicBoolean();
    final AtomicBoolean waiting = new AtomicBoolean();
    final CountDownLatch go = new CountDownLatch(1);

    @Override
    public Socket createSocket() {
      return new Socket() {
        @Override
        public void connect(SocketAddress endpoint, int timeout) throws IOException {
          try {
            waiting.set(slow.get());
            if (slow.get() && !go.await(10, TimeUnit.SECONDS)) {
              throw new IOException("Nobody let it");
            }
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
          super.connect(endpoint, timeout);
        }
      };
    }

    @Override
    public Socket createSocket(String host, int port) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
      throw new UnsupportedOperationException();
    }
  }
}
