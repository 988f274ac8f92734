package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Extensions of a fixed lease, whose end only its own client knows. */
class ExtendTest {
  private static ServerContainer server;

  private final String name = "extend-" + UUID.randomUUID();
  private final String prefix = "extend-" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  private LockStore open() throws StoreException {
    return PlainStore.open(ConsulServer.address(server), prefix);
  }

  private Grant acquire(LockStore store, Duration ttl) throws StoreException {
    return store.tryAcquire(OpenStore.claim(name, ttl)).orElseThrow();
  }

  private boolean isFree(LockStore store) {
    try {
      return store.inspect(OpenStore.key(name)).isEmpty();
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<String> keysOfLocks() throws IOException {
    return new TestHttp(ConsulServer.address(server))
        .keys(prefix + "/").stream()
            .filter(key -> !key.startsWith(prefix + "/session/"))
            .toList();
  }

  private static Duration since(long beganNanos) {
    return Duration.ofNanos(System.nanoTime() - beganNanos);
  }

  private static void await(Duration duration, long beganNanos) {
    Await.until(duration + " are over", () -> since(beganNanos).compareTo(duration) > 0);
  }

  @Test
  void anExtendedLeaseLastsUntilItsNewEndAndNoLonger() throws Exception {
    try (LockStore store = open();
        LockStore other = open()) {
      Grant grant = acquire(store, Duration.ofSeconds(4));
      long extended = System.nanoTime();
      assertThat(store.extend(grant, Duration.ofSeconds(8))).contains(Duration.ofSeconds(8));
      await(Duration.ofMillis(4_500), extended);
      assertThat(store.verify(grant).orElseThrow())
          .isBetween(Duration.ofMillis(1), Duration.ofSeconds(4));
      assertThat(other.tryAcquire(OpenStore.claim(name))).isEmpty();
      Await.until("it ends", () -> isFree(other));
      assertThat(since(extended)).isGreaterThan(Duration.ofSeconds(8));
      assertThat(store.verify(grant)).isEmpty();
    }
  }

  /**
   * The extension needs more than one answer, since each holds only as long as the session is known
   * to live.
   */
  @Test
  void aLeaseCanLastForLongerThanItsSessionWithoutRenewal() throws Exception {
    Duration sessionTtl = Duration.ofSeconds(10);
    try (LockStore store = open()) {
      Grant grant = acquire(store, Duration.ofSeconds(4));
      long extended = System.nanoTime();
      assertThat(store.extend(grant, Duration.ofSeconds(60)).orElseThrow())
          .isBetween(sessionTtl, sessionTtl.plusSeconds(10));
      while (since(extended).compareTo(sessionTtl.plusSeconds(2)) < 0) {
        assertThat(store.verify(grant)).isPresent();
        long verified = System.nanoTime();
        await(Duration.ofSeconds(1), verified);
      }
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  @Test
  void leasesOfASessionAreVerifiedInFewRequestsAndOneThatWasTakenDoesNotStand() throws Exception {
    try (OpenStore open = new OpenStore(ConsulServer.address(server))) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        grants.add(open.acquire(name + i));
      }
      Grant taken = grants.get(70);
      assertThat(open.store.forceRelease(taken.claim().key(), taken.number())).isTrue();
      open.requests.forget();
      List<Optional<Duration>> left = open.store.verifyAll(grants);
      // The background may send some of its own meanwhile.
      assertThat(open.requests.paths()).hasSizeLessThan(20);
      assertThat(left).hasSize(grants.size());
      for (int i = 0; i < grants.size(); i++) {
        assertThat(left.get(i).isPresent()).as("grant %d stands", i).isEqualTo(i != 70);
      }
    }
  }

  @Test
  void aLeaseWhoseSessionIsGoneIsNotRevived() throws Exception {
    try (LockStore store = open()) {
      Grant grant = acquire(store, Duration.ofMinutes(1));
      String session = ((ConsulGrant) grant).attempt().session().id();
      new TestHttp(ConsulServer.address(server)).destroySession(session);
      assertThat(store.extend(grant, Duration.ofMinutes(2))).isEmpty();
      assertThat(store.verify(grant)).isEmpty();
      Await.until("its name is free", () -> isFree(store));
    }
  }

  /** Nothing tells the client of the deletion, unlike of a forced release. */
  @Test
  void aLeaseWhoseKeyWasDeletedByHandIsNotRevived() throws Exception {
    try (LockStore store = open();
        LockStore other = open()) {
      Grant grant = acquire(store, Duration.ofMinutes(1));
      for (String key : keysOfLocks()) {
        new TestHttp(ConsulServer.address(server)).delete("/v1/kv/" + key);
      }
      Grant next = acquire(other, Duration.ofMinutes(1));
      assertThat(store.extend(grant, Duration.ofMinutes(2))).isEmpty();
      assertThat(store.verify(grant)).isEmpty();
      assertThat(other.verify(next)).isPresent();
    }
  }

  @Test
  void aLeaseThatRanOutIsNotRevived() throws Exception {
    try (LockStore store = open()) {
      Grant grant = acquire(store, Duration.ofSeconds(2));
      long granted = System.nanoTime();
      await(Duration.ofSeconds(2), granted);
      assertThat(store.extend(grant, Duration.ofMinutes(1))).isEmpty();
      Await.until("its name is free", () -> isFree(store));
    }
  }

  @Test
  void afterAnExtensionTheNameStaysTakenForItsMinimumHoldAsEver() throws Exception {
    Duration hold = Duration.ofSeconds(3);
    Claim plain = OpenStore.claim(name, Duration.ofSeconds(4));
    Claim claim =
        new Claim(plain.key(), plain.mode(), plain.ownerId(), plain.ttl(), hold, plain.holder());
    try (LockStore store = open();
        LockStore other = open()) {
      Grant grant = store.tryAcquire(claim).orElseThrow();
      assertThat(store.extend(grant, Duration.ofMinutes(1))).isPresent();
      long released = System.nanoTime();
      assertThat(store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("the hold ends", () -> isFree(other));
      assertThat(since(released)).isBetween(hold, hold.plusSeconds(15));
    }
  }
}
