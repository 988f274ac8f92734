package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Keys whose sessions have ended, and whose clients do not clear them away. */
class OrphanTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static ServerContainer server;

  private final String name = "orphan-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());
  private final MovableTime time = new MovableTime();
  private OpenStore lost;
  private OpenStore other;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() {
    lost = new OpenStore("http://" + link.host() + ":" + link.port());
    other = new OpenStore(ConsulServer.address(server), time);
  }

  @AfterEach
  void close() {
    link.close();
    lost.close();
    other.close();
  }

  private void end(Attempt attempt) throws IOException {
    link.blackhole();
    http.destroySession(attempt.session().id());
  }

  private boolean isGranted() {
    while (true) {
      try {
        return other.store.tryAcquire(OpenStore.claim(name, TTL)).isPresent();
      } catch (StoreException e) {
        // Whoever was put ahead by more than two TTLs gives up its session, perhaps just now.
        if (!String.valueOf(e.getMessage()).startsWith("The attempt ended")) {
          throw new IllegalStateException(e);
        }
      }
    }
  }

  private boolean isGone(String key) {
    try {
      return http.keys(key).isEmpty();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void itIsShownAsTheHolderAndCanBeTakenByForce() throws Exception {
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    end(grant.attempt());
    StoredHolder holder = other.store.inspect(OpenStore.key(name)).orElseThrow();
    assertThat(holder.description()).isEqualTo("a test");
    assertThat(holder.released()).isFalse();
    assertThat(holder.remaining()).isBetween(TTL.minusSeconds(5), TTL);
    assertThat(other.store.list(LockKind.MUTEX, name, 10))
        .extracting(lock -> lock.holder().number())
        .containsExactly(holder.number());
    assertThat(isGranted()).isFalse();
    assertThat(holder.number()).isEqualTo(grant.number());
    assertThat(other.store.forceRelease(OpenStore.key(name), grant.number())).isTrue();
    assertThat(other.store.forceRelease(OpenStore.key(name), grant.number())).isFalse();
    ConsulGrant next = other.acquire(OpenStore.claim(name, TTL));
    assertThat(next.number()).isGreaterThan(grant.number());
  }

  /** Renews the session of a grant, so that it gets a witness; returns the witness's id. */
  private String witness(ConsulGrant grant) throws Exception {
    assertThat(lost.store.renew(List.of(grant))).hasOnlyElementsOfType(Renewal.Renewed.class);
    String key = "holdfast/session/" + grant.attempt().session().id() + "/witness";
    Await.until("it has a witness", () -> !isGone(key));
    return http.sessionOf(key);
  }

  @Test
  void onceItsSessionAndTheWitnessHaveEndedWhoFirstAsksGetsTheLock() throws Exception {
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    String witness = witness(grant);
    end(grant.attempt());
    assertThat(isGrantedInPassing()).isFalse();
    // Destroyed, in place of waiting for its TTL.
    http.destroySession(witness);
    assertThat(isGrantedInPassing()).isTrue();
  }

  @Test
  void theEndOfTheWitnessAloneFreesNothingAndIsALossOnceTheHolderAsks() throws Exception {
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    http.destroySession(witness(grant));
    assertThat(isGrantedInPassing()).isFalse();
    assertThat(lost.store.renew(List.of(grant))).hasOnlyElementsOfType(Renewal.Lost.class);
    assertThat(lost.losses).containsExactly(LeaseLoss.Reason.SESSION_LOST);
    Await.until("the lock is free", this::isGrantedInPassing);
  }

  @Test
  void whenTheAgentLeavesThatHasASessionAndItsWitnessNothingIsProved() throws Exception {
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    String witness = witness(grant);
    link.blackhole();
    letTheNodeLeaveOf(witness);
    assertThat(http.entries("holdfast/session/" + grant.attempt().session().id()))
        .hasSize(3)
        .allMatch(key -> key.session().isEmpty());
    assertThat(isGrantedInPassing()).isFalse();
  }

  @Test
  void aWitnessEndsWhenItsClientIsClosed() throws Exception {
    String witness = witness(lost.acquire(OpenStore.claim(name, TTL)));
    assertThat(http.sessions()).contains(witness);
    lost.close();
    assertThat(http.sessions()).doesNotContain(witness);
    assertThat(http.keys("holdfast/m/" + name)).isEmpty();
  }

  /** Whether a client that asks once and is closed is granted the lock. */
  private boolean isGrantedInPassing() {
    try (OpenStore passing = new OpenStore(ConsulServer.address(server))) {
      return passing.store.tryAcquire(OpenStore.claim(name, TTL)).isPresent();
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Entry> countdown() throws IOException {
    return http.entries("holdfast/m/" + name + "/" + Countdown.KEY);
  }

  @Test
  @Tag("soak")
  void afterACrashConsulCountsItDownForThoseWhoAskOnceAndEnd() throws Exception {
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    link.blackhole();
    long crashed = System.nanoTime();
    Await.until("it is granted", this::isGrantedInPassing);
    assertThat(Duration.ofNanos(System.nanoTime() - crashed))
        .isBetween(TTL.multipliedBy(2), grant.crashBound(TTL).plusSeconds(5));
    assertThat(http.keys("holdfast/m/" + name)).as("what is left of it").isEmpty();
  }

  @Test
  void ofNamesThatNobodyAsksForAgainNothingStaysWhileSomeClientLives() throws Exception {
    ConsulGrant held = lost.acquire(OpenStore.claim(name, TTL));
    ConsulGrant used = lost.acquire(OpenStore.claim(name + "-used", TTL));
    lost.store.release(used, Duration.ZERO);
    ConsulGrant counted = lost.acquire(OpenStore.claim(name + "-counted", TTL));
    Ticket unused = lost.queue(OpenStore.claim(name + "-counted", TTL));
    end(held.attempt());
    try (OpenStore passing = new OpenStore(ConsulServer.address(server))) {
      assertThat(passing.store.tryAcquire(OpenStore.claim(name + "-counted", TTL)))
          .isEmpty();
    }
    assertThat(http.keys(counted.attempt().key().replaceFirst("[^/]*$", Countdown.KEY)))
        .hasSize(2);
    Await.until("nothing is left", () -> {
      time.pass(Duration.ofMinutes(1));
      return isGone("holdfast/m/" + name)
          && isGone("holdfast/session/" + held.attempt().session().id());
    });
  }

  @Test
  void itIsCountedDownOnceHoweverManyFindIt() throws Exception {
    end(lost.acquire(OpenStore.claim(name, TTL)).attempt());
    assertThat(isGrantedInPassing()).isFalse();
    List<Entry> parts = countdown();
    assertThat(parts).hasSize(2).noneMatch(part -> part.session().isEmpty());
    long asked = other.requests.count("/v1/session/create");
    assertThat(isGranted()).isFalse();
    assertThat(isGrantedInPassing()).isFalse();
    assertThat(countdown()).isEqualTo(parts);
    assertThat(other.requests.count("/v1/session/create") - asked)
        .as("but the client's own")
        .isEqualTo(1);
  }

  @Test
  void ofTwoSessionsThatCountItDownTheEndOfOneIsEnough() throws Exception {
    Claim first = OpenStore.claim(name, TTL);
    ConsulGrant grant = lost.acquire(first);
    for (int i = 0; i < 3; i++) {
      Ticket unused = lost.queue(OpenStore.claim(name, TTL));
    }
    end(grant.attempt());
    assertThat(isGrantedInPassing()).isFalse();
    // Destroyed, in place of waiting for its TTL.
    http.destroySession(countdown().get(0).session());
    long asked = other.requests.count("/v1/txn");
    assertThat(isGranted()).isTrue();
    assertThat(other.requests.count("/v1/txn") - asked)
        .as("the session's own keys, the attempt's, the end of all orphans, and another look")
        .isEqualTo(4);
  }

  @Test
  void whenTheAgentLeavesThatHasBothSessionsNothingIsProved() throws Exception {
    end(lost.acquire(OpenStore.claim(name, TTL)).attempt());
    assertThat(isGrantedInPassing()).isFalse();
    List<Entry> before = countdown();
    letTheNodeLeaveOf(before.get(0).session());
    assertThat(countdown()).hasSize(2).allMatch(part -> part.session().isEmpty());
    assertThat(isGrantedInPassing()).isFalse();
    assertThat(countdown())
        .as("begun anew")
        .hasSize(2)
        .noneMatch(part -> part.session().isEmpty());
  }

  /** Ends all sessions of a session's node, which is back at once. */
  private void letTheNodeLeaveOf(String ofSession) throws IOException {
    Object session = Json.parse(http.get("/v1/session/info/" + ofSession).body());
    String node = (String) ((Map<?, ?>) ((List<?>) session).get(0)).get("Node");
    Map<?, ?> known =
        (Map<?, ?>) ((List<?>) Json.parse(http.get("/v1/catalog/nodes").body())).get(0);
    http.put("/v1/catalog/deregister", "{\"Node\":" + Json.quote(node) + "}");
    http.put(
        "/v1/catalog/register",
        "{\"Node\":"
            + Json.quote(node)
            + ",\"ID\":"
            + Json.quote((String) known.get("ID"))
            + ",\"Address\":"
            + Json.quote((String) known.get("Address"))
            + ",\"Check\":{\"CheckID\":\"serfHealth\",\"Name\":\"Health\",\"Status\":\"passing\"}}");
    http.awaitSessions();
  }

  @Test
  void aWaiterThatGivesUpLeavesItCountedDown() throws Exception {
    end(lost.acquire(OpenStore.claim(name, TTL)).attempt());
    try (OpenStore passing = new OpenStore(ConsulServer.address(server))) {
      passing.queue(OpenStore.claim(name, TTL)).close();
    }
    assertThat(countdown()).hasSize(2);
  }

  private static Claim withMinHold(String name, Duration minHold) {
    Claim claim = OpenStore.claim(name, TTL);
    return new Claim(claim.key(), claim.mode(), claim.ownerId(), TTL, minHold, "a test");
  }

  @Test
  void aMinimumHoldWhoseSessionEndsKeepsTheNameTakenAllTheSame() throws Exception {
    Duration minHold = Duration.ofMinutes(5);
    ConsulGrant grant = lost.acquire(withMinHold(name, minHold));
    lost.store.release(grant, minHold);
    assertThat(isGranted()).isFalse();
    time.pass(minHold.minusSeconds(30));
    end(grant.attempt());
    assertThat(isGranted()).isFalse();
    StoredHolder holder = other.store.inspect(OpenStore.key(name)).orElseThrow();
    assertThat(holder.released()).isTrue();
    assertThat(holder.number()).isEqualTo(grant.number());
    assertThat(holder.remaining())
        .as("counted from when it was first seen")
        .isLessThanOrEqualTo(Duration.ofSeconds(30));
    time.pass(Duration.ofSeconds(30));
    Await.until("it is granted", this::isGranted);
  }

  @Test
  void aMinimumHoldOutlivesItsClientForAsLongAsConsulCounts() throws Exception {
    try (OpenStore passing = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant grant = passing.acquire(withMinHold(name, Duration.ofMinutes(5)));
      passing.store.release(grant, Duration.ofMinutes(5));
      passing.store.release(passing.acquire("another-" + name), Duration.ofSeconds(0));
    }
    assertThat(countdown()).hasSize(2).noneMatch(part -> part.session().isEmpty());
    assertThat(isGrantedInPassing()).isFalse();
    http.destroySession(countdown().get(0).session());
    assertThat(isGrantedInPassing()).isTrue();
  }

  @Test
  void aMinimumHoldCostsOneWriteMoreAndNoSession() throws Exception {
    other.store.release(other.acquire(OpenStore.claim(name, TTL)), Duration.ZERO);
    long asked = other.requests.answered("/v1/txn");
    long made = other.requests.count("/v1/session/create");
    Duration minHold = Duration.ofSeconds(2);
    ConsulGrant grant = other.acquire(withMinHold(name, minHold));
    other.store.release(grant, minHold);
    Await.until("its end is written", () -> other.requests.answered("/v1/txn") - asked == 3);
    Entry key = http.entries(grant.attempt().key()).get(0);
    assertThat(Mark.of(key))
        .as("what proves to a waiter that the attempt is over")
        .isEqualTo(grant.attempt().mark().asReleased(grant.number(), 0));
    assertThat(key.flags()).isEqualTo(Line.HAD_LOCK);
    ConsulGrant unused = other.acquire(OpenStore.claim(name, TTL));
    assertThat(other.requests.answered("/v1/txn") - asked).isEqualTo(4);
    assertThat(other.requests.count("/v1/session/create")).isEqualTo(made);
  }

  @Test
  void aSessionThatEndsUnderAnAttemptDoesNotMakeAFreeLockTaken() throws Exception {
    String session =
        other.acquire(OpenStore.claim("own-" + name, TTL)).attempt().session().id();
    end(lost.acquire(OpenStore.claim(name, TTL)).attempt());
    assertThat(isGrantedInPassing()).isFalse();
    http.destroySession(countdown().get(0).session());
    other.script.next(
        1,
        request -> Script.TRANSACTION.test(request)
            && request.url().queryParameterNames().contains("consistent"),
        chain -> {
          http.destroySession(session);
          return chain.proceed(chain.request());
        });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> other.store.tryAcquire(OpenStore.claim(name, TTL)))
        .withMessageContaining("ended");
  }

  @Test
  void aSessionThatEndsBetweenTwoRequestsForALockDoesNotMakeItTaken() throws Exception {
    String session =
        other.acquire(OpenStore.claim("own-" + name, TTL)).attempt().session().id();
    other.script.next(1, Script.TRANSACTION, chain -> {
      chain.proceed(chain.request()).close();
      http.destroySession(session);
      throw new IOException("The answer was lost");
    });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> other.store.tryAcquire(OpenStore.claim(name, TTL)))
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
  }

  @Test
  void whoAsksAgainAndAgainStartsWhenItHasSeenItForLongEnough() throws Exception {
    end(lost.acquire(OpenStore.claim(name, TTL)).attempt());
    long ended = System.nanoTime();
    Await.until("it is granted", this::isGranted);
    assertThat(Duration.ofNanos(System.nanoTime() - ended)).isGreaterThan(TTL);
  }

  @Test
  void aKeyThatServedBeforeTurnsWhoComesAwayAsANewOneDoes() throws Exception {
    for (int i = 0; i < 2; i++) {
      lost.store.release(lost.acquire(OpenStore.claim(name, TTL)), Duration.ZERO);
    }
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    end(grant.attempt());
    assertThat(isGranted()).isFalse();
    assertThat(other.store.inspect(OpenStore.key(name))).isPresent();
  }

  @Test
  void aLongTtlIsWaitedOutByWhoeverStays() throws Exception {
    Duration ttl = Duration.ofMinutes(2);
    end(lost.acquire(OpenStore.claim(name, ttl)).attempt());
    assertThat(isGranted()).isFalse();
    time.pass(ttl.minusSeconds(20));
    assertThat(isGranted()).isFalse();
    time.pass(Duration.ofSeconds(20));
    Await.until("it is granted", this::isGranted);
  }

  @Test
  void aWaiterIsWaitedOutThatMayHaveStartedUnseen() throws Exception {
    ConsulGrant held = other.acquire(OpenStore.claim(name, TTL));
    Claim waits = OpenStore.claim(name, TTL);
    Ticket unused = lost.queue(waits);
    try (OpenStore waiting = new OpenStore(ConsulServer.address(server))) {
      Ticket ticket = waiting.queue(OpenStore.claim(name, TTL));
      long ended = System.nanoTime();
      end(lost.store.sessions().attempt(waits));
      other.store.release(held, Duration.ZERO);
      Await.until("it is told", () -> waiting.wakeUps.get() > 0);
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      Await.until("it starts", () -> isGranted(ticket));
      assertThat(Duration.ofNanos(System.nanoTime() - ended)).isGreaterThan(TTL);
    }
  }

  private static boolean isGranted(Ticket ticket) {
    try {
      return ticket.poll() instanceof Ticket.Granted;
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The renewals since then prove nothing: a former leader can have answered them. */
  @Test
  void whatIsGrantedWithoutAQuestionIsHeldForNoLongerThanATtlFromTheLastProof() throws Exception {
    Duration ttl = Duration.ofMinutes(1);
    ConsulGrant held = lost.acquire(OpenStore.claim(name, ttl));
    Ticket ticket = other.queue(OpenStore.claim(name, ttl));
    long renewals = other.requests.count("/v1/session/renew/");
    time.pass(ttl.dividedBy(2));
    Await.until(
        "its session is renewed", () -> other.requests.count("/v1/session/renew/") > renewals);
    lost.store.release(held, Duration.ZERO);
    Await.until("it is told", () -> other.wakeUps.get() > 0);
    long asked = other.requests.count("/v1/txn");
    assertThat(ticket.poll())
        .isInstanceOfSatisfying(
            Ticket.Granted.class,
            granted -> assertThat(granted.grant().validFor())
                .isBetween(Duration.ofSeconds(1), ttl.dividedBy(2)));
    assertThat(other.requests.count("/v1/txn")).as("questions").isEqualTo(asked);
  }

  @Test
  void aHolderCanBeForcedThoughAnOrphanMayHaveBeenBeforeIt() throws Exception {
    lost.store.release(lost.acquire(OpenStore.claim(name, TTL)), Duration.ZERO);
    ConsulGrant held = other.acquire(OpenStore.claim(name, TTL));
    // This attempt reuses the key of the one before, so nobody can tell any more that it joined
    // later.
    Claim behind = OpenStore.claim(name, TTL);
    Ticket unused = lost.queue(behind);
    end(lost.store.sessions().attempt(behind));
    assertThat(other.store.forceRelease(OpenStore.key(name), held.number())).isTrue();
    Await.until("the holder is told", () -> !other.losses.isEmpty());
  }

  @Test
  void anOldTokenOfAnotherLeaseDoesNotEndAnOrphanWhoseKeyServedBefore() throws Exception {
    lost.store.release(lost.acquire(OpenStore.claim(name, TTL)), Duration.ZERO);
    ConsulGrant before = other.acquire(OpenStore.claim(name, TTL));
    other.store.release(before, Duration.ZERO);
    // This attempt reuses the key, so the key no longer tells that the one before is over.
    other.store.release(other.acquire(OpenStore.claim(name, TTL)), Duration.ZERO);
    ConsulGrant grant = lost.acquire(OpenStore.claim(name, TTL));
    end(grant.attempt());
    for (ConsulGrant possible : List.of(before, grant)) {
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> other.store.forceRelease(OpenStore.key(name), possible.number()))
          .withMessageContaining("no longer tells which lease is meant");
    }
    assertThat(isGranted()).as("while the lost client believes in its lease").isFalse();
    long shown = other.store.inspect(OpenStore.key(name)).orElseThrow().number();
    assertThat(other.store.forceRelease(OpenStore.key(name), shown)).isTrue();
    assertThat(other.store.forceRelease(OpenStore.key(name), shown)).isFalse();
    assertThat(isGranted()).isTrue();
  }

  @Test
  void whatACrashedClientLeavesIsDeletedByWhoeverMeetsIt() throws Exception {
    Claim claim = OpenStore.claim(name, TTL);
    ConsulGrant grant = lost.acquire(claim);
    ConsulGrant spare = lost.acquire(OpenStore.claim("spare-" + name, TTL));
    lost.store.release(spare, Duration.ZERO);
    String session = grant.attempt().session().id();
    end(grant.attempt());
    assertThat(other.store.list(LockKind.MUTEX, "spare-" + name, 10)).isEmpty();
    assertThat(other.store.list(LockKind.MUTEX, name, 10)).hasSize(1);
    assertThat(isGone("holdfast/session/" + session)).isFalse();
    time.pass(TTL);
    Await.until("the name is free", () -> {
      try {
        return other.store.inspect(OpenStore.key(name)).isEmpty();
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
    time.pass(Duration.ofSeconds(15));
    Await.until("its key is deleted", () -> isGone(grant.attempt().key()));
    Await.until(
        "so is the key that no attempt has", () -> isGone(spare.attempt().key()));
    // Longer than the time between two sweeps: one that meets the orphan leaves its session's keys.
    time.pass(Duration.ofHours(3));
    Await.until("so are those of the session", () -> isGone("holdfast/session/" + session));
  }

  @Test
  void aSessionThatGotNoKeyOfItsOwnIsEnded() throws Exception {
    List<String> before = http.sessions();
    other.script.next(
        1, Script.TRANSACTION, chain -> Script.answer(chain, 403, 0, "Permission denied"));
    try {
      other.acquire(name);
      throw new AssertionError("Granted in a session without a key of its own");
    } catch (StoreException e) {
      assertThat(e).hasMessageContaining("Permission denied");
    }
    Await.until("no session is left", () -> {
      try {
        return before.containsAll(http.sessions());
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
  }

  @Test
  void whoseWatchDiedOfAnErrorIsToldOfAForcedReleaseAllTheSame() throws Exception {
    other.script.next(1, Script::isOnSession, chain -> Script.broken(chain));
    ConsulGrant grant = other.acquire(name);
    Await.until("the session is watched anew", () -> other.watches() >= 2);
    other.store.forceRelease(OpenStore.key(name), grant.number());
    Await.until("the holder is told", () -> !other.losses.isEmpty());
  }
}
