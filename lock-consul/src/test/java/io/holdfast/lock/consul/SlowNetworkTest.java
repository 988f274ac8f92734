package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A Consul that answers everything, but late. */
class SlowNetworkTest {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(9);
  private static final Duration TTL = Duration.ofSeconds(27);
  private static final int CYCLES = 2;
  private static final int THREADS = 8;

  private static KitContainer server;

  private final String name = "slow-" + UUID.randomUUID();
  private final FaultProxy way = FaultProxy.open(server.host(), server.port());
  private final Requests requests = new Requests();
  private final AtomicInteger connections = new AtomicInteger();
  private final OkHttpClient users = new OkHttpClient.Builder()
      .addInterceptor(requests)
      .eventListener(new EventListener() {
        @Override
        public void connectStart(Call call, InetSocketAddress address, Proxy proxy) {
          connections.incrementAndGet();
        }
      })
      .build();

  @BeforeAll
  static void start() {
    server = new KitContainer();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @AfterEach
  void close() {
    way.close();
  }

  private LockClient client() {
    return ConsulLocks.builder(users, ConsulFixture.addressOf(way))
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  /** A third of the store timeout is 3 s. */
  @ParameterizedTest
  @ValueSource(ints = {0, 2_000})
  void whatIsAnsweredWithinAThirdOfTheStoreTimeoutIsSentOnce(int roundTripMillis) throws Exception {
    Duration oneWay = Duration.ofMillis(roundTripMillis / 2);
    way.delay(Link.Direction.REQUESTS, oneWay);
    way.delay(Link.Direction.REPLIES, oneWay);
    List<LeaseLoss> losses = new CopyOnWriteArrayList<>();
    try (LockClient client = client()) {
      Lease held = client.get("held-" + name).lock();
      held.onLost(losses::add);
      assertThat(requests.count("/v1/session/create")).isEqualTo(1);
      assertThat(requests.count("/v1/txn"))
          .as("the builder's read, the session's own keys, and the acquire")
          .isEqualTo(3);
      for (int i = 0; i < CYCLES; i++) {
        client.get(name + i).tryLock().orElseThrow().close();
      }
      assertThat(requests.count("/v1/txn") - 2 * requests.count("/v1/session/renew/"))
          .as("two for each cycle; each renewal has a question")
          .isLessThanOrEqualTo(3 + 2 * CYCLES);
      held.verify();
      assertThat(held.isHeld()).isTrue();
      // The builder's, the one that creates the session, the long poll's, that of a renewal and
      // that of a background task.
      assertThat(connections).hasValueLessThanOrEqualTo(5);
      assertThat(losses).isEmpty();
      held.close();
    }
  }

  @Test
  void aServerThatStandsStillForAMomentGetsOneConnectionMore() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    try (LockClient client = client()) {
      client.get(name).lock().close();
      holdReplies(client, executor, Duration.ZERO);
      int before = connections.get();
      // Longer than what is suspicious of a server that was fast.
      holdReplies(client, executor, Duration.ofMillis(1_500));
      holdReplies(client, executor, Duration.ZERO);
      assertThat(connections.get() - before).isLessThanOrEqualTo(2);
    } finally {
      executor.shutdownNow();
    }
  }

  /**
   * Each session is destroyed by a request of its own; one that is silent takes all of the time.
   */
  @Test
  void aCloseWithoutAnswersTakesOneStoreTimeoutOfTheStore() throws Exception {
    try (LockClient client = ConsulLocks.builder(users, ConsulFixture.addressOf(way))
        .storeTimeout(Duration.ofSeconds(2))
        .build()) {
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
            .filter(path -> path.startsWith("/v1/session/destroy/"))
            .distinct())
        .hasSize(1);
  }

  /** Makes all threads ask for a lock each, and holds the answers back for a while. */
  private void holdReplies(LockClient client, ExecutorService executor, Duration pause)
      throws Exception {
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
    eventually("all have asked", () -> requests.count("/v1/txn") >= asked + THREADS);
    Thread.sleep(pause.toMillis());
    way.heal();
    for (Future<?> one : begun) {
      one.get(30, TimeUnit.SECONDS);
    }
  }
}
