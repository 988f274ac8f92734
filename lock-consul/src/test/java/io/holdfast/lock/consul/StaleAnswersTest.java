package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Stale answers: one about an older state grants, confirms and ends nothing. */
class StaleAnswersTest {
  private static ServerContainer server;

  private final String name = "stale-" + UUID.randomUUID();
  private OpenStore holder;
  private OpenStore waiting;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() {
    holder = new OpenStore(ConsulServer.address(server));
    waiting = new OpenStore(ConsulServer.address(server));
  }

  @AfterEach
  void close() {
    waiting.close();
    holder.close();
  }

  /** Returns the line in its order. */
  private List<Entry> line() throws IOException {
    String body = new TestHttp(ConsulServer.address(server))
        .get("/v1/kv/holdfast/m/" + name + "/?recurse")
        .body();
    return ((List<?>) Json.parse(body))
        .stream()
            .map(Entry::of)
            .sorted(Comparator.comparingLong(Entry::modifyIndex))
            .toList();
  }

  private static String json(Entry entry) {
    return "[{\"Key\":"
        + Json.quote(entry.key())
        + ",\"Session\":"
        + Json.quote(entry.session())
        + ",\"CreateIndex\":"
        + entry.createIndex()
        + ",\"ModifyIndex\":"
        + entry.modifyIndex()
        + "}]";
  }

  /** The kinds of stale answers: of a server that has not read all of its log yet, or that lies. */
  private enum Stale {
    GONE_AT_NO_INDEX,
    GONE_LONG_AGO,
    GONE_BEFORE_THE_WAITER_CAME,
    GONE_BY_NOW,
    WRITTEN_TO,
    IN_AN_EARLIER_LIFE
  }

  private Response answer(Stale stale, Interceptor.Chain chain) throws IOException {
    List<Entry> line = line();
    Entry first = line.get(0);
    long own = line.get(1).createIndex();
    return switch (stale) {
      case GONE_AT_NO_INDEX -> Script.answer(chain, 404, 0, "");
      case GONE_LONG_AGO -> Script.answer(chain, 404, 1, "");
      case GONE_BEFORE_THE_WAITER_CAME -> Script.answer(chain, 404, own, "");
      case GONE_BY_NOW -> Script.answer(chain, 404, own + 1, "");
      case WRITTEN_TO ->
        Script.answer(
            chain,
            200,
            own + 1,
            json(new Entry(first.key(), "", first.session(), 0, first.createIndex(), own + 1)));
      case IN_AN_EARLIER_LIFE ->
        Script.answer(
            chain,
            200,
            own + 1,
            json(new Entry(
                first.key(),
                "",
                first.session(),
                0,
                first.createIndex() - 1,
                first.createIndex())));
    };
  }

  @ParameterizedTest
  @EnumSource(Stale.class)
  void theLongPollOnTheOneBeforeGrantsNothingUnlessItsEndIsCertain(Stale stale) throws Exception {
    waiting.script.next(1, Script::isOnAttempt, chain -> answer(stale, chain));
    ConsulGrant held = holder.acquire(name);
    Ticket ticket = waiting.queue(name);
    Await.until("the waiter has heard", () -> waiting.wakeUps.get() > 0);
    assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
    int before = waiting.wakeUps.get();
    holder.store.release(held, Duration.ZERO);
    Await.until("the waiter hears the truth", () -> waiting.wakeUps.get() > before);
    assertThat(ticket.poll())
        .isInstanceOfSatisfying(
            Ticket.Granted.class,
            granted -> assertThat(granted.grant().number()).isGreaterThan(held.number()));
  }

  /** L-9.5: the session may have ended while the machine slept, whatever became of its clocks. */
  @Test
  void afterASleepNothingIsGrantedWithoutAQuestionThoughTheWallClockWasSetBackBefore()
      throws Exception {
    SetTime time = new SetTime();
    Script script = new Script();
    Script.Gate gate = new Script.Gate();
    AtomicInteger questions = new AtomicInteger();
    script.next(1, Script::isOnAttempt, gate::answerLater);
    script.next(Integer.MAX_VALUE, request -> Script.hasText(request, "get-tree"), chain -> {
      questions.incrementAndGet();
      return chain.proceed(chain.request());
    });
    Requests requests = new Requests();
    OkHttpClient users = new OkHttpClient.Builder()
        .addInterceptor(requests)
        .addInterceptor(script)
        .build();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (LockClient client = ConsulLocks.builder(users, ConsulServer.address(server))
            .timeSource(time)
            .build();
        Lease other = client.get("other-" + name).lock()) {
      ConsulGrant held = holder.acquire(name);
      Future<Long> turn = thread.submit(() -> client.get(name).call(Lease::token));
      Await.until("it waits", () -> requests.longPolls() == 1);
      holder.store.release(held, Duration.ZERO);
      Await.until("its turn has come, and it has not heard of that", gate::isReached);
      int asked = questions.get();
      time.setWallAhead(Duration.ofMinutes(-10));
      Await.until("the client has seen that its clock was set back", () -> time.reads() > 3);
      time.setWallAhead(Duration.ofMinutes(-2));
      gate.open();
      assertThat(turn.get(45, TimeUnit.SECONDS)).isGreaterThan(held.number());
      assertThat(questions).as("questions").hasValueGreaterThan(asked);
      other.verify();
    } finally {
      thread.shutdownNow();
    }
  }

  /** The machine's clocks, with a wall clock that can be set, and that counts its readings. */
  private static final class SetTime implements TimeSource {
    private final TimeSource system = TimeSource.system();
    private final AtomicInteger reads = new AtomicInteger();
    private volatile long aheadMillis;

    void setWallAhead(Duration ahead) {
      aheadMillis = ahead.toMillis();
      reads.set(0);
    }

    /** Returns the number of readings of the wall clock since it was set. */
    int reads() {
      return reads.get();
    }

    @Override
    public long nanos() {
      return system.nanos();
    }

    @Override
    public long wallMillis() {
      reads.incrementAndGet();
      return system.wallMillis() + aheadMillis;
    }

    @Override
    public void park(Object blocker, long nanos) {
      system.park(blocker, nanos);
    }
  }

  @Test
  void theKeyBeforeThatIsMadeAnewBehindTheWaiterIsGone() throws Exception {
    Script.Gate gate = new Script.Gate();
    waiting.script.next(1, Script::isOnAttempt, gate::askLater);
    ConsulGrant held = holder.acquire(name);
    Ticket ticket = waiting.queue(name);
    Await.until("the waiter is about to ask", gate::isReached);
    holder.store.release(held, Duration.ZERO);
    Ticket behind = holder.queue(name);
    assertThat(line().get(1).key()).as("the same key").isEqualTo(held.attempt().key());
    gate.open();
    Await.until("the waiter has heard", () -> waiting.wakeUps.get() > 0);
    long asked = waiting.requests.count("/v1/txn");
    assertThat(ticket.poll()).isInstanceOf(Ticket.Granted.class);
    assertThat(waiting.requests.count("/v1/txn")).as("questions").isEqualTo(asked);
    behind.close();
  }

  @Test
  void afterTheSessionsIndexWentBackwardsNothingIsGrantedWithoutAQuestion() throws Exception {
    AtomicBoolean fromAnew = new AtomicBoolean();
    waiting.script.next(
        1, request -> Script.isOnSession(request) && !Script.isFromAnew(request), chain -> {
          long index =
              Long.parseLong(String.valueOf(chain.request().url().queryParameter("index")));
          String key = chain.request().url().encodedPath();
          return Script.answer(
              chain,
              200,
              index - 1,
              new TestHttp(ConsulServer.address(server)).get(key).body());
        });
    // These stay unanswered: an answer would mend all.
    waiting.script.next(
        Integer.MAX_VALUE,
        request -> Script.isOnSession(request) && Script.isFromAnew(request),
        chain -> {
          fromAnew.set(true);
          return Script.answer(chain, 500, 0, "No cluster leader");
        });
    ConsulGrant held = holder.acquire(name);
    Ticket ticket = waiting.queue(name);
    Await.until("the session is watched from anew", fromAnew::get);
    holder.store.release(held, Duration.ZERO);
    Await.until("the waiter has heard", () -> waiting.wakeUps.get() > 0);
    long asked = waiting.requests.count("/v1/txn");
    assertThat(ticket.poll()).isInstanceOf(Ticket.Granted.class);
    assertThat(waiting.requests.count("/v1/txn")).as("questions").isEqualTo(asked + 1);
  }

  @Test
  void aServerThatDoesNotKnowTheSessionsKeyYetEndsNoLease() throws Exception {
    holder.script.next(1, Script::isOnSession, chain -> Script.answer(chain, 404, 1, ""));
    ConsulGrant held = holder.acquire(name);
    Await.until("the session is watched anew", () -> holder.watches() >= 3);
    assertThat(holder.store.verify(held)).isPresent();
    assertThat(holder.losses).isEmpty();
  }

  @Test
  void aLeaderThatDoesNotKnowTheSessionYetIsAnErrorAndEndsNoLease() throws Exception {
    ConsulGrant held = holder.acquire(name);
    holder.script.next(
        1,
        request -> request.url().encodedPath().startsWith("/v1/session/renew/"),
        chain -> Script.answer(chain, 404, 1, "Session id not found"));
    assertThatExceptionOfType(StoreException.class).isThrownBy(() -> holder.store.verify(held));
    assertThat(holder.losses).isEmpty();
    assertThat(holder.store.verify(held)).isPresent();
  }
}
