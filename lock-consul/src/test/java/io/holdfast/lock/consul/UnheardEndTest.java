package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Ends that go unheard: that of a session by its holder, that of a lease by its waiter. */
class UnheardEndTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static ServerContainer server;

  private final String name = "unheard-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @AfterEach
  void end() {
    link.close();
  }

  private static LockClient client(String address) {
    return client(address, TTL);
  }

  private static LockClient client(String address, Duration ttl) {
    return ConsulLocks.builder(new OkHttpClient(), address)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(ttl))
        .build();
  }

  @Test
  void whoComesWhenNobodyWaitsStartsWhenTheHolderHasStoppedBelieving() throws Exception {
    try (LockClient holder = client("http://" + link.host() + ":" + link.port());
        LockClient newcomer = client(ConsulServer.address(server))) {
      Lease held = holder.get(name).lock();
      String session = http.sessionOf(ConsulGuard.of(held).key());
      link.blackhole();
      http.destroySession(session);
      assertThat(newcomer.get(name).tryLock()).isEmpty();
      assertThat(held.isHeld()).as("what this test is about").isTrue();
      Lease next = newcomer.get(name).lockWithin(Duration.ofSeconds(30));
      assertThat(held.isHeld()).isFalse();
      assertThat(next.isHeld()).isTrue();
      assertThat(next.token()).isGreaterThan(held.token());
      link.heal();
      next.verify();
      next.close();
    }
  }

  @Test
  void whoIsToldOfTheEndLetsTheNextInAtOnce() throws Exception {
    try (LockClient holder = client(ConsulServer.address(server));
        LockClient newcomer = client(ConsulServer.address(server))) {
      Lease held = holder.get(name).lock();
      long begin = System.nanoTime();
      http.destroySession(http.sessionOf(ConsulGuard.of(held).key()));
      Lease next = newcomer.get(name).lockWithin(Duration.ofSeconds(30));
      assertThat(held.isHeld()).isFalse();
      assertThat(Duration.ofNanos(System.nanoTime() - begin))
          .as("whoever can't know that the holder was told waits for longer")
          .isLessThan(TTL);
      next.close();
      Await.until("the holder is told", () -> held.state() == io.holdfast.lock.LeaseState.LOST);
    }
  }

  /**
   * The same happens if Consul is slow to answer, and the release and the close come in between.
   */
  @Test
  void whoDidNotHearOfAReleaseIsNextThoughTheHoldersClientWasClosedSinceThen() throws Exception {
    Duration longTtl = Duration.ofSeconds(60);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (LockClient waiter = client("http://" + link.host() + ":" + link.port(), longTtl)) {
      Future<Long> next;
      try (LockClient holder = client(ConsulServer.address(server), longTtl)) {
        Lease held = holder.get(name).lock();
        next = thread.submit(() -> waiter.get(name).call(Lease::token));
        Await.until(
            "somebody waits", () -> holder.list(name, 1).get(0).waiting().orElse(0) == 1);
        link.silence();
        held.close();
      }
      assertThat(next.get(40, TimeUnit.SECONDS))
          .as("at its next look, after 10 s")
          .isPositive();
    } finally {
      thread.shutdownNow();
    }
  }
}
