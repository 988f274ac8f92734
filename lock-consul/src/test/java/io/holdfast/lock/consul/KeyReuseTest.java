package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.IdleKeys;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Request;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The reuse of keys: the key of an attempt serves the next one, and nothing about one attempt
 * affects the other.
 */
class KeyReuseTest {
  private static ServerContainer server;

  private final String name = "reuse-" + UUID.randomUUID();
  private OpenStore open;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() throws Exception {
    open = new OpenStore(ConsulServer.address(server));
    // Makes the session, so that the next transaction is the acquire.
    open.store.release(open.acquire("warm-" + name), Duration.ZERO);
  }

  @AfterEach
  void close() {
    open.close();
  }

  private List<String> keys() throws IOException {
    return new TestHttp(ConsulServer.address(server)).keys("holdfast/m/" + name + "/");
  }

  private boolean isFree() {
    try {
      return open.store.inspect(OpenStore.key(name)).isEmpty();
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private ReleaseOutcome release(ConsulGrant grant) throws StoreException {
    return open.store.release(grant, Duration.ZERO);
  }

  private long requestsOf(Callable<?> call) throws Exception {
    long before = open.requests.count("/v1/txn");
    Object unused = call.call();
    return open.requests.count("/v1/txn") - before;
  }

  @Test
  void whoAsksAgainForALockThatItFoundTakenLooksFirstAndWritesNothing() throws Exception {
    Callable<Object> ask = () -> open.store.tryAcquire(OpenStore.claim(name));
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = other.acquire(name);
      assertThat(requestsOf(ask)).isEqualTo(2);
      for (int i = 0; i < 3; i++) {
        assertThat(requestsOf(ask)).isEqualTo(1);
      }
      assertThat(ask.call()).isEqualTo(Optional.empty());
      other.store.release(held, Duration.ZERO);
      ConsulGrant[] grant = new ConsulGrant[1];
      assertThat(requestsOf(() -> grant[0] = open.acquire(name)))
          .as("look and lock")
          .isEqualTo(2);
      release(grant[0]);
      assertThat(requestsOf(() -> grant[0] = open.acquire(name))).as("lock").isEqualTo(1);
      release(grant[0]);
    }
  }

  /** Whoever withdraws an attempt, or deletes old keys, writes to the gate. */
  @Test
  void whoMeetsAGateThatThisClientMovedMeanwhileLocksAgainAndReadsNothing() throws Exception {
    Script.Gate onTheWay = new Script.Gate();
    AtomicInteger later = new AtomicInteger();
    open.script.next(1, this::isOnLine, onTheWay::askLater);
    open.script.next(Integer.MAX_VALUE, this::isOnLine, chain -> {
      later.incrementAndGet();
      return chain.proceed(chain.request());
    });
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      Future<ConsulGrant> acquire = executor.submit(() -> open.acquire(name));
      Await.until("its request is on the way", onTheWay::isReached);
      withdrawAnAttemptWithoutAnswer();
      onTheWay.open();
      ConsulGrant grant = acquire.get(60, TimeUnit.SECONDS);
      assertThat(later).hasValue(1);
      assertThat(open.store.verify(grant)).isPresent();
      release(grant);
    } finally {
      onTheWay.open();
      executor.shutdownNow();
    }
  }

  private boolean isOnLine(Request request) {
    return Script.hasText(request, "/m/" + name + "/");
  }

  private void withdrawAnAttemptWithoutAnswer() throws StoreException {
    Claim claim = OpenStore.claim("withdrawn-" + name.substring("reuse-".length()));
    open.script.loseAnswers(2);
    assertThatExceptionOfType(StoreException.class).isThrownBy(() -> open.store.tryAcquire(claim));
    open.store.withdraw(claim);
  }

  private String keyOfNext() throws Exception {
    ConsulGrant next = open.acquire(name);
    assertThat(keys()).contains(next.attempt().key());
    assertThat(release(next)).isEqualTo(ReleaseOutcome.RELEASED);
    return next.attempt().key();
  }

  @Test
  void afterACleanReleaseTheNextHasTheSameKeyAndAHigherNumber() throws Exception {
    ConsulGrant grant = open.acquire(name);
    release(grant);
    ConsulGrant next = open.acquire(name);
    assertThat(next.attempt().key()).isEqualTo(grant.attempt().key());
    assertThat(next.number()).isGreaterThan(grant.number());
    release(next);
  }

  @Test
  void aKeyServesOneAttemptAtATime() throws Exception {
    release(open.acquire(name));
    ConsulGrant grant = open.acquire(name);
    Ticket ticket = open.queue(name);
    assertThat(keys()).hasSize(2).contains(grant.attempt().key());
    ticket.close();
    assertThat(open.store.verify(grant)).isPresent();
    release(grant);
  }

  @Test
  void whoLeftTheLineComesBackWithTheSameKey() throws Exception {
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = other.acquire(name);
      open.queue(name).close();
      Ticket again = open.queue(name);
      List<String> keys = keys();
      again.close();
      other.store.release(held, Duration.ZERO);
      assertThat(keyOfNext()).isIn(keys);
    }
  }

  /** Has the next acquire find a key of an earlier attempt, or none. */
  private void prepareKey(boolean isNew) throws Exception {
    if (!isNew) {
      release(open.acquire(name));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAcquireWithoutAnAnswerIsWithdrawnInTwoRequestsOrThree(boolean isNew) throws Exception {
    prepareKey(isNew);
    Claim claim = OpenStore.claim(name);
    // Read before the client knows that it has no answer, since it then withdraws at once.
    List<Boolean> taken = new CopyOnWriteArrayList<>();
    open.script.next(2, Script.transactionOfThisThread(), chain -> {
      chain.proceed(chain.request()).close();
      taken.add(isTaken());
      throw new IOException("The answer was lost");
    });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> open.store.tryAcquire(claim))
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
    assertThat(taken).containsExactly(true, true);
    Await.until("it is withdrawn", () -> isWithdrawn(claim));
    assertThat(isFree()).isTrue();
    assertThat(keys()).hasSize(1);
    keyOfNext();
  }

  @Test
  void aGateThatSomebodyDeletedIsAnErrorAndIsMadeAnew() throws Exception {
    String session = open.acquire("held-" + name).attempt().session().id();
    new TestHttp(ConsulServer.address(server))
        .delete("/v1/kv/holdfast/session/" + session + "/gate");
    long asked = open.requests.count("/v1/txn");
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> open.acquire(name))
        .withMessageContaining("/gate");
    assertThat(open.requests.count("/v1/txn") - asked).as("questions").isLessThan(10);
    Await.until("the next has the lock", () -> {
      try {
        return open.store.tryAcquire(OpenStore.claim(name)).isPresent();
      } catch (StoreException e) {
        // The key is not freed yet.
        return false;
      }
    });
  }

  /** Whether the lock is taken, asked without the store, whose requests the script bends. */
  private boolean isTaken() throws IOException {
    return new TestHttp(ConsulServer.address(server))
        .entries("holdfast/m/" + name + "/").stream()
            .anyMatch(entry -> !entry.session().isEmpty() && !Mark.of(entry).released());
  }

  private boolean isWithdrawn(Claim claim) {
    try {
      open.store.withdraw(claim);
      return true;
    } catch (StoreException e) {
      // The background is freeing it.
      return false;
    }
  }

  @Test
  void anAcquireWhoseFirstAnswerWasLostIsGranted() throws Exception {
    for (boolean isNew : List.of(true, false)) {
      open.script.loseAnswers(1);
      ConsulGrant grant = open.acquire(name);
      assertThat(open.store.verify(grant)).as("a new key: " + isNew).isPresent();
      assertThat(release(grant)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAcquireWhoseAnswerWasLostAndThatCanNotBeLookedForBlocksNothing(boolean isNew)
      throws Exception {
    prepareKey(isNew);
    open.script.loseAnswers(1);
    open.script.next(1, Script.transactionOfThisThread(), chain -> chain.proceed(chain.request()));
    open.script.next(
        1,
        Script.transactionOfThisThread(),
        chain -> Script.answer(chain, 429, 0, "Too many requests"));
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> open.store.tryAcquire(OpenStore.claim(name)))
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
    Await.until("its name is free", this::isFree);
  }

  @Test
  void aReleaseWhoseFirstAnswerWasLostMayBeOne() throws Exception {
    ConsulGrant grant = open.acquire(name);
    open.script.loseAnswers(1);
    assertThat(release(grant)).isEqualTo(ReleaseOutcome.RELEASED_OR_LOST);
    keyOfNextOfTwo();
  }

  @Test
  void aReleaseWithoutAnAnswerMayBeOneWhenItIsSentAgain() throws Exception {
    ConsulGrant grant = open.acquire(name);
    open.script.loseAnswers(2);
    assertThatExceptionOfType(StoreException.class).isThrownBy(() -> release(grant));
    assertThat(release(grant)).isEqualTo(ReleaseOutcome.RELEASED_OR_LOST);
    keyOfNextOfTwo();
  }

  /** The next attempt can be at a key of its own, since that of the first may still be in doubt. */
  private void keyOfNextOfTwo() throws Exception {
    ConsulGrant next = open.acquire(name);
    assertThat(keys()).contains(next.attempt().key()).hasSizeLessThan(3);
    assertThat(release(next)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(isFree()).isTrue();
  }

  @Test
  void whoseLeavingWasSentTwiceHasLeft() throws Exception {
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = other.acquire(name);
      Ticket ticket = open.queue(name);
      open.script.loseAnswers(1);
      ticket.close();
      other.store.release(held, Duration.ZERO);
      assertThat(isFree()).isTrue();
    }
  }

  @Test
  void aWithdrawalAfterTheTicketWasClosedLeavesTheNextAttemptAlone() throws Exception {
    Claim claim = OpenStore.claim(name);
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = other.acquire(name);
      open.queue(claim).close();
      other.store.release(held, Duration.ZERO);
      ConsulGrant next = open.acquire(name);
      open.store.withdraw(claim);
      assertThat(open.store.verify(next)).isPresent();
    }
  }

  @Test
  void aTicketThatIsClosedAgainOrAfterAWithdrawalLeavesTheNextAttemptAlone() throws Exception {
    for (boolean withdrawn : List.of(true, false)) {
      Claim claim = OpenStore.claim(name);
      try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
        ConsulGrant held = other.acquire(name);
        Ticket ticket = open.queue(claim);
        if (withdrawn) {
          open.store.withdraw(claim);
        } else {
          ticket.close();
        }
        other.store.release(held, Duration.ZERO);
        ConsulGrant next = open.acquire(name);
        ticket.close();
        assertThat(open.store.verify(next)).isPresent();
        release(next);
      }
    }
  }

  /** Both are slow in turn, the withdrawal and the close. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsClosedAndWithdrawnAtOnceLeavesTheNextAttemptAlone(boolean slowWithdrawal)
      throws Exception {
    Claim claim = OpenStore.claim(name);
    Script.Gate gate = new Script.Gate();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      ConsulGrant held = other.acquire(name);
      Ticket ticket = open.queue(claim);
      Callable<Void> close = () -> {
        ticket.close();
        return null;
      };
      Callable<Void> withdraw = () -> {
        open.store.withdraw(claim);
        return null;
      };
      open.script.next(1, Script.TRANSACTION, gate::askLater);
      Future<Void> slow = thread.submit(slowWithdrawal ? withdraw : close);
      Await.until("the slow one asks", gate::isReached);
      (slowWithdrawal ? close : withdraw).call();
      other.store.release(held, Duration.ZERO);
      ConsulGrant next = open.acquire(name);
      gate.open();
      slow.get(60, TimeUnit.SECONDS);
      assertThat(open.store.verify(next)).isPresent();
    } finally {
      gate.open();
      thread.shutdownNow();
    }
  }

  @Test
  void aTicketThatWasGrantedTheLockDoesNotEndItWhenItIsClosed() throws Exception {
    try (LockStore holder = PlainStore.open(ConsulServer.address(server), "granted");
        LockStore waiting = PlainStore.open(ConsulServer.address(server), "granted")) {
      Grant held = holder.tryAcquire(OpenStore.claim(name)).orElseThrow();
      Ticket ticket =
          ((Acquisition.Queued) waiting.acquireOrQueue(OpenStore.claim(name), () -> {})).ticket();
      holder.release(held, Duration.ZERO);
      Ticket.Status status = ticket.poll();
      ticket.close();
      assertThat(waiting.verify(((Ticket.Granted) status).grant())).isPresent();
    }
  }

  @Test
  void aLeaseThatRanOutIsOver() throws Exception {
    ConsulGrant grant = open.acquire(OpenStore.claim(name, Duration.ofSeconds(2)));
    Await.until("its name is free", this::isFree);
    assertThat(release(grant)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    keyOfNext();
  }

  /**
   * The same happens when memory runs out between the end of an attempt and the note that it is to
   * be freed.
   */
  @Test
  void anAttemptThatIsOverIsFreedThoughNobodyHadThatDone() throws Exception {
    ConsulGrant grant = open.acquire(name);
    grant.attempt().end();
    Await.until("its name is free", this::isFree);
    Await.until("nothing keeps its session", () -> grant.attempt().session().isUnused());
    keyOfNext();
  }

  @Test
  void aLossByForceLeavesNothingOfTheAttempt() throws Exception {
    ConsulGrant grant = open.acquire(name);
    try (OpenStore other = new OpenStore(ConsulServer.address(server))) {
      assertThat(other.store.forceRelease(OpenStore.key(name), grant.number())).isTrue();
      assertThat(isFree()).isTrue();
    }
    Await.until("the holder is told", () -> !open.losses.isEmpty());
    assertThat(release(grant)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    Await.until(
        "nothing is known of it", () -> open.store.sessions().attempt(grant.claim()) == null);
    Await.until("nor in its session", () -> grant.attempt().session().isUnused());
    keyOfNext();
  }

  @Test
  void afterTheEndOfTheSessionTheNextHasAnotherKey() throws Exception {
    ConsulGrant grant = open.acquire(name);
    new TestHttp(ConsulServer.address(server))
        .destroySession(grant.attempt().session().id());
    assertThat(release(grant)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    Await.until("its client says that it is over", this::isFree);
    assertThat(keyOfNext()).isNotEqualTo(grant.attempt().key());
  }

  @Test
  void aKeyThatNobodyComesBackForIsDeleted() throws Exception {
    release(open.acquire(name));
    assertThat(keys()).hasSize(1);
    Await.until("it is deleted", () -> {
      try {
        return keys().isEmpty();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
    keyOfNext();
  }

  @Test
  void ofTheKeysOfManyLinesTheOldestAreTakenOutFirst() {
    IdleKeys idle = new IdleKeys();
    for (int i = 0; i < 5; i++) {
      idle.give(new IdleKeys.IdleKey("line-" + i + "/key", 2, i));
    }
    idle.give(new IdleKeys.IdleKey("line-1/another", 2, 5));
    assertThat(idle.take("line-1/").key()).isEqualTo("line-1/another");
    assertThat(idle.take("line-1/")).isNull();
    List<String> old = idle.retireOld(2, 2);
    assertThat(old).containsExactly("line-0/key", "line-1/key");
    assertThat(idle.take("line-0/")).isNull();
    assertThat(idle.retireOld(2, 2)).as("until they are dealt with").isEqualTo(old);
    idle.remove(old);
    assertThat(idle.retireOld(3, 9)).containsExactly("line-2/key", "line-3/key");
    assertThat(idle.take("line-4/").key()).isEqualTo("line-4/key");
  }
}
