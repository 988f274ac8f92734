package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Readers in the line of a lock, at the store itself. */
class ReadersTest {
  private static final Duration SHORT_TTL = Duration.ofSeconds(10);

  /** Less than the time after which a waiter looks by itself. */
  private static final long SOON_SECONDS = 5;

  private static ServerContainer server;

  private final String name = "readers-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());
  private final MovableTime time = new MovableTime();
  private OpenStore open;
  private OpenStore other;

  /** One whose clients die. */
  private OpenStore lost;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() throws Exception {
    open = new OpenStore(ConsulServer.address(server));
    other = new OpenStore(ConsulServer.address(server), time);
    lost = new OpenStore("http://" + link.host() + ":" + link.port());
    for (OpenStore store : List.of(open, other)) {
      release(store, store.acquire("warm-" + name));
      Await.until("its session is watched", () -> store.watches() > 0);
    }
  }

  @AfterEach
  void close() {
    link.close();
    lost.close();
    other.close();
    open.close();
  }

  /** A place in the line, and what wakes its thread. */
  private record Waiter(Ticket ticket, Semaphore woken, String key) {
    Grant enter() throws Exception {
      assertThat(woken.tryAcquire(SOON_SECONDS, TimeUnit.SECONDS))
          .as("it is woken")
          .isTrue();
      return ((Ticket.Granted) ticket.poll()).grant();
    }

    void awaitEntry() {
      Await.until("it enters", () -> {
        try {
          return ticket.poll() instanceof Ticket.Granted;
        } catch (StoreException e) {
          throw new IllegalStateException(e);
        }
      });
    }

    void assertWaits() throws StoreException {
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
    }
  }

  private static Waiter queue(OpenStore store, Claim claim) throws StoreException {
    Semaphore woken = new Semaphore(0);
    Acquisition acquisition = store.store.acquireOrQueue(claim, woken::release);
    String key = Objects.requireNonNull(store.store.sessions().attempt(claim)).key();
    return new Waiter(((Acquisition.Queued) acquisition).ticket(), woken, key);
  }

  private Waiter queueToRead(OpenStore store) throws StoreException {
    return queue(store, OpenStore.readClaim(name));
  }

  private Waiter queueToWrite(OpenStore store) throws StoreException {
    return queue(store, OpenStore.claim(name));
  }

  private ConsulGrant read(OpenStore store) throws StoreException {
    return store.acquire(OpenStore.readClaim(name));
  }

  private static void release(OpenStore store, Grant grant) throws StoreException {
    assertThat(store.store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private List<Long> readers() throws StoreException {
    return open.store.readers(OpenStore.key(name)).stream()
        .map(StoredHolder::number)
        .toList();
  }

  private List<Entry> entries() throws IOException {
    return http.entries("holdfast/m/" + name + "/");
  }

  private static void awaitLongPoll(OpenStore store, String key) {
    Await.until("a long poll on " + key, () -> store.requests.count("/v1/kv/" + key) > 0);
  }

  private static long requestsOf(OpenStore store, Callable<?> call) throws Exception {
    long before = store.requests.count("/v1/txn");
    Object unused = call.call();
    return store.requests.count("/v1/txn") - before;
  }

  /** Ends the session of a grant or a waiter of the client that dies. */
  private void die(String key) throws IOException {
    link.blackhole();
    http.destroySession(http.sessionOf(key));
  }

  @Test
  void aReaderWaitsForTheLastWriterBeforeItAndAWriterForTheOneBeforeIt() throws Exception {
    ConsulGrant first = read(open);
    Waiter writer = queueToWrite(other);
    Waiter reader = queueToRead(open);
    Waiter beside = queueToRead(other);
    Waiter last = queueToWrite(open);
    Waiter behind = queueToRead(other);
    awaitLongPoll(other, first.attempt().key());
    awaitLongPoll(open, writer.key());
    awaitLongPoll(other, writer.key());
    awaitLongPoll(open, beside.key());
    awaitLongPoll(other, last.key());
    assertThat(open.requests.count("/v1/kv/holdfast/m/" + name)).isEqualTo(2);
    assertThat(other.requests.count("/v1/kv/holdfast/m/" + name)).isEqualTo(3);

    release(open, first);
    Grant written = writer.enter();
    reader.assertWaits();
    release(other, written);
    Grant[] entered = new Grant[2];
    assertThat(requestsOf(open, () -> entered[0] = reader.enter())).isZero();
    assertThat(requestsOf(other, () -> entered[1] = beside.enter())).isZero();
    assertThat(entered).allMatch(grant -> grant.number() > written.number());
    assertThat(last.woken().availablePermits() + behind.woken().availablePermits())
        .as("wake-ups of those behind")
        .isZero();
    release(open, entered[0]);
    release(other, entered[1]);
    Grant lastWritten = last.enter();
    behind.assertWaits();
    release(open, lastWritten);
    release(other, behind.enter());
    assertThat(open.store.inspect(OpenStore.key(name))).isEmpty();
  }

  @Test
  void aReadIsOneRequestAndItsReleaseOneWhoeverReadsBesides() throws Exception {
    for (int besides = 0; besides < 3; besides++) {
      ConsulGrant[] grant = new ConsulGrant[1];
      assertThat(requestsOf(open, () -> grant[0] = read(open))).isEqualTo(1);
      assertThat(requestsOf(open, () -> {
            release(open, grant[0]);
            return true;
          }))
          .isEqualTo(1);
      ConsulGrant unused = read(other);
    }
  }

  @Test
  void aKeyServesReadersAndWritersInTurn() throws Exception {
    String key = null;
    long number = 0;
    for (int round = 0; round < 4; round++) {
      ConsulGrant grant = round % 2 == 0 ? read(open) : open.acquire(name);
      assertThat(grant.attempt().key()).isEqualTo(key == null ? grant.attempt().key() : key);
      assertThat(grant.number()).isGreaterThan(number);
      assertThat(readers()).hasSize(round % 2 == 0 ? 1 : 0);
      key = grant.attempt().key();
      number = grant.number();
      release(open, grant);
    }
  }

  @Test
  void whatAWriterFoundTakenByReadersIsNotTakenForAReader() throws Exception {
    ConsulGrant besides = read(other);
    Callable<Object> write = () -> open.store.tryAcquire(OpenStore.claim(name));
    Callable<Object> read = () -> open.store.tryAcquire(OpenStore.readClaim(name));
    assertThat(requestsOf(open, write)).isEqualTo(2);
    assertThat(requestsOf(open, write)).isEqualTo(1);
    ConsulGrant[] grant = new ConsulGrant[1];
    assertThat(requestsOf(open, () -> grant[0] = read(open))).isEqualTo(1);
    release(open, grant[0]);
    release(other, besides);

    ConsulGrant written = other.acquire(name);
    assertThat(requestsOf(open, read)).isEqualTo(2);
    assertThat(requestsOf(open, read)).isEqualTo(1);
    release(other, written);
    besides = read(other);
    assertThat(requestsOf(open, () -> grant[0] = read(open)))
        .as("look and lock")
        .isEqualTo(2);
    release(open, grant[0]);
    release(other, besides);
  }

  @Test
  void aReaderBehindTwoWritersEntersWhenBothHaveGivenUp() throws Exception {
    for (boolean firstOneFirst : new boolean[] {true, false}) {
      ConsulGrant inside = read(open);
      Waiter first = queueToWrite(other);
      Waiter second = queueToWrite(open);
      Waiter reader = queueToRead(other);
      if (firstOneFirst) {
        first.ticket().close();
        reader.assertWaits();
        second.ticket().close();
      } else {
        second.ticket().close();
        assertThat(reader.woken().tryAcquire(SOON_SECONDS, TimeUnit.SECONDS)).isTrue();
        reader.assertWaits();
        awaitLongPoll(other, first.key());
        first.ticket().close();
      }
      Grant entered = reader.enter();
      assertThat(open.store.verify(inside)).as("the read that was inside").isPresent();
      release(open, inside);
      release(other, entered);
    }
  }

  @Test
  void aWriterWhoseSessionEndsBlocksReadersForItsTimeAloneThoughSomebodyReads() throws Exception {
    ConsulGrant inside = read(open);
    Waiter dead = queue(lost, OpenStore.claim(name, SHORT_TTL));
    Waiter reader = queueToRead(other);
    awaitLongPoll(other, dead.key());
    die(dead.key());
    assertThat(reader.woken().tryAcquire(SOON_SECONDS, TimeUnit.SECONDS)).isTrue();
    reader.assertWaits();
    time.pass(SHORT_TTL);
    reader.awaitEntry();
    assertThat(readers()).hasSize(2).contains(inside.number());
  }

  @Test
  void aReaderWhoseSessionEndsAmongOthersKeepsAWriterWaitingForItsTimeAlone() throws Exception {
    ConsulGrant first = read(open);
    ConsulGrant dead = lost.acquire(OpenStore.readClaim(name, SHORT_TTL));
    ConsulGrant last = read(open);
    Waiter writer = queueToWrite(other);
    die(dead.attempt().key());
    assertThat(readers()).containsExactlyInAnyOrder(first.number(), dead.number(), last.number());
    writer.assertWaits();
    release(open, last);
    writer.assertWaits();
    time.pass(SHORT_TTL);
    Await.until("its place is ended", () -> {
      try {
        writer.assertWaits();
        return readers().equals(List.of(first.number()));
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
    release(open, first);
    writer.awaitEntry();
  }

  private boolean isGrantedInPassing(Claim claim) throws StoreException {
    try (OpenStore passing = new OpenStore(ConsulServer.address(server))) {
      return passing.store.tryAcquire(claim).isPresent();
    }
  }

  private List<Entry> countdown() throws IOException {
    return http.entries("holdfast/m/" + name + "/" + Countdown.KEY);
  }

  @Test
  void whoAsksInPassingHasADeadWriterCountedDownThoughSomebodyReads() throws Exception {
    ConsulGrant inside = read(open);
    Waiter dead = queue(lost, OpenStore.claim(name, SHORT_TTL));
    die(dead.key());
    assertThat(isGrantedInPassing(OpenStore.readClaim(name))).isFalse();
    assertThat(countdown()).hasSize(2);
    // Destroyed, in place of waiting for its TTL.
    http.destroySession(countdown().get(0).session());
    assertThat(isGrantedInPassing(OpenStore.readClaim(name))).isTrue();
    assertThat(open.store.verify(inside)).isPresent();
  }

  @Test
  void aCountdownOfADeadReaderIsNotBegunAnewForAnother() throws Exception {
    ConsulGrant inside = read(open);
    ConsulGrant dead = lost.acquire(OpenStore.readClaim(name, SHORT_TTL));
    ConsulGrant later = lost.acquire(OpenStore.readClaim(name));
    die(dead.attempt().key());
    assertThat(isGrantedInPassing(OpenStore.claim(name))).isFalse();
    List<Entry> parts = countdown();
    assertThat(parts).hasSize(2);
    die(later.attempt().key());
    assertThat(isGrantedInPassing(OpenStore.claim(name))).isFalse();
    assertThat(countdown()).isEqualTo(parts);
    http.destroySession(parts.get(0).session());
    assertThat(isGrantedInPassing(OpenStore.claim(name))).isFalse();
    assertThat(readers()).containsExactlyInAnyOrder(inside.number(), later.number());
    assertThat(countdown()).as("that of the other").hasSize(2).doesNotContainAnyElementsOf(parts);
  }

  @Test
  void theUnprovedEndOfAReaderConcernsWritersAlone() throws Exception {
    ConsulGrant gone = read(open);
    ConsulGrant beside = read(other);
    Waiter writer = queueToWrite(other);
    Waiter reader = queueToRead(open);
    awaitLongPoll(other, beside.attempt().key());
    var unused = http.delete("/v1/kv/" + gone.attempt().key());
    release(other, beside);
    assertThat(writer.woken().tryAcquire(SOON_SECONDS, TimeUnit.SECONDS)).isTrue();
    // The end of the second proves nothing of the first.
    writer.assertWaits();
    assertThat(readers()).isEmpty();
    writer.ticket().close();
    release(open, reader.enter());
  }

  @Test
  void toAnOlderClientAReaderIsAPlaceThatBlocksAndProvesNothing() throws Exception {
    ConsulGrant first = read(open);
    ConsulGrant second = read(other);
    assertThat(entries()).allMatch(entry -> entry.value().startsWith("reader 60000 0 "));
    Line before = asSeenByAnOlderClient();
    assertThat(before.places())
        .hasSize(2)
        .allMatch(place -> place.mark().millis() == 60_000 && !place.isTimed());
    assertThat(before.inside()).containsExactly(before.first());
    assertThat(before.ahead(before.places().get(1))).containsExactly(before.first());
    release(other, second);
    Line.Place released = before.places().get(1);
    Entry now = asSeenByAnOlderClient().entryOf(released);
    assertThat(Line.isOver(released, now)).isTrue();
    assertThat(Line.hadLock(released, now)).isFalse();
    http.destroySession(first.attempt().session().id());
    Await.until("it is over", () -> {
      try {
        return asSeenByAnOlderClient().isEmpty();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
  }

  /** Reads the line as one of which the word for readers is not known. */
  private Line asSeenByAnOlderClient() throws IOException {
    return new Line(entries().stream()
        .map(entry -> new Entry(
            entry.key(),
            entry.value().replaceFirst("^reader ", "unknown "),
            entry.session(),
            entry.flags(),
            entry.createIndex(),
            entry.modifyIndex()))
        .toList());
  }

  @Test
  void aMinimumHoldKeepsAllReadersWaiting() throws Exception {
    Duration hold = Duration.ofSeconds(60);
    ConsulGrant written = open.acquire(name);
    Waiter first = queueToRead(other);
    Waiter second = queueToRead(other);
    assertThat(open.store.release(written, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    first.assertWaits();
    second.assertWaits();
    assertThat(open.store.tryAcquire(OpenStore.readClaim(name))).isEmpty();
    assertThat(readers()).isEmpty();
    StoredLock lock = open.store.list(LockKind.MUTEX, name, 10).get(0);
    assertThat(lock.holder().released()).isTrue();
    assertThat(lock.waiting()).hasValue(2);
    assertThat(open.store.forceRelease(OpenStore.key(name), written.number())).isTrue();
    // The later reader does not wait for the earlier.
    second.awaitEntry();
    first.awaitEntry();
    assertThat(entries())
        .noneMatch(entry -> Mark.of(entry).released() && !Mark.of(entry).isIdle());
  }

  @Test
  void readersWhoAreInsideAreShownAndNoneThatWait() throws Exception {
    assertThat(readers()).isEmpty();
    ConsulGrant written = open.acquire(name);
    Waiter waiting = queueToRead(other);
    assertThat(readers()).as("while a writer is inside").isEmpty();
    release(open, written);
    Grant first = waiting.enter();
    ConsulGrant second = read(open);
    Waiter writer = queueToWrite(other);
    Waiter behind = queueToRead(open);
    assertThat(readers()).containsExactly(first.number(), second.number());
    StoredHolder shown = open.store.inspect(OpenStore.key(name)).orElseThrow();
    assertThat(shown.number()).isEqualTo(first.number());
    assertThat(open.store.list(LockKind.MUTEX, name, 10))
        .containsExactly(new StoredLock(OpenStore.key(name), shown, OptionalInt.of(2)));
    behind.ticket().close();
    writer.ticket().close();
  }

  @Test
  void oneReaderOfSeveralIsForcedOutAndNobodyElse() throws Exception {
    ConsulGrant first = read(open);
    ConsulGrant second = read(other);
    ConsulGrant third = read(open);
    Waiter writer = queueToWrite(other);
    Waiter behind = queueToRead(open);
    long waiting = http.entries(behind.key()).get(0).modifyIndex();
    assertThat(open.store.forceRelease(OpenStore.key(name), waiting))
        .as("one that waits")
        .isFalse();
    assertThat(open.store.forceRelease(OpenStore.key(name), second.number())).isTrue();
    assertThat(open.store.forceRelease(OpenStore.key(name), second.number())).isFalse();
    Await.until("its holder is told", () -> !other.losses.isEmpty());
    assertThat(other.losses).containsExactly(LeaseLoss.Reason.TAKEN);
    assertThat(other.store.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(open.store.verify(first)).isPresent();
    assertThat(open.store.verify(third)).isPresent();
    writer.assertWaits();
    release(open, first);
    release(open, third);
    release(other, writer.enter());
    release(open, behind.enter());
  }
}
