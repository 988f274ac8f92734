package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Semaphores on Consul's keys: what they cost, and what becomes of a permit that goes astray. */
@Tag("one-jdk")
class PermitsTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static KitContainer server;

  private final String name = "permits-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(server.address());
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());
  private final AheadTime time = new AheadTime();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final List<Request> sent = new CopyOnWriteArrayList<>();
  private OpenStore open;
  private OpenStore other;

  @BeforeAll
  static void start() {
    server = new KitContainer();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @BeforeEach
  void open() {
    open = new OpenStore("http://" + link.host() + ":" + link.port());
    other = new OpenStore(server.address(), time);
  }

  @AfterEach
  void close() {
    link.close();
    open.close();
    other.close();
    thread.shutdownNow();
  }

  private Claim claim(int permits) {
    return OpenStore.permitClaim(name, permits);
  }

  private Claim shortClaim(int permits) {
    return OpenStore.permitClaim(name, permits, TTL);
  }

  private List<StoredHolder> holders() {
    try {
      return other.store.holders(OpenStore.permitKey(name));
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isTaken(OpenStore store, Claim claim) throws StoreException {
    return store.store.tryAcquire(claim).isEmpty();
  }

  private static void release(OpenStore store, ConsulGrant grant) throws StoreException {
    assertThat(store.store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  /** The grant of a waiter, once it has one. */
  private static ConsulGrant granted(Ticket ticket) {
    Ticket.Status[] last = new Ticket.Status[1];
    eventually("the waiter is granted", () -> {
      try {
        last[0] = ticket.poll();
        return last[0] instanceof Ticket.Granted;
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
    return (ConsulGrant) ((Ticket.Granted) last[0]).grant();
  }

  /** The requests of a client, but for those that keep its session. */
  private static List<String> requests(OpenStore store) {
    return store.requests.paths().stream()
        .filter(path -> !OpenStore.isOfTheSession(path))
        .toList();
  }

  private void cutOff(Attempt attempt) throws IOException {
    link.blackhole();
    http.destroySession(attempt.session().id());
  }

  private List<Entry> entries() {
    try {
      return http.entries("holdfast/p/" + name + "/");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  // What it costs

  @Test
  void aFreePermitAndItsReleaseAreOneRequestEachWhoeverHasTheOthers() throws Exception {
    release(other, other.acquire(claim(3)));
    for (int held = 0; held < 3; held++) {
      other.requests.forget();
      for (int i = 0; i < 3; i++) {
        ConsulGrant grant = other.acquire(claim(3));
        assertThat(requests(other)).as("acquire, beside %s that are held", held).hasSize(2 * i + 1);
        release(other, grant);
        assertThat(requests(other)).as("release").hasSize(2 * i + 2);
      }
      ConsulGrant kept = open.acquire(claim(3));
      // Whichever it has: the next asks for another from here on.
      release(other, other.acquire(held < 2 ? claim(3) : OpenStore.permitClaim("x" + name, 3)));
      assertThat(holders()).extracting(StoredHolder::number).contains(kept.number());
    }
    other.requests.forget();
    assertThat(isTaken(other, claim(3))).isTrue();
    assertThat(requests(other)).as("all are taken: joins, and leaves").hasSize(2);
    assertThat(isTaken(other, claim(3))).isTrue();
    assertThat(requests(other)).as("and again: looks").hasSize(3);
  }

  @Test
  void aPermitThatAnotherHasTakenMeanwhileCostsOneRequestMore() throws Exception {
    ConsulGrant last = open.acquire(claim(2));
    release(open, last);
    ConsulGrant one = other.acquire(claim(2));
    ConsulGrant two = other.acquire(claim(2));
    ConsulGrant kept = one.permit() == last.permit() ? one : two;
    release(other, kept == one ? two : one);
    open.requests.forget();
    ConsulGrant next = open.acquire(claim(2));
    assertThat(requests(open)).hasSize(2);
    assertThat(next.permit()).isNotEqualTo(kept.permit());
    assertThat(open.store.verify(next)).isPresent();
    assertThat(other.store.verify(kept)).isPresent();
  }

  @Test
  void aReleaseWakesTheFirstOfThoseWhoWaitAndItsPermitTheNext() throws Exception {
    ConsulGrant one = other.acquire(claim(2));
    ConsulGrant two = other.acquire(claim(2));
    open.requests.forget();
    Ticket first = open.queue(claim(2));
    eventually("it watches", () -> open.requests.longPolls() == 1);
    try (OpenStore behind = new OpenStore(server.address())) {
      Ticket second = behind.queue(claim(2));
      eventually("it watches, too", () -> behind.requests.longPolls() == 1);
      eventually("nobody is on the way to the store", () -> open.wakeUps.get() == 0);
      open.requests.forget();
      release(other, one);
      eventually("the first is woken", () -> open.wakeUps.get() > 0);
      ConsulGrant given = (ConsulGrant) ((Ticket.Granted) first.poll()).grant();
      assertThat(given.permit()).isEqualTo(one.permit());
      assertThat(given.number()).isGreaterThan(one.number());
      // The long polls in between are on the same folder.
      assertThat(open.requests.count("/v1/txn")).as("it asks for the permit").isEqualTo(1);
      eventually("and so the second", () -> behind.wakeUps.get() > 0);
      assertThat(second.poll()).isInstanceOf(Ticket.Waiting.class);
      eventually("which watches now", () -> behind.requests.longPolls() == 1);
      int wakeUps = behind.wakeUps.get();
      release(other, two);
      eventually("until there is one for it", () -> behind.wakeUps.get() > wakeUps);
      assertThat(granted(second).permit()).isEqualTo(two.permit());
    }
  }

  @Test
  void whoKnowsThatAllAreTakenJoinsThoseWhoWaitWithOneRequest() throws Exception {
    ConsulGrant held = other.acquire(claim(1));
    assertThat(isTaken(open, claim(1))).isTrue();
    open.requests.forget();
    Ticket ticket = open.queue(claim(1));
    assertThat(open.requests.count("/v1/txn")).isEqualTo(1);
    release(other, held);
    assertThat(granted(ticket).number()).isGreaterThan(held.number());
  }

  // Sessions that end

  @Test
  void aPermitWhoseSessionEndedUnheardIsGivenWhenItsHolderHasStoppedBelieving() throws Exception {
    ConsulGrant unheard = open.acquire(shortClaim(2));
    Ticket waiting;
    long began;
    try (OpenStore third = new OpenStore(server.address())) {
      ConsulGrant kept = third.acquire(claim(2));
      waiting = other.queue(shortClaim(2));
      cutOff(unheard.attempt());
      began = System.nanoTime();
      eventually("the waiter hears of it", () -> other.wakeUps.get() > 0);
      assertThat(waiting.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(isTaken(third, shortClaim(2))).isTrue();
      assertThat(holders())
          .extracting(StoredHolder::permit)
          .as("shown until then")
          .containsExactlyInAnyOrder(unheard.permit(), kept.permit());
      ConsulGrant next = granted(waiting);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
      assertThat(next.permit()).isEqualTo(unheard.permit());
      assertThat(next.number()).isGreaterThan(unheard.number());
      assertThat(third.store.verify(kept)).isPresent();
    }
  }

  @Test
  void consulCountsDownTheTimeOfAPermitForThoseWhoAskOnceAndEnd() throws Exception {
    ConsulGrant kept = other.acquire(claim(2));
    ConsulGrant unheard = open.acquire(shortClaim(2));
    cutOff(unheard.attempt());
    try (OpenStore passing = new OpenStore(server.address())) {
      assertThat(isTaken(passing, shortClaim(2))).isTrue();
    }
    List<Entry> parts =
        entries().stream().filter(entry -> entry.key().contains(Countdown.KEY)).toList();
    assertThat(parts).hasSize(2).noneMatch(part -> part.session().isEmpty());
    eventually(
        "Consul has measured it",
        () -> entries().stream()
            .anyMatch(
                entry -> entry.key().contains(Countdown.KEY) && entry.session().isEmpty()));
    try (OpenStore passing = new OpenStore(server.address())) {
      assertThat(passing.acquire(shortClaim(2)).permit()).isEqualTo(unheard.permit());
    }
    assertThat(other.store.verify(kept)).isPresent();
  }

  @Test
  void aWaiterWhoseSessionEndedKeepsNobodyWaiting() throws Exception {
    ConsulGrant held = other.acquire(shortClaim(1));
    Ticket unheard = open.queue(shortClaim(1));
    try (OpenStore third = new OpenStore(server.address())) {
      Ticket behind = third.queue(shortClaim(1));
      String session = entries().stream()
          .filter(entry -> !entry.session().equals(held.attempt().session().id()))
          .min(Comparator.comparingLong(Entry::createIndex))
          .map(Entry::session)
          .orElseThrow();
      link.blackhole();
      // Of the two that wait, the first.
      http.destroySession(session);
      long began = System.nanoTime();
      release(other, held);
      eventually("the next is woken", () -> third.wakeUps.get() > 0);
      granted(behind);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(TTL);
      link.refuse();
    }
    assertThatExceptionOfType(StoreException.class).isThrownBy(unheard::poll);
  }

  @Test
  void whoHearsOfTheEndOfItsSessionGivesItsPermitsBackAtOnce() throws Exception {
    ConsulGrant lost = open.acquire(shortClaim(2));
    ConsulGrant too = open.acquire(shortClaim(2));
    Ticket waiting = other.queue(shortClaim(2));
    long began = System.nanoTime();
    http.destroySession(lost.attempt().session().id());
    ConsulGrant next = granted(waiting);
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(TTL);
    assertThat(open.losses).hasSize(2);
    assertThat(next.number()).isGreaterThan(Math.max(lost.number(), too.number()));
    other.acquire(shortClaim(2));
  }

  @Test
  void aPermitOfASessionThatEndedCanBeTakenByForce() throws Exception {
    ConsulGrant kept = other.acquire(shortClaim(2));
    ConsulGrant unheard = open.acquire(shortClaim(2));
    cutOff(unheard.attempt());
    assertThat(isTaken(other, shortClaim(2))).isTrue();
    // That of the grant, unless its key had served before.
    long number = holders().stream()
        .filter(holder -> holder.permit() == unheard.permit())
        .findFirst()
        .orElseThrow()
        .number();
    assertThat(other.store.forceRelease(OpenStore.permitKey(name), number)).isTrue();
    assertThat(other.store.forceRelease(OpenStore.permitKey(name), number)).isFalse();
    assertThat(other.acquire(shortClaim(2)).permit()).isEqualTo(unheard.permit());
    assertThat(other.store.verify(kept)).isPresent();
  }

  // Keys that somebody deletes

  @Test
  void thePermitOfAKeyThatDisappearedIsLeftAloneByTheFirstWhoWaitsAndTheOthersAreNot()
      throws Exception {
    ConsulGrant deleted = open.acquire(shortClaim(2));
    ConsulGrant released = open.acquire(shortClaim(2));
    Ticket first = other.queue(shortClaim(2));
    try (OpenStore third = new OpenStore(server.address())) {
      Ticket second = third.queue(shortClaim(2));
      link.blackhole();
      http.delete("/v1/kv/" + deleted.attempt().key());
      long began = System.nanoTime();
      assertThat(first.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(other.store.forceRelease(OpenStore.permitKey(name), released.number()))
          .isTrue();
      ConsulGrant given = granted(first);
      assertThat(given.permit()).isEqualTo(released.permit());
      other.store.release(given, Duration.ZERO);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(TTL);
      second.close();
      link.refuse();
    }
  }

  @Test
  void aPermitWhoseKeyDisappearedIsGivenAfterItsTime() throws Exception {
    ConsulGrant deleted = open.acquire(shortClaim(1));
    Ticket ticket = other.queue(shortClaim(1));
    link.blackhole();
    long began = System.nanoTime();
    http.delete("/v1/kv/" + deleted.attempt().key());
    granted(ticket);
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
    link.refuse();
  }

  // Minimum holds

  @Test
  void aMinimumHoldKeepsItsPermitAndNoOther() throws Exception {
    Duration hold = Duration.ofSeconds(20);
    ConsulGrant grant = other.acquire(claim(2));
    assertThat(other.store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(holders())
        .singleElement()
        .satisfies(holder -> assertThat(holder.released()).isTrue())
        .satisfies(holder -> assertThat(holder.permit()).isEqualTo(grant.permit()));
    ConsulGrant next = open.acquire(claim(2));
    assertThat(next.permit()).isNotEqualTo(grant.permit());
    assertThat(isTaken(open, claim(2))).isTrue();
    time.by(hold);
    eventually("it is over", () -> holders().size() == 1);
    assertThat(open.acquire(claim(2)).permit()).isEqualTo(grant.permit());
  }

  // Numbers of permits

  @Test
  void anotherNumberOfPermitsIsRefusedAndLeavesNothing() throws Exception {
    ConsulGrant held = other.acquire(claim(2));
    release(open, open.acquire(OpenStore.permitClaim("warm-" + name, 1)));
    open.requests.forget();
    assertDiffers(() -> open.store.tryAcquire(claim(3)));
    assertThat(requests(open)).as("joins, and leaves").hasSize(2);
    assertDiffers(() -> open.store.tryAcquire(claim(3)));
    assertThat(requests(open)).as("and again: looks").hasSize(3);
    for (int i = 0; i < 2; i++) {
      assertDiffers(() -> open.store.tryAcquire(claim(3)));
      assertDiffers(() -> open.store.acquireOrQueue(claim(3), () -> {}));
    }
    assertThat(holders()).hasSize(1);
    ConsulGrant second = other.acquire(claim(2));
    Ticket ticket = other.queue(claim(2));
    release(other, held);
    release(other, second);
    // Somebody waits.
    assertDiffers(() -> open.store.tryAcquire(claim(3)));
    release(other, granted(ticket));
    for (int i = 0; i < 3; i++) {
      open.acquire(claim(3));
    }
  }

  @Test
  void theNumberOfThoseWhoCrashedIsForgottenWithThemThoughOthersAskOnceAndEnd() throws Exception {
    cutOff(open.acquire(shortClaim(2)).attempt());
    eventually("three hold", () -> {
      try (OpenStore passing = new OpenStore(server.address())) {
        passing.acquire(shortClaim(3));
        passing.acquire(shortClaim(3));
        passing.acquire(shortClaim(3));
        return true;
      } catch (StoreException e) {
        assertThat(e.permitsStored()).isEqualTo(OptionalInt.of(2));
        return false;
      }
    });
  }

  private static void assertDiffers(org.assertj.core.api.ThrowableAssert.ThrowingCallable claim) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(claim)
        .satisfies(e -> assertThat(e.permitsStored()).isEqualTo(OptionalInt.of(2)))
        .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
  }

  @Test
  void whoIsRefusedForItsNumberAndHasNotLeftYetRefusesNobodyElse() throws Exception {
    release(open, open.acquire(OpenStore.permitClaim("warm-" + name, 1)));
    ConsulGrant held = other.acquire(claim(2));
    Script.Gate gate = new Script.Gate();
    open.script.next(1, Script.TRANSACTION, gate::answerLater);
    Future<?> refused = thread.submit(() -> {
      assertDiffers(() -> open.store.tryAcquire(claim(3)));
      return null;
    });
    eventually("it is in line", gate::isReached);
    other.requests.forget();
    Future<Void> leaving = Executors.newSingleThreadExecutor().submit(() -> {
      eventually("the other has looked", () -> requests(other).size() > 1);
      gate.open();
      return null;
    });
    ConsulGrant second = other.acquire(claim(2));
    leaving.get(60, TimeUnit.SECONDS);
    refused.get(60, TimeUnit.SECONDS);
    assertThat(second.permit()).isNotEqualTo(held.permit());
  }

  // Requests that arrive late, twice, or without an answer

  private void record() {
    open.script.next(Integer.MAX_VALUE, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      return chain.proceed(chain.request());
    });
  }

  private void sendAgain() throws IOException {
    List<Request> copies = new ArrayList<>(sent);
    Collections.reverse(copies);
    for (Request request : copies) {
      try (Response response = new OkHttpClient().newCall(request).execute()) {
        assertThat(response.code()).isIn(200, 409);
      }
    }
  }

  @Test
  void whatWasSentForEarlierAttemptsTakesNoPermit() throws Exception {
    record();
    ConsulGrant first = open.acquire(claim(2));
    release(open, first);
    ConsulGrant one = other.acquire(claim(2));
    ConsulGrant two = other.acquire(claim(2));
    Ticket ticket = open.queue(claim(2));
    release(other, one);
    ConsulGrant given = granted(ticket);
    sendAgain();
    assertThat(open.store.verify(given)).isPresent();
    assertThat(holders()).hasSize(2);
    release(open, given);
    sendAgain();
    assertThat(holders()).extracting(StoredHolder::number).containsExactly(two.number());
    release(other, two);
    sendAgain();
    assertThat(holders()).isEmpty();
    assertThat(isTaken(other, claim(1))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void anAcquireWhoseAnswerIsLostIsGrantedOnce(int before) throws Exception {
    // Then its first permit is another's, and what is lost is the answer to the second question.
    release(open, open.acquire(OpenStore.permitClaim("warm-" + name, 1)));
    ConsulGrant last = open.acquire(claim(2));
    release(open, last);
    List<ConsulGrant> held = new ArrayList<>();
    if (before == 1) {
      held.add(other.acquire(claim(2)));
      held.add(other.acquire(claim(2)));
      ConsulGrant free = held.remove(held.get(0).permit() == last.permit() ? 1 : 0);
      release(other, free);
    }
    open.script.next(before, Script.TRANSACTION, chain -> chain.proceed(chain.request()));
    open.script.next(1, Script.TRANSACTION, chain -> {
      chain.proceed(chain.request()).close();
      throw new IOException("The answer was lost");
    });
    ConsulGrant grant = open.acquire(claim(2));
    assertThat(holders()).hasSize(before + 1);
    assertThat(open.store.verify(grant)).isPresent();
    release(open, grant);
    assertThat(holders()).hasSize(before);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void anAcquireThatArrivesAfterItWasWithdrawnTakesNothing(int before) throws Exception {
    release(open, open.acquire(OpenStore.permitClaim("warm-" + name, 1)));
    ConsulGrant last = open.acquire(claim(2));
    release(open, last);
    if (before == 1) {
      ConsulGrant one = other.acquire(claim(2));
      ConsulGrant two = other.acquire(claim(2));
      release(other, one.permit() == last.permit() ? two : one);
    }
    open.script.next(before, Script.TRANSACTION, chain -> chain.proceed(chain.request()));
    open.script.next(2, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      throw new IOException("Held back");
    });
    Claim claim = claim(2);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> open.store.tryAcquire(claim))
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
    open.store.withdraw(claim);
    sendAgain();
    assertThat(holders()).hasSize(before);
    release(open, open.acquire(claim(2)));
  }
}
