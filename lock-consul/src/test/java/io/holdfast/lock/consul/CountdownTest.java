package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Request;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Countdowns: names that Consul keeps taken for a time, and what that costs the client. */
class CountdownTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static ServerContainer server;

  private final String name = "countdown-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final MovableTime time = new MovableTime();
  private OpenStore holder;
  private OpenStore finder;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() {
    holder = new OpenStore(ConsulServer.address(server), time);
    finder = new OpenStore(ConsulServer.address(server));
  }

  @AfterEach
  void close() {
    holder.close();
    finder.close();
  }

  private Claim claim(Duration minHold) {
    Claim claim = OpenStore.claim(name, TTL);
    return new Claim(claim.key(), claim.mode(), claim.ownerId(), TTL, minHold, "a test");
  }

  private void holdFor(Duration minHold) throws StoreException {
    holder.store.release(holder.acquire(claim(minHold)), minHold);
  }

  /** Leaves a key whose session has ended, and whose client hears nothing. */
  private void orphan() throws Exception {
    ConsulGrant grant = holder.acquire(claim(Duration.ZERO));
    holder.script.next(Integer.MAX_VALUE, request -> true, chain -> {
      throw new IOException("Cut off");
    });
    http.destroySession(grant.attempt().session().id());
  }

  private boolean isGranted(Duration ttl) throws StoreException {
    return finder.store.tryAcquire(OpenStore.claim(name, ttl)).isPresent();
  }

  private List<Entry> countdown() {
    try {
      return http.entries("holdfast/m/" + name + "/" + Countdown.KEY);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private void awaitCountdown(Duration ttl) {
    awaitCountdown(ttl, ttl);
  }

  private void awaitCountdown(Duration least, Duration most) {
    Await.until("it is counted down", () -> countdown().size() == 2);
    assertThat(countdown())
        .allSatisfy(part -> {
          String[] words = part.value().split(" ", -1);
          assertThat(words[0]).isEqualTo("countdown");
          assertThat(Duration.ofMillis(Long.parseLong(words[1]))).isBetween(least, most);
        })
        .noneMatch(part -> part.session().isEmpty());
  }

  /** Returns what is left of a minimum hold that began at that time or later. */
  private static Duration leftOf(Duration hold, long beforeNanos) {
    return hold.minusNanos(System.nanoTime() - beforeNanos);
  }

  private static boolean isTimer(Request request) {
    return request.url().encodedPath().equals("/v1/session/create")
        && Script.hasText(request, " timer");
  }

  @Test
  void ofAMinimumHoldWhoseClientIsClosedOnlyWhatIsLeftIsCounted() throws Exception {
    long before = System.nanoTime();
    holdFor(Duration.ofMinutes(5));
    time.pass(Duration.ofMinutes(4).plusSeconds(45));
    holder.close();
    Duration most = Duration.ofSeconds(15);
    awaitCountdown(leftOf(most, before), most);
    assertThat(isGranted(TTL)).isFalse();
    assertThat(finder.store.inspect(OpenStore.key(name)).orElseThrow().remaining())
        .isLessThanOrEqualTo(Duration.ofSeconds(15));
    http.destroySession(countdown().get(0).session());
    assertThat(isGranted(TTL)).isTrue();
  }

  @Test
  void aMinimumHoldEndsThoughWhatElseIsToBeClearedAwayIsHeldUp() throws Exception {
    whileADeletionIsHeldUp(() -> holdFor(Duration.ofSeconds(1)));
  }

  @Test
  void anAttemptIsFreedThoughWhatElseIsToBeClearedAwayIsHeldUp() throws Exception {
    whileADeletionIsHeldUp(() -> {
      ConsulGrant given = holder.acquire(OpenStore.claim(name, TTL));
      holder.store.sessions().cleanup().freeLater(given.attempt());
    });
  }

  private interface Release {
    void run() throws StoreException;
  }

  /** Holds up the deletion of a key of no use, and waits until the lock is free all the same. */
  private void whileADeletionIsHeldUp(Release release) throws Exception {
    String other = "other-" + name;
    holder.store.release(holder.acquire(OpenStore.claim(other, TTL)), Duration.ZERO);
    Script.Gate gate = new Script.Gate();
    holder.script.next(
        1,
        request -> Script.TRANSACTION.test(request) && Script.hasText(request, "\"delete\""),
        gate::askLater);
    try {
      time.pass(Duration.ofSeconds(13));
      Await.until("its key is being deleted", gate::isReached);
      release.run();
      Await.until("the lock is free", () -> {
        try {
          return finder.store.inspect(OpenStore.key(name)).isEmpty();
        } catch (StoreException e) {
          throw new IllegalStateException(e);
        }
      });
    } finally {
      gate.open();
    }
  }

  @Test
  void aMinimumHoldThatIsOverWhenItsClientIsClosedLeavesTheNameFree() throws Exception {
    holdFor(Duration.ofMinutes(5));
    AtomicInteger sent = new AtomicInteger();
    holder.script.next(2, Script.TRANSACTION, chain -> {
      sent.incrementAndGet();
      throw new IOException("The end of the hold is not written");
    });
    time.pass(Duration.ofMinutes(5));
    Await.until("its end was to be written", () -> sent.get() == 2);
    // Closed before the end is written again.
    holder.close();
    assertThat(countdown()).isEmpty();
    assertThat(isGranted(TTL)).isTrue();
  }

  @Test
  void theSessionsOfACountdownAreNoLongerThanWhatTheyCount() throws Exception {
    Duration minHold = Duration.ofSeconds(41);
    ConsulGrant grant = holder.acquire(claim(minHold));
    holder.store.release(grant, minHold);
    http.destroySession(grant.attempt().session().id());
    assertThat(isGranted(TTL)).isFalse();
    awaitCountdown(minHold);
  }

  @Test
  void aCountdownThatFailsIsNoFailureOfWhoFindsTheLockTaken() throws Exception {
    finder.acquire(OpenStore.claim("own-" + name, TTL));
    orphan();
    finder.script.next(
        1,
        CountdownTest::isTimer,
        chain -> Script.answer(chain, 500, 0, "rpc error making call: a test"));
    assertThat(isGranted(TTL)).isFalse();
    Await.until("it is left to the next finder", () -> {
      try {
        return !isGranted(TTL) && countdown().size() == 2;
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
  }

  @Test
  void aTtlBelowTheServersLeastIsCountedByOneThatItTakes() throws Exception {
    orphan();
    finder.script.next(
        1,
        CountdownTest::isTimer,
        chain -> Script.answer(
            chain, 500, 0, "Invalid Session TTL '10000000000', must be between [20s=24h0m0s]"));
    assertThat(isGranted(Duration.ofSeconds(30))).isFalse();
    awaitCountdown(Duration.ofSeconds(30));
  }

  @Test
  void whoAsksAgainForAnOrphanReadsOnceAndWritesNothing() throws Exception {
    orphan();
    assertThat(isGranted(TTL)).isFalse();
    awaitCountdown(TTL);
    finder.requests.forget();
    assertThat(isGranted(TTL)).isFalse();
    assertThat(finder.requests.paths())
        .filteredOn(path -> !OpenStore.isOfTheSession(path))
        .containsExactly("/v1/txn");
  }

  @Test
  void aDeletionThatFailsAtCloseKeepsNoMinimumHoldFromBeingCounted() throws Exception {
    ConsulGrant unused = holder.acquire("held-" + name);
    Duration hold = Duration.ofMinutes(5);
    long before = System.nanoTime();
    holdFor(hold);
    holder.script.next(
        Integer.MAX_VALUE,
        request -> Script.TRANSACTION.test(request) && Script.hasText(request, "delete"),
        chain -> Script.answer(chain, 500, 0, "No cluster leader"));
    holder.close();
    awaitCountdown(leftOf(hold, before), hold);
  }

  @Test
  void aMinimumHoldWhoseReleaseWasNeverAnsweredOutlivesItsClient() throws Exception {
    Duration minHold = Duration.ofMinutes(5);
    ConsulGrant grant = holder.acquire(claim(minHold));
    holder.script.loseAnswers(2);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> holder.store.release(grant, minHold));
    holder.close();
    assertThat(isGranted(TTL)).isFalse();
  }
}
