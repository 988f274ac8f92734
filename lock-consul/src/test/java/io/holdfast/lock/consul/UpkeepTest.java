package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A client's sessions while Consul is slow to answer: each is kept, and each is ended. */
class UpkeepTest {
  private static ServerContainer server;

  private final String name = "upkeep-" + UUID.randomUUID();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final Script.Gate gate = new Script.Gate();
  private final MovableTime time = new MovableTime();
  private final OpenStore open = new OpenStore(ConsulServer.address(server), time);

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @AfterEach
  void close() {
    gate.open();
    open.close();
    thread.shutdownNow();
  }

  @Test
  void aRenewalThatIsHeldUpDelaysThatOfNoOtherSession() throws Exception {
    ConsulGrant unused = open.acquire(OpenStore.claim(name, Duration.ofSeconds(60)));
    ConsulGrant unusedToo = open.acquire(OpenStore.claim("other-" + name, Duration.ofSeconds(40)));
    open.script.next(
        1, request -> request.url().encodedPath().startsWith("/v1/session/renew/"), gate::askLater);
    time.pass(Duration.ofSeconds(31));
    Await.until("one is held up", gate::isReached);
    Await.until("the other is renewed", () -> open.requests.answered("/v1/session/renew/") > 0);
  }

  @Test
  void noLongPollIsSilentForSoLongThatAGatewayEndsIt() throws Exception {
    List<Duration> waits = new CopyOnWriteArrayList<>();
    open.script.next(1, Script::isOnSession, chain -> {
      String wait = chain.request().url().queryParameter("wait");
      waits.add(Duration.ofMillis(Long.parseLong(wait.replace("ms", ""))));
      return chain.proceed(chain.request());
    });
    ConsulGrant unused = open.acquire(OpenStore.claim(name, Duration.ofSeconds(90)));
    Await.until("the session is watched", () -> !waits.isEmpty());
    // Consul adds up to a sixteenth.
    assertThat(waits).allMatch(wait -> wait.plus(wait.dividedBy(16)).toSeconds() < 55);
  }

  /** A long poll is given a store timeout more than Consul may take to answer it. */
  @Test
  void aLongPollThatTimesOutPutsItsLeasesInDoubt() throws Exception {
    open.script.next(1, Script::isOnSession, gate::failLater);
    ConsulGrant held = open.acquire(OpenStore.claim(name, Duration.ofSeconds(60)));
    Await.until("the session is watched", gate::isReached);
    time.pass(Duration.ofSeconds(50));
    assertThat(open.store.renew(List.of(held))).hasOnlyElementsOfType(Renewal.Renewed.class);
    time.pass(Duration.ofSeconds(40));
    assertThat(open.suspensions).hasValue(0);
    gate.open();
    Await.until("the holder doubts", () -> open.suspensions.get() == 1);
    Await.until("the session is watched anew", () -> open.watches() >= 3);
    assertThat(open.suspensions).as("once").hasValue(1);
    assertThat(open.losses).isEmpty();
  }

  @Test
  void aSessionThatIsMadeWhileItsClientIsClosedIsEnded() throws Exception {
    TestHttp http = new TestHttp(ConsulServer.address(server));
    List<String> before = http.sessions();
    open.script.next(1, Script.TRANSACTION, gate::askLater);
    Future<ConsulGrant> turn = thread.submit(() -> open.acquire(name));
    Await.until("its session is being made", gate::isReached);
    open.close();
    gate.open();
    assertThatExceptionOfType(ExecutionException.class)
        .isThrownBy(() -> turn.get(60, TimeUnit.SECONDS))
        .withCauseInstanceOf(StoreException.class);
    assertThat(before).containsAll(http.sessions());
  }

  @Test
  void aTaskThatRunsWhenItsClientIsClosedBeginsNothingMore() {
    open.script.next(1, Script.TRANSACTION, gate::askLater);
    time.pass(Duration.ofMinutes(2));
    Await.until("it begins to look through all lines", gate::isReached);
    open.close();
    gate.open();
    Await.until(
        "its threads have ended",
        () -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(one -> one.getName().equals("holdfast-open-consul")));
    assertThat(open.requests.count("/v1/kv/holdfast/m/"))
        .as("questions for lines")
        .isZero();
  }

  @Test
  void anAttemptThatIsFreedWhileItAsksAsksNoMore() throws Exception {
    open.store.release(open.acquire("warm-" + name), Duration.ZERO);
    Claim claim = OpenStore.claim(name);
    open.script.next(1, Script.TRANSACTION, chain -> {
      gate.answerLater(chain).close();
      throw new IOException("The answer was lost");
    });
    Future<ConsulGrant> turn = thread.submit(() -> open.acquire(claim));
    Await.until("its key is locked", gate::isReached);
    open.store.withdraw(claim);
    long asked = open.requests.count("/v1/txn");
    gate.open();
    assertThatExceptionOfType(ExecutionException.class)
        .isThrownBy(() -> turn.get(60, TimeUnit.SECONDS))
        .withCauseInstanceOf(StoreException.class);
    assertThat(open.requests.count("/v1/txn") - asked).as("questions").isLessThan(6);
  }
}
