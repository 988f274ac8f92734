package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers in the line of a lock: what they cost, and what becomes of those that go astray. */
@Tag("one-jdk")
class ReadersTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  private static KitContainer server;

  private final String name = "read-" + UUID.randomUUID();
  private final TestHttp http = new TestHttp(server.address());
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());
  private final AheadTime time = new AheadTime();
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
  }

  private Claim read() {
    return OpenStore.readClaim(name);
  }

  private Claim shortRead() {
    return OpenStore.readClaim(name, TTL);
  }

  private Claim write() {
    return OpenStore.claim(name);
  }

  private Claim shortWrite() {
    return OpenStore.claim(name, TTL);
  }

  private static boolean isTaken(OpenStore store, Claim claim) throws StoreException {
    return store.store.tryAcquire(claim).isEmpty();
  }

  private static void release(OpenStore store, ConsulGrant grant) throws StoreException {
    assertThat(store.store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

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

  private static List<String> requests(OpenStore store) {
    return store.requests.paths().stream()
        .filter(path -> !OpenStore.isOfTheSession(path))
        .toList();
  }

  private List<StoredHolder> holders() {
    try {
      return other.store.holders(OpenStore.key(name));
    } catch (StoreException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Entry> entries() {
    try {
      return http.entries("holdfast/m/" + name + "/");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private void cutOff(ConsulGrant grant) throws IOException {
    link.blackhole();
    http.destroySession(grant.attempt().session().id());
  }

  // What it costs

  @Test
  void aReadAndItsReleaseAreOneRequestEachWhoeverElseReads() throws Exception {
    release(other, other.acquire(read()));
    ConsulGrant reading = open.acquire(read());
    other.requests.forget();
    for (int i = 0; i < 3; i++) {
      ConsulGrant grant = other.acquire(read());
      assertThat(requests(other)).hasSize(2 * i + 1);
      assertThat(grant.number()).isGreaterThan(reading.number());
      release(other, grant);
      assertThat(requests(other)).hasSize(2 * i + 2);
    }
    other.requests.forget();
    assertThat(isTaken(other, write())).isTrue();
    assertThat(requests(other)).as("a writer: joins, and leaves").hasSize(2);
    assertThat(isTaken(other, write())).isTrue();
    assertThat(requests(other)).as("and again: looks").hasSize(3);
    release(open, reading);
    release(other, other.acquire(write()));
  }

  @Test
  void allReadersBehindAWriterStartWithoutAQuestionWhenItReleases() throws Exception {
    ConsulGrant writing = open.acquire(write());
    try (OpenStore third = new OpenStore(server.address())) {
      Ticket one = other.queue(read());
      Ticket two = third.queue(read());
      eventually("the sessions are watched", () -> other.watches() == 1 && third.watches() == 1);
      long asked = other.requests.count("/v1/txn") + third.requests.count("/v1/txn");
      release(open, writing);
      eventually("both are woken", () -> other.wakeUps.get() > 0 && third.wakeUps.get() > 0);
      for (Ticket ticket : List.of(one, two)) {
        assertThat(ticket.poll())
            .isInstanceOfSatisfying(
                Ticket.Granted.class,
                granted -> assertThat(granted.grant().number()).isGreaterThan(writing.number()));
      }
      assertThat(other.requests.count("/v1/txn") + third.requests.count("/v1/txn"))
          .isEqualTo(asked);
    }
  }

  @Test
  void aWriterWaitsForEachReaderBeforeItWhicheverEndsFirst() throws Exception {
    try (OpenStore third = new OpenStore(server.address())) {
      ConsulGrant first = open.acquire(read());
      ConsulGrant second = third.acquire(read());
      Ticket writer = other.queue(write());
      release(third, second);
      eventually("it hears of the last before it", () -> other.wakeUps.get() > 0);
      assertThat(writer.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(isTaken(third, read())).as("past a writer that waits").isTrue();
      release(open, first);
      assertThat(granted(writer).number()).isGreaterThan(second.number());
    }
  }

  // Sessions that end

  @Test
  void aReaderWhoseSessionEndedUnheardKeepsWritersOutForItsTimeAndReadersNot() throws Exception {
    ConsulGrant unheard = open.acquire(shortRead());
    try (OpenStore third = new OpenStore(server.address())) {
      ConsulGrant kept = third.acquire(read());
      cutOff(unheard);
      long began = System.nanoTime();
      ConsulGrant next = third.acquire(read());
      release(third, kept);
      release(third, next);
      Ticket writer = other.queue(shortWrite());
      assertThat(writer.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(granted(writer).number()).isGreaterThan(next.number());
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
    }
  }

  @Test
  void theTimeOfAReaderThatIsGoneCountsWhileOthersRead() throws Exception {
    ConsulGrant reading = other.acquire(read());
    ConsulGrant unheard = open.acquire(shortRead());
    cutOff(unheard);
    Ticket writer;
    try (OpenStore third = new OpenStore(server.address())) {
      writer = third.queue(shortWrite());
      long began = System.nanoTime();
      eventually("its time is over, beside one that reads", () -> {
        try {
          boolean unused = writer.poll() instanceof Ticket.Granted;
        } catch (StoreException e) {
          throw new IllegalStateException(e);
        }
        return holders().size() == 1;
      });
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL.minusSeconds(1));
      assertThat(holders()).extracting(StoredHolder::number).containsExactly(reading.number());
      release(other, reading);
      granted(writer);
    }
  }

  @Test
  void aWriterWhoseSessionEndedUnheardKeepsReadersOutForItsTime() throws Exception {
    ConsulGrant unheard = open.acquire(shortWrite());
    Ticket reader = other.queue(shortRead());
    cutOff(unheard);
    long began = System.nanoTime();
    eventually("the reader hears of it", () -> other.wakeUps.get() > 0);
    assertThat(reader.poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(granted(reader).number()).isGreaterThan(unheard.number());
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
  }

  @Test
  void consulCountsDownTheTimeOfAWriterForReadersThatAskOnceAndEnd() throws Exception {
    cutOff(open.acquire(shortWrite()));
    try (OpenStore passing = new OpenStore(server.address())) {
      assertThat(isTaken(passing, shortRead())).isTrue();
    }
    assertThat(entries().stream().filter(entry -> entry.key().contains(Countdown.KEY)))
        .hasSize(2)
        .noneMatch(part -> part.session().isEmpty());
  }

  @Test
  void readersThatAreToldOfTheEndOfTheirSessionLetTheWriterInAtOnce() throws Exception {
    ConsulGrant one = open.acquire(shortRead());
    ConsulGrant two = open.acquire(shortRead());
    assertThat(one.attempt().key()).isNotEqualTo(two.attempt().key());
    Ticket writer = other.queue(shortWrite());
    long began = System.nanoTime();
    http.destroySession(one.attempt().session().id());
    granted(writer);
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(TTL);
    assertThat(open.losses).hasSize(2);
  }

  @Test
  void aWriterDoesNotStartBeforeAReaderWhoseKeyDisappearedHasStoppedBelieving() throws Exception {
    ConsulGrant deleted = open.acquire(shortRead());
    try (OpenStore third = new OpenStore(server.address())) {
      ConsulGrant second = third.acquire(read());
      Ticket writer = other.queue(shortWrite());
      link.blackhole();
      long began = System.nanoTime();
      http.delete("/v1/kv/" + deleted.attempt().key());
      // Which had the lock, and proves nothing about others that read.
      release(third, second);
      eventually("the writer is woken", () -> other.wakeUps.get() > 0);
      assertThat(writer.poll()).isInstanceOf(Ticket.Waiting.class);
      granted(writer);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(TTL);
      link.refuse();
    }
  }

  // Minimum holds

  @Test
  void aMinimumHoldOfAReaderKeepsWritersOutAndLetsReadersIn() throws Exception {
    Duration hold = Duration.ofSeconds(20);
    ConsulGrant grant = other.acquire(read());
    assertThat(other.store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    release(open, open.acquire(read()));
    assertThat(isTaken(open, write())).isTrue();
    assertThat(holders())
        .singleElement()
        .satisfies(one -> assertThat(one.released()).isTrue());
    time.by(hold);
    eventually("it is over", () -> holders().isEmpty());
    release(open, open.acquire(write()));
  }

  @Test
  void aMinimumHoldOfAReaderOutlivesItsClient() throws Exception {
    try (OpenStore passing = new OpenStore(server.address())) {
      ConsulGrant grant = passing.acquire(read());
      assertThat(passing.store.release(grant, Duration.ofSeconds(30)))
          .isEqualTo(ReleaseOutcome.RELEASED);
    }
    assertThat(isTaken(open, write())).isTrue();
    release(open, open.acquire(read()));
  }

  // What is shown

  @Test
  void eachReaderIsShownAndCanBeTakenAwayByEitherKey() throws Exception {
    ConsulGrant one = open.acquire(read());
    ConsulGrant two = open.acquire(read());
    Ticket writer = open.queue(write());
    Ticket behind = open.queue(read());
    LockKey asReader = new LockKey(LockKind.READ, name);
    for (LockKey key : List.of(OpenStore.key(name), asReader)) {
      assertThat(other.store.holders(key))
          .extracting(StoredHolder::number)
          .containsExactly(one.number(), two.number());
      assertThat(other.store.inspect(key).orElseThrow().number()).isEqualTo(one.number());
    }
    assertThat(other.store.list(LockKind.MUTEX, name, 10)).singleElement().satisfies(lock -> {
      assertThat(lock.holder().number()).isEqualTo(one.number());
      assertThat(lock.waiting()).hasValue(2);
    });
    assertThat(other.store.forceRelease(OpenStore.key(name), two.number())).isTrue();
    assertThat(other.store.forceRelease(asReader, two.number())).isFalse();
    assertThat(open.store.verify(two)).isEmpty();
    assertThat(open.store.verify(one)).isPresent();
    assertThat(other.store.forceRelease(asReader, one.number())).isTrue();
    ConsulGrant wrote = granted(writer);
    assertThat(behind.poll()).isInstanceOf(Ticket.Waiting.class);
    release(open, wrote);
    assertThat(granted(behind).number()).isGreaterThan(two.number());
  }

  // Clients that know nothing of reading

  /** They look at the values and sessions of keys, and at no flag of one that is not over. */
  @Test
  void aClientThatKnowsNoReadersTakesThemForHoldersAndTheirOrphansForThoseOfHolders()
      throws Exception {
    ConsulGrant first = open.acquire(shortRead());
    ConsulGrant second = open.acquire(shortRead());
    for (boolean ended : new boolean[] {false, true}) {
      if (ended) {
        cutOff(first);
      }
      Line seen = new Line(entries().stream()
          .map(entry -> new Entry(
              entry.key(),
              entry.value(),
              entry.session(),
              0,
              entry.createIndex(),
              entry.modifyIndex()))
          .toList());
      assertThat(seen.places())
          .extracting(Line.Place::number)
          .containsExactly(first.number(), second.number());
      assertThat(seen.places()).noneMatch(Line.Place::reads);
      assertThat(seen.inTheWayOf(seen.places().get(1))).hasSize(1);
      assertThat(seen.first().isTimed()).isEqualTo(ended);
    }
  }

  // Requests that arrive late, twice, or without an answer

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
  void whatWasSentForEarlierReadersLetsNobodyInAndKeepsNobodyOut() throws Exception {
    open.script.next(Integer.MAX_VALUE, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      return chain.proceed(chain.request());
    });
    ConsulGrant one = open.acquire(read());
    ConsulGrant two = open.acquire(read());
    release(open, one);
    sendAgain();
    assertThat(open.store.verify(two)).isPresent();
    assertThat(isTaken(other, write())).isTrue();
    release(open, two);
    sendAgain();
    ConsulGrant writing = other.acquire(write());
    sendAgain();
    assertThat(other.store.verify(writing)).isPresent();
    assertThat(holders()).extracting(StoredHolder::number).containsExactly(writing.number());
    release(other, writing);
    assertThat(holders()).isEmpty();
  }

  @Test
  void aReadThatArrivesAfterItWasWithdrawnKeepsNobodyOut() throws Exception {
    release(open, open.acquire(read()));
    open.script.next(2, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      throw new IOException("Held back");
    });
    Claim claim = read();
    assertThatExceptionOfType(StoreException.class).isThrownBy(() -> open.store.tryAcquire(claim));
    open.store.withdraw(claim);
    sendAgain();
    release(other, other.acquire(write()));
  }
}
