package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.EventListener;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A Consul that answers everything, but late. */
class SlowNetworkTest {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(9);
  private static final Duration TTL = Duration.ofSeconds(27);
  private static final int THREADS = 8;

  private static ServerContainer server;

  private final String name = "slow-" + UUID.randomUUID();
  private final FaultProxy way = FaultProxy.open(server.host(), server.port());
  private final Requests requests = new Requests();

  private final Connections connections = new Connections();
  private final OkHttpClient users = new OkHttpClient.Builder()
      .addInterceptor(requests)
      .eventListener(connections)
      .build();

  /** A record of the connections that a client opens. */
  private static final class Connections extends EventListener {
    /** The paths of the requests that opened one. */
    private final List<String> opened = new CopyOnWriteArrayList<>();

    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger mostUnderWay = new AtomicInteger();

    @Override
    public void callStart(Call call) {
      mostUnderWay.accumulateAndGet(underWay.incrementAndGet(), Math::max);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress address, Proxy proxy) {
      opened.add(call.request().url().encodedPath());
    }

    @Override
    public void callEnd(Call call) {
      underWay.decrementAndGet();
    }

    @Override
    public void callFailed(Call call, IOException e) {
      underWay.decrementAndGet();
    }
  }

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @AfterEach
  void close() {
    way.close();
  }

  private LockClient client(Duration storeTimeout) {
    return ConsulLocks.builder(users, ConsulFixture.addressOf(way))
        .storeTimeout(storeTimeout)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  /** A third of the store timeout is 3 s. */
  @ParameterizedTest
  @ValueSource(ints = {0, 2_600})
  void whatIsAnsweredWithinAThirdOfTheStoreTimeoutIsSentOnce(int roundTripMillis) throws Exception {
    Duration oneWay = Duration.ofMillis(roundTripMillis / 2);
    way.delay(Link.Direction.REQUESTS, oneWay);
    way.delay(Link.Direction.REPLIES, oneWay);
    List<LeaseLoss> losses = new CopyOnWriteArrayList<>();
    try (LockClient other = ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
            .build();
        LockClient client = client(STORE_TIMEOUT)) {
      Lease taken = other.get("taken-" + name).lock();
      // Three requests: that of the session, of its own keys, and of the lock.
      Lease held = client.get("held-" + name).lock();
      held.onLost(losses::add);
      client.get(name).tryLock().orElseThrow().close();
      for (int i = 0; i < 2; i++) {
        assertThat(client.get("taken-" + name).tryLock()).isEmpty();
      }
      held.verify();
      assertThat(held.isHeld()).isTrue();
      assertThat(losses).isEmpty();
      assertThat(requests.sentAgain("/"))
          .as("one, in case the machine stood still for a moment")
          .isLessThanOrEqualTo(1);
      long unshared = requests.count("/v1/session/create") + requests.sentAgain("/");
      assertThat(connections.opened)
          .as("none is broken, or opened while another is idle, but for requests that share none")
          .hasSizeBetween(3, (int) (connections.mostUnderWay.get() + unshared));
      held.close();
      taken.close();
    }
  }

  @Test
  void aServerThatStandsStillForAMomentGetsOneConnectionMore() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    try (LockClient client = client(STORE_TIMEOUT)) {
      client.get(name).lock().close();
      List<Future<?>> first = holdReplies(client, executor);
      letGo(first);
      int before = connections.opened.size();
      List<Future<?>> second = holdReplies(client, executor);
      Await.until("one is sent again", () -> requests.sentAgain("/v1/txn") > 0);
      Thread.sleep(1_000); // Time for more copies, of which there must be none.
      assertThat(requests.sentAgain("/v1/txn")).isEqualTo(1);
      assertThat(connections.opened.size() - before).isBetween(1, 2);
      letGo(second);
    } finally {
      executor.shutdownNow();
    }
  }

  /** A question whether a lease is valid begins with a renewal. */
  @Test
  void aRenewalIsSentAgainWhileTheCopyOfAnAcquireIsSilent() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS + 1);
    try (LockClient client = client(STORE_TIMEOUT)) {
      Lease held = client.get(name).lock();
      List<Future<?>> begun = holdReplies(client, executor);
      begun.add(executor.submit(held::verify));
      Await.until("an acquire is sent again", () -> requests.sentAgain("/v1/txn") > 0);
      Await.until("so is the renewal", () -> requests.sentAgain("/v1/session/renew/") > 0);
      assertThat(requests.sentAgain("/v1/txn")).as("its copy is silent yet").isEqualTo(1);
      letGo(begun);
      held.close();
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void aFrozenServerIsAskedForOneSessionHoweverManyCallsNeedIt() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    try (LockClient client = client(Duration.ofSeconds(5))) {
      way.hold(Link.Direction.REPLIES);
      List<Future<?>> begun = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        String own = name + "-" + i;
        begun.add(executor.submit(() -> client.get(own).tryLock()));
      }
      for (Future<?> one : begun) {
        assertThatThrownBy(() -> one.get(30, TimeUnit.SECONDS))
            .hasCauseInstanceOf(LockStoreException.class);
      }
      way.heal();
      client.get(name).lock().close();
      assertThat(requests.count("/v1/session/create"))
          .as("the session of the late answer is used")
          .isEqualTo(1);
    } finally {
      executor.shutdownNow();
    }
  }

  /**
   * Each session is destroyed by a request of its own, of which the first is silent. If there was
   * time left after that, the next would be sent.
   */
  @Test
  void aCloseWithoutAnswersTakesOneStoreTimeoutOfTheStore() throws Exception {
    try (LockClient client = client(Duration.ofSeconds(2))) {
      for (int seconds : new int[] {10, 30, 60}) {
        client
            .get(name, LockOptions.renewed(Duration.ofSeconds(seconds)))
            .lock()
            .close();
      }
      way.blackhole();
      requests.forget();
    }
    assertThat(requests.paths().stream()
            .filter(path -> path.startsWith("/v1/session/destroy/") || path.equals("/v1/txn"))
            .distinct())
        .hasSize(1);
  }

  /** Makes all threads ask for a lock each, and holds the answers back. */
  private List<Future<?>> holdReplies(LockClient client, ExecutorService executor)
      throws InterruptedException {
    long asked = requests.count("/v1/txn");
    way.hold(Link.Direction.REPLIES);
    List<Future<?>> begun = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      String own = name + "-" + i;
      begun.add(executor.submit(() -> {
        client.get(own).lock().close();
        return null;
      }));
    }
    Await.until("all have asked", () -> requests.count("/v1/txn") >= asked + THREADS);
    return begun;
  }

  private void letGo(List<Future<?>> begun) throws Exception {
    way.heal();
    for (Future<?> one : begun) {
      one.get(30, TimeUnit.SECONDS);
    }
  }
}
