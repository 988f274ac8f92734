package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The cost of sessions and long polls, and the fate of locks whose session ends. */
class SessionsTest {
  private static final LockOptions TEN_SECONDS = LockOptions.renewed(Duration.ofSeconds(10));
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(3);

  private static ServerContainer server;

  private final Requests requests = new Requests();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final OkHttpClient users =
      new OkHttpClient.Builder().addInterceptor(requests).build();

  @BeforeAll
  static void start() {
    server = ConsulServer.start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private LockClient client() {
    return ConsulLocks.builder(users, ConsulServer.address(server))
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(TEN_SECONDS)
        .build();
  }

  @Test
  void anUncontendedAcquireAndItsReleaseAreTwoTransactionsAndNoSession() throws Exception {
    try (LockClient client = client()) {
      client.get("warm").lock().close();
      requests.forget();
      for (int i = 0; i < 20; i++) {
        client.get("cycle").lock().close();
      }
      assertThat(requests.count("/v1/txn")).isEqualTo(40);
      assertThat(requests.count("/v1/session/create")).isZero();
    }
  }

  @Tag("nightly")
  @Test
  void manyHeldLocksAreKeptByOneSession() throws Exception {
    try (LockClient client = client()) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        leases.add(client.get("many/" + i).lock());
      }
      assertThat(requests.count("/v1/session/create")).isEqualTo(1);
      // After a first round, all of them are renewed together.
      requests.forget();
      Await.until("a first renewal", () -> requests.count("/v1/session/renew/") >= 2);
      requests.forget();
      long begin = System.nanoTime();
      Await.until("the session is renewed", () -> requests.count("/v1/session/renew/") >= 3);
      // Read first: the questions follow a renewal, so each that is counted has its renewal
      // counted.
      long questions = requests.count("/v1/txn");
      long renewals = requests.count("/v1/session/renew/");
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      assertThat(renewals)
          .as("renewals in " + seconds + " s, each third of 10 s")
          .isLessThanOrEqualTo(1 + (seconds + 1) / 2);
      assertThat(questions)
          .as("questions for all keys, 64 at a time; also those of a renewal just before")
          .isLessThanOrEqualTo(5 * (renewals + 1));
      assertThat(leases).allMatch(Lease::isHeld);
      for (Lease lease : leases) {
        lease.close();
      }
    }
  }

  @Test
  void theEndOfASessionIsToldToEveryHolderAndTheNextAcquireMakesAnother() throws Exception {
    try (LockClient client = client()) {
      DistributedLock lock = client.get("gone/one");
      Lease one = lock.lock();
      Lease two = client.get("gone/two").lock();
      List<LeaseLoss.Reason> reasons = new CopyOnWriteArrayList<>();
      one.onLost(loss -> reasons.add(loss.reason()));
      two.onLost(loss -> reasons.add(loss.reason()));
      http.destroySession(http.sessionOf(ConsulGuard.of(one).key()));
      Await.until("both are told", () -> reasons.size() == 2);
      assertThat(reasons).containsOnly(LeaseLoss.Reason.SESSION_LOST);
      assertThat(one.state()).isEqualTo(LeaseState.LOST);
      try (LockClient other = client();
          Lease next = other.get("gone/one").lock()) {
        assertThat(next.token()).isGreaterThan(one.token());
      }
      try (Lease another = client.get("gone/three").lock()) {
        another.verify();
      }
    }
  }

  @Test
  void waitersOfOneClientAreOneLongPoll() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(50);
    try (LockClient holder = client();
        LockClient waiting = client()) {
      Lease lease = holder.get("poll").lock();
      List<Future<Long>> turns = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        turns.add(threads.submit(() -> {
          try (Lease turn = waiting.get("poll").lock()) {
            return turn.token();
          }
        }));
      }
      Await.until("somebody waits", () -> requests.longPolls() > 0);
      assertThat(requests.longPolls()).isEqualTo(1);
      lease.close();
      for (Future<Long> turn : turns) {
        assertThat(turn.get(30, TimeUnit.SECONDS)).isGreaterThan(lease.token());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** A waiter reads its line every 10 s, and at least twice in the TTL of its session. */
  @Tag("nightly")
  @Test
  void anIdleWaiterAsksLittle() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    Requests others = new Requests();
    OkHttpClient othersUsers = new OkHttpClient.Builder().addInterceptor(others).build();
    try (LockClient holder = ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
            .build();
        LockClient ofTenSeconds = client();
        LockClient ofThirtySeconds =
            ConsulLocks.builder(othersUsers, ConsulServer.address(server)).build()) {
      List<Lease> held =
          List.of(holder.get("idle/10").lock(), holder.get("idle/30").lock());
      List<Future<?>> turns = List.of(
          threads.submit(() -> close(ofTenSeconds.get("idle/10").lock())),
          threads.submit(() -> close(ofThirtySeconds.get("idle/30").lock())));
      Await.until("both wait", () -> requests.longPolls() == 1 && others.longPolls() == 1);
      requests.forget();
      others.forget();
      long begin = System.nanoTime();
      Await.until(
          "each has looked", () -> requests.count("/v1/txn") >= 2 && others.count("/v1/txn") >= 1);
      long asked = requests.paths().size();
      long looks = requests.count("/v1/txn");
      long othersAsked = others.paths().size();
      long othersLooks = others.count("/v1/txn");
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      assertThat(looks).as("looks in " + seconds + " s").isLessThanOrEqualTo(1 + seconds / 5);
      assertThat(othersLooks).isLessThanOrEqualTo(1 + seconds / 10);
      // It also renews its session, and begins its long polls again.
      assertThat(asked).as("requests in " + seconds + " s").isLessThanOrEqualTo(5 + seconds / 2);
      assertThat(othersAsked).isLessThanOrEqualTo(4 + seconds / 10);
      held.forEach(Lease::close);
      for (Future<?> turn : turns) {
        turn.get(30, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static boolean close(Lease lease) {
    lease.close();
    return true;
  }

  @Tag("nightly")
  @Test
  void aFixedLeaseLastsForItsTtlHoweverOldItsSessionIs() throws Exception {
    Duration ttl = Duration.ofSeconds(10);
    try (LockClient client = client()) {
      client.get("fixed/warm").lock().close();
      long made = System.nanoTime();
      Await.until("the session is not new", () -> System.nanoTime() - made > 3_000_000_000L);
      long begin = System.nanoTime();
      Lease lease = client.get("fixed", LockOptions.fixed(ttl)).lock();
      // At first it is held only as long as the session's last renewal allows; then the session is
      // renewed.
      Await.until("it lasts for its TTL", () -> {
        Duration left = ttl.minusNanos(System.nanoTime() - begin);
        return lease.isHeld() && lease.remaining().compareTo(left.minusMillis(500)) > 0;
      });
      Await.until("it ends", () -> !lease.isHeld());
      Duration held = Duration.ofNanos(System.nanoTime() - begin);
      assertThat(held).isBetween(ttl.minusMillis(500), Duration.ofSeconds(25));
      try (LockClient other = client();
          Lease next = other.get("fixed").lock()) {
        assertThat(next.token()).isGreaterThan(lease.token());
      }
    }
  }

  @Test
  void aClosedClientLeavesNoSessionAndTheUsersClientOpen() throws IOException {
    String session;
    try (LockClient client = client()) {
      Lease lease = client.get("closing").lock();
      session = http.sessionOf(ConsulGuard.of(lease).key());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    assertThat(new TestHttp(ConsulServer.address(server)).sessions()).doesNotContain(session);
    assertThat(new TestHttp(ConsulServer.address(server)).keys("holdfast/m/closing"))
        .isEmpty();
    try (Response response = users
        .newCall(new Request.Builder()
            .url(ConsulServer.address(server) + "/v1/status/leader")
            .build())
        .execute()) {
      assertThat(response.code()).isEqualTo(200);
    }
  }
}
