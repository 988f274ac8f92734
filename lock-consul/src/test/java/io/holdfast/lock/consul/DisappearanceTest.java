package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A key that disappears: what its holder and those who wait behind it do. */
@Tag("nightly")
class DisappearanceTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static ServerContainer server;

  private final String name = "gone-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  private String cutOff() {
    return "http://" + link.host() + ":" + link.port();
  }

  @AfterEach
  void end() {
    link.close();
  }

  private static Claim claim(String name) {
    return OpenStore.claim(name, TTL);
  }

  @Test
  void whoWaitsForAKeyThatDisappearedStartsWhenItsHolderHasStoppedBelieving() throws Exception {
    try (OpenStore holder = new OpenStore(cutOff());
        OpenStore another = new OpenStore(ConsulServer.address(server));
        OpenStore waiting = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant ended = holder.acquire(claim("ended-" + name));
      ConsulGrant deleted = another.acquire(claim("deleted-" + name));
      Ticket one = waiting.queue(claim("ended-" + name));
      Ticket two = waiting.queue(claim("deleted-" + name));
      link.blackhole();
      long began = System.nanoTime();
      http.destroySession(ended.attempt().session().id());
      assertThat(http.delete("/v1/kv/" + deleted.attempt().key()).status()).isEqualTo(200);
      Await.until("the waiter is told", () -> waiting.wakeUps.get() >= 2);
      for (Ticket ticket : List.of(one, two)) {
        assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      }
      Await.until("half of it is over", () -> System.nanoTime() - began > TTL.toNanos() / 2);
      for (Ticket ticket : List.of(one, two)) {
        assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      }
      for (Ticket ticket : List.of(one, two)) {
        Await.until("it starts", () -> isGranted(ticket));
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
      }
      link.refuse();
    }
  }

  @Test
  void whoWaitsBehindAWaiterThatGaveUpDoesNotStartBeforeTheHolderHasStoppedBelieving()
      throws Exception {
    try (OpenStore holder = new OpenStore(cutOff());
        OpenStore leaving = new OpenStore(ConsulServer.address(server));
        OpenStore waiting = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = holder.acquire(claim(name));
      Ticket before = leaving.queue(claim(name));
      Ticket ticket = waiting.queue(claim(name));
      link.blackhole();
      long began = System.nanoTime();
      http.destroySession(held.attempt().session().id());
      before.close();
      Await.until("the waiter is told", () -> waiting.wakeUps.get() > 0);
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      Await.until("it starts", () -> isGranted(ticket));
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
      link.refuse();
    }
  }

  @Test
  void whoWaitsBehindOneThatHadTheLockStartsAtOnceThoughAKeyBeforeDisappeared() throws Exception {
    try (OpenStore first = new OpenStore(ConsulServer.address(server));
        OpenStore second = new OpenStore(ConsulServer.address(server));
        OpenStore waiting = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = first.acquire(claim(name));
      Ticket before = second.queue(claim(name));
      Ticket ticket = waiting.queue(claim(name));
      first.store.release(held, Duration.ZERO);
      Await.until("the second is told", () -> second.wakeUps.get() > 0);
      Ticket.Granted granted = (Ticket.Granted) before.poll();
      // The same as if its process had ended.
      http.destroySession(held.attempt().session().id());
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      second.store.release(granted.grant(), Duration.ZERO);
      Await.until("the waiter is told", () -> waiting.wakeUps.get() > 0);
      assertThat(ticket.poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  private static boolean isGranted(Ticket ticket) {
    try {
      return ticket.poll() instanceof Ticket.Granted;
    } catch (io.holdfast.lock.spi.StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private LockClient client(String clientName) {
    return ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
        .clientName(clientName)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  @Test
  void aLeaseWhoseKeyDisappearedIsLostWithinARenewalPeriod() throws Exception {
    OkHttpClient plain = new OkHttpClient();
    try (LockClient client = client("holder")) {
      client.get("other-" + name).lock().close();
      byte[] snapshot;
      try (Response response = plain
          .newCall(new Request.Builder()
              .url(ConsulServer.address(server) + "/v1/snapshot")
              .build())
          .execute()) {
        snapshot = response.body().bytes();
      }
      Lease restored = client.get("restored-" + name).lock();
      Lease deleted = client.get("deleted-" + name).lock();
      Lease written = client.get("written-" + name).lock();
      List<LeaseLoss.Reason> reasons = new CopyOnWriteArrayList<>();
      for (Lease lease : List.of(restored, deleted, written)) {
        lease.onLost(loss -> reasons.add(loss.reason()));
      }
      http.delete("/v1/kv/" + ConsulGuard.of(deleted).key());
      http.put("/v1/kv/" + ConsulGuard.of(written).key(), "by hand");
      Await.until("two are told", () -> reasons.size() == 2);
      assertThat(restored.isHeld()).isTrue();
      try (Response response = plain
          .newCall(new Request.Builder()
              .url(ConsulServer.address(server) + "/v1/snapshot")
              .put(RequestBody.create(snapshot, MediaType.get("application/octet-stream")))
              .build())
          .execute()) {
        assertThat(response.code()).isEqualTo(200);
      }
      Await.until("the third is told", () -> reasons.size() == 3);
      assertThat(restored.isHeld()).isFalse();
      for (Lease lease : List.of(restored, deleted, written)) {
        try (LockClient next = client("next");
            Lease now = next.get(lease.name()).lockWithin(Duration.ofSeconds(30))) {
          assertThat(now.isHeld()).isTrue();
        }
      }
    }
  }

  @Test
  void aWaiterStartsWithoutAQuestionWhenTheOneBeforeReleased() throws Exception {
    try (OpenStore holder = new OpenStore(ConsulServer.address(server));
        OpenStore waiting = new OpenStore(ConsulServer.address(server))) {
      // The TTL is a minute. A waiter polls two thirds of its session's TTL after it joined.
      ConsulGrant held = holder.acquire(name);
      Ticket ticket = waiting.queue(name);
      Await.until("the session is watched", () -> waiting.watches() == 1);
      long asked = waiting.requests.count("/v1/txn");
      holder.store.release(held, Duration.ZERO);
      Await.until("the waiter has heard", () -> waiting.wakeUps.get() > 0);
      assertThat(ticket.poll()).isInstanceOf(Ticket.Granted.class);
      assertThat(waiting.requests.count("/v1/txn")).isEqualTo(asked);
    }
  }
}
