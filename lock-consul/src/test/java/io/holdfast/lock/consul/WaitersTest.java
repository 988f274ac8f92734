package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
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

/** The connections, long polls and reads of a client whose threads wait. */
class WaitersTest {
  private static final int LONG_POLLS_MAX = 16;
  private static final int REQUESTS_MAX = 32;

  /** The least time that a long poll takes if nothing changes. */
  private static final int LONG_POLL_SECONDS = 9;

  private static final int READS_PER_SECOND_MAX = 20;

  private static ServerContainer server;

  private final String name = "waiters-" + UUID.randomUUID() + "-";
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
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @AfterEach
  void end() {
    threads.shutdownNow();
  }

  private static LockClient client(OkHttpClient users) {
    return ConsulLocks.builder(users, ConsulServer.address(server))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(30)))
        .build();
  }

  private List<Lease> takeAll(LockClient client, int names) throws InterruptedException {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < names; i++) {
      leases.add(client.get(name + i).lock().detach());
    }
    return leases;
  }

  @Test
  void waitsOneAfterTheOtherShareALongPoll() throws Exception {
    int names = 4;
    try (LockClient holder = client(new OkHttpClient());
        LockClient waiting = client(users)) {
      List<Lease> leases = takeAll(holder, names);
      waiting.get("warm-" + name).lock().close();
      long begin = System.nanoTime();
      List<Future<?>> waits = new ArrayList<>();
      for (int i = 0; i < names; i++) {
        String awaited = name + i;
        waits.add(threads.submit(() -> {
          for (int k = 0; k < 8; k++) {
            assertThat(waiting.get(awaited).tryLock(Duration.ofMillis(200))).isEmpty();
          }
          return null;
        }));
      }
      for (Future<?> wait : waits) {
        wait.get(60, TimeUnit.SECONDS);
      }
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      // Behind a place of this client that is still being left, a wait listens to that one first.
      long polls = leases.stream()
          .mapToLong(lease -> requests.count("/v1/kv/" + ConsulGuard.of(lease).key()))
          .sum();
      assertThat(polls)
          .as("long polls on holders in %s s", seconds)
          .isBetween((long) names, names * (1 + seconds / LONG_POLL_SECONDS));
      leases.forEach(Lease::close);
    }
  }

  @Test
  void waitersForManyNamesUseAFewConnectionsAndReadTogether() throws Exception {
    int names = 80;
    try (LockClient holder = client(new OkHttpClient());
        LockClient waiting = client(users)) {
      List<Lease> leases = takeAll(holder, names);
      List<Future<Long>> turns = new ArrayList<>();
      for (int i = 0; i < names; i++) {
        String awaited = name + i;
        turns.add(threads.submit(() -> waiting.get(awaited).call(Lease::token)));
      }
      Await.until(
          "all wait",
          () ->
              holder.list(name, names).stream().allMatch(lock -> lock.waiting().orElse(0) == 1));
      requests.forget();
      long begin = System.nanoTime();
      Await.until("the long polls are all in use", () -> requests.longPolls() == LONG_POLLS_MAX);
      Await.until("the others look at their lines", () -> requests.count("/v1/txn") >= 10);
      long seconds = 0;
      while (seconds < 4) {
        assertThat(requests.longPolls()).isLessThanOrEqualTo(LONG_POLLS_MAX);
        Thread.sleep(100); // Between two samples.
        seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      }
      assertThat(requests.count("/v1/txn"))
          .as("reads in %s s", seconds)
          .isLessThanOrEqualTo((seconds + 2) * READS_PER_SECOND_MAX);
      leases.forEach(Lease::close);
      for (Future<Long> turn : turns) {
        assertThat(turn.get(30, TimeUnit.SECONDS)).isPositive();
      }
      // Besides: the one that created the session, its long poll and its renewal.
      assertThat(connections).hasValueBetween(LONG_POLLS_MAX, LONG_POLLS_MAX + REQUESTS_MAX + 3);
    }
  }

  @Test
  void itsThreadsHaveNoThreadLocalsOfThoseWhoStartThem() throws Exception {
    InheritableThreadLocal<String> tenant = new InheritableThreadLocal<>();
    Set<String> seen = ConcurrentHashMap.newKeySet();
    OkHttpClient looking = users
        .newBuilder()
        .addInterceptor(chain -> {
          seen.add((Thread.currentThread().getName().startsWith("holdfast-") ? "ours " : "user's ")
              + tenant.get());
          return chain.proceed(chain.request());
        })
        .build();
    tenant.set("A");
    try (LockClient client = client(looking);
        Lease lease = client.get(name).lock()) {
      Await.until("the session is watched", () -> requests.count("/v1/kv/holdfast/session/") > 0);
      assertThat(lease.isHeld()).isTrue();
    }
    assertThat(seen).containsExactlyInAnyOrder("user's A", "ours null");
  }
}
