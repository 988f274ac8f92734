package io.holdfast.lock.redis.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.FailingPool;
import io.holdfast.lock.redis.ManyServers;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.redis.Stored;
import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.redis.server.ScriptNames;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** Requests to the servers of a quorum that come late, or stand behind others. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QuorumRoundsTest {
  private static final StoreSettings HURRIED =
      new StoreSettings("hurried", Duration.ofSeconds(2), TimeSource.system(), Claims.NO_EVENTS);

  /** With time for many requests that stand one behind the other. */
  private static final StoreSettings PATIENT =
      new StoreSettings("patient", Duration.ofSeconds(40), TimeSource.system(), Claims.NO_EVENTS);

  private ManyServers servers;
  private List<RedisClient> clients;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.independent(3);
    clients = IntStream.range(0, 3)
        .mapToObj(i -> Stores.client(servers.address(i), 8))
        .toList();
  }

  @AfterAll
  void close() {
    if (servers != null) {
      clients.forEach(RedisClient::close);
      servers.close();
    }
  }

  @Test
  void asManyAskASlowServerAtOnceAsItsPoolHasConnections() throws Exception {
    int threads = 8;
    ExecutorService asking = Executors.newFixedThreadPool(threads);
    HostAndPort address = servers.address(0);
    try (FaultProxy way = FaultProxy.open(address.getHost(), address.getPort());
        RedisClient first = Stores.client(new HostAndPort(way.host(), way.port()), threads);
        LockStore store = Stores.open(
            RedisLocks.quorum(List.of(first, clients.get(1), clients.get(2))), PATIENT)) {
      List<Connection> open = IntStream.range(0, threads)
          .mapToObj(i -> first.getPool().getResource())
          .toList();
      open.forEach(Connection::close);
      way.hold(Link.Direction.REPLIES);
      long before = way.requests();
      List<Future<Grant>> grants = IntStream.range(0, threads)
          .mapToObj(i -> asking.submit(
              () -> store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow()))
          .toList();
      Await.until("all are asked", () -> way.requests() - before >= threads);
      way.heal();
      for (Future<Grant> grant : grants) {
        grant.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      asking.shutdownNow();
    }
  }

  /** It had the first server in one round, gives that back, and has it again in the next. */
  @Test
  void whatARoundGaveBackLateIsNotTakenFromALaterOne() throws Exception {
    LockKey key = Claims.freshKey();
    Claim claim = Claims.claim(key);
    try (LateWay way = new LateWay(servers.address(0));
        RedisClient first = Stores.client(way.address(), 8);
        LockStore store = Stores.open(
            RedisLocks.quorum(List.of(first, clients.get(1), clients.get(2))), HURRIED);
        LockStore others = Stores.open(RedisLocks.quorum(clients), HURRIED);
        LockStore second = Stores.open(clients.get(1));
        LockStore third = Stores.open(clients.get(2))) {
      Grant atSecond = second.tryAcquire(Claims.claim(key)).orElseThrow();
      Grant atThird = third.tryAcquire(Claims.claim(key)).orElseThrow();
      way.holdNext(ScriptNames.withdraw());
      assertThat(store.tryAcquire(claim)).isEmpty();
      Await.until("held on its way", way::isHolding);
      assertThat(second.release(atSecond, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      // Until what was held is given up, it is not known whether the lock is taken, and tryAcquire
      // would throw; a waiter asks again.
      QuorumTicket ticket = new QuorumTicket((QuorumStore) store, claim);
      Grant[] granted = new Grant[1];
      Await.until("granted", () -> {
        if (ticket.poll() instanceof Ticket.Granted now) {
          granted[0] = now.grant();
        }
        return granted[0] != null;
      });

      assertThat(third.release(atThird, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      long before = Stores.calls(clients.get(0), "evalsha");
      way.deliver();
      Await.until("arrived", () -> Stores.calls(clients.get(0), "evalsha") > before);
      assertThat(others.tryAcquire(Claims.claim(key))).as("Unsafe: two holders").isEmpty();
      assertThat(store.renew(List.of(granted[0]))).allMatch(Renewal.Renewed.class::isInstance);
      assertThat(store.verify(granted[0])).isPresent();
      store.withdraw(claim);
      assertThat(others.tryAcquire(Claims.claim(key))).isPresent();
    }
  }

  @Test
  void eachServerKeepsANumberForAsLongAsIsSaid() throws Exception {
    LockKey key = Claims.freshKey();
    Duration kept = Duration.ofMinutes(2);
    try (LockStore store =
        Stores.open(RedisLocks.quorum(clients).keepNumbersFor(kept), Stores.settings())) {
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until(
          "free on all, and its number kept",
          () -> clients.stream()
              .mapToLong(client -> client.pttl(Stored.keyOf(key)))
              .allMatch(left -> left > 0 && left <= kept.toMillis()));
    }
  }

  /** A call about a grant. */
  private interface AboutAGrant {
    void make(LockStore store, Grant grant) throws StoreException;
  }

  @Test
  void nothingAboutAGrantWaitsBehindAcquires() throws Exception {
    List<AboutAGrant> calls = List.of(
        (store, grant) ->
            assertThat(store.renew(List.of(grant))).allMatch(Renewal.Renewed.class::isInstance),
        (store, grant) -> assertThat(store.verify(grant)).isPresent(),
        (store, grant) -> assertThat(store.extend(grant, Claims.TTL)).isPresent(),
        // It may be sent twice, since the servers are slow.
        (store, grant) -> assertThat(store.release(grant, Duration.ZERO))
            .isNotEqualTo(ReleaseOutcome.ALREADY_LOST),
        (store, grant) -> store.withdraw(grant.claim()),
        (store, grant) ->
            assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue());
    List<FaultProxy> ways = new ArrayList<>();
    List<RedisClient> slow = new ArrayList<>();
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      for (int i = 0; i < 3; i++) {
        FaultProxy way =
            FaultProxy.open(servers.address(i).getHost(), servers.address(i).getPort());
        ways.add(way);
        slow.add(Stores.client(new HostAndPort(way.host(), way.port()), 8));
      }
      try (LockStore store = Stores.open(RedisLocks.quorum(slow), PATIENT)) {
        List<Grant> grants = new ArrayList<>();
        for (AboutAGrant call : calls) {
          call.make(store, granted(store)); // Its script is loaded.
          grants.add(granted(store));
        }
        ways.forEach(way -> way.delay(Link.Direction.REPLIES, Duration.ofMillis(200)));
        List<Future<?>> acquires = new ArrayList<>();
        // So many that they take 20 s: whoever waits behind them takes far longer than it may.
        for (int i = 0; i < 100; i++) {
          acquires.add(executor.submit(() -> granted(store)));
        }
        Await.pause(Duration.ofMillis(500));
        for (int i = 0; i < calls.size(); i++) {
          long beganNanos = System.nanoTime();
          calls.get(i).make(store, grants.get(i));
          assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
              .as("of call %d", i)
              .isLessThan(Duration.ofSeconds(3));
          assertThat(acquires).as("so there was something to wait for").anyMatch(a -> !a.isDone());
        }
        ways.forEach(FaultProxy::heal);
        for (Future<?> acquire : acquires) {
          assertThat(acquire.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isNotNull();
        }
      }
    } finally {
      executor.shutdownNow();
      slow.forEach(RedisClient::close);
      ways.forEach(FaultProxy::close);
    }
  }

  private Claim takenOnAll(LockStore store) throws Exception {
    LockKey key = granted(store).claim().key();
    String lock = Stored.keyOf(key);
    Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
    return Claims.claim(key);
  }

  @Test
  void aServerThatHangsGetsOneQuestionOfAWaiterHoweverOftenItPolls() throws Exception {
    AtomicInteger requests = new AtomicInteger();
    CountDownLatch hang = new CountDownLatch(1);
    try (LockStore others = Stores.open(RedisLocks.quorum(clients), PATIENT);
        FailingPool hanging = new FailingPool(servers.address(0))) {
      QuorumStore store = QuorumStore.open(
          List.of(hanging, clients.get(1).getPool(), clients.get(2).getPool()),
          Stores.PREFIX,
          Stores.NUMBERS_KEPT,
          PATIENT);
      QuorumTicket ticket = new QuorumTicket(store, takenOnAll(others));
      hanging.beforeEach(() -> {
        requests.incrementAndGet();
        try {
          assertThat(hang.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      });
      for (int i = 0; i < 20; i++) {
        assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      }
      hang.countDown();
      store.close(); // Once all that it asks about attempts is answered.
      // One more can be the last of the check when the store was opened.
      assertThat(requests).hasValueLessThanOrEqualTo(2);
    }
  }

  @Test
  void aPollOfATakenLockIsOneScriptAtEachServer() throws Exception {
    try (LockStore others = Stores.open(RedisLocks.quorum(clients), PATIENT)) {
      LockStore store = Stores.open(RedisLocks.quorum(clients), PATIENT);
      QuorumTicket ticket = new QuorumTicket((QuorumStore) store, takenOnAll(others));
      long[] before = scripts();
      for (int i = 0; i < 20; i++) {
        assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      }
      store.close(); // Once all that it asks about attempts is answered.
      long[] after = scripts();
      for (int i = 0; i < before.length; i++) {
        // A few more can be those of the checks when the stores were opened.
        assertThat(after[i] - before[i]).as("at server %d", i).isLessThan(25);
      }
    }
  }

  private long[] scripts() {
    return clients.stream().mapToLong(client -> Stores.calls(client, "evalsha")).toArray();
  }

  /** A client of all servers, of which the first may be cut off. */
  private List<RedisClient> firstBehind(RedisClient first) {
    return List.of(first, clients.get(1), clients.get(2));
  }

  /** Of two servers one has the lease, so that the third decides, and that does not answer. */
  private void divide(LockKey key) throws Exception {
    String lock = Stored.keyOf(key);
    Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
    clients.get(2).del(lock);
  }

  @Test
  void aRenewalThatWaitsForAServerThatNeverAnswersHoldsUpNoOther() throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    HostAndPort address = servers.address(0);
    try (FaultProxy way = FaultProxy.open(address.getHost(), address.getPort());
        RedisClient first = Stores.client(new HostAndPort(way.host(), way.port()), 8);
        LockStore store = Stores.open(RedisLocks.quorum(firstBehind(first)), Stores.settings())) {
      Grant undecided = granted(store);
      List<Grant> others = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        others.add(granted(store));
      }
      assertThat(store.renew(others)).allMatch(Renewal.Renewed.class::isInstance);
      divide(undecided.claim().key());
      way.blackhole();
      Future<List<Renewal>> waiting = executor.submit(() -> store.renew(List.of(undecided)));
      for (Grant other : others) {
        assertThat(store.renew(List.of(other))).allMatch(Renewal.Renewed.class::isInstance);
      }
      assertThat(waiting.isDone()).as("it waits for the store timeout").isFalse();
      assertThat(waiting.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .allMatch(Renewal.Unknown.class::isInstance);
      way.heal();
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void aLeaseOutlivesOneWhoseRenewalsAServerNeverAnswers() throws Exception {
    HostAndPort address = servers.address(0);
    try (FaultProxy way = FaultProxy.open(address.getHost(), address.getPort());
        RedisClient first = Stores.client(new HostAndPort(way.host(), way.port()), 8);
        LockClient client = RedisLocks.quorum(firstBehind(first))
            .storeTimeout(Duration.ofSeconds(2))
            .defaultOptions(LockOptions.renewed(Duration.ofSeconds(6)))
            .build()) {
      LockKey key = Claims.freshKey();
      Lease undecided = client.get(key.name()).lock();
      Lease other = client.get(Claims.freshKey().name()).lock();
      divide(key);
      way.blackhole();
      // Both were taken at the same time, for the same TTL, and are renewed together.
      Await.until("one is lost", () -> !undecided.isHeld());
      assertThat(other.isHeld()).isTrue();
      other.verify();
      way.heal();
      other.close();
      assertThatExceptionOfType(LockLostException.class).isThrownBy(undecided::close);
    }
  }

  @Test
  void aGrantThatIsUndecidedTakesNoTimeFromThoseRenewedInTheNextPart() throws Exception {
    HostAndPort address = servers.address(0);
    try (FaultProxy way = FaultProxy.open(address.getHost(), address.getPort());
        RedisClient first = Stores.client(new HostAndPort(way.host(), way.port()), 8);
        LockStore store = Stores.open(RedisLocks.quorum(firstBehind(first)), Stores.settings())) {
      Grant undecided = granted(store);
      Grant other = granted(store);
      Grant last = granted(store);
      assertThat(store.renew(List.of(other, last))).allMatch(Renewal.Renewed.class::isInstance);
      divide(undecided.claim().key());
      way.blackhole();
      List<Grant> grants = new ArrayList<>(Collections.nCopies(Server.RENEWED_AT_ONCE_MAX, other));
      grants.set(0, undecided);
      grants.add(last);
      List<Renewal> renewals = store.renew(grants);
      assertThat(renewals).hasSameSizeAs(grants).first().isInstanceOf(Renewal.Unknown.class);
      assertThat(renewals.subList(1, grants.size())).allMatch(Renewal.Renewed.class::isInstance);
      way.heal();
    }
  }

  @Test
  void aListThatTakesLongWaitsForNoServerThatNeverAnswers() throws Exception {
    StoreSettings settings =
        new StoreSettings("listing", Duration.ofSeconds(5), TimeSource.system(), Claims.NO_EVENTS);
    List<FaultProxy> ways = new ArrayList<>();
    List<RedisClient> slow = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        FaultProxy way =
            FaultProxy.open(servers.address(i).getHost(), servers.address(i).getPort());
        ways.add(way);
        slow.add(Stores.client(new HostAndPort(way.host(), way.port()), 8));
      }
      try (LockStore store = Stores.open(RedisLocks.quorum(slow), settings)) {
        LockKey key = granted(store).claim().key();
        String lock = Stored.keyOf(key);
        Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
        // Its scripts are loaded.
        assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
        ways.get(0).blackhole();
        ways.get(1).delay(Link.Direction.REPLIES, Duration.ofMillis(800));
        ways.get(2).delay(Link.Direction.REPLIES, Duration.ofMillis(800));
        long beganNanos = System.nanoTime();
        assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
            .isLessThan(settings.storeTimeout());
        ways.forEach(FaultProxy::heal);
      }
    } finally {
      slow.forEach(RedisClient::close);
      ways.forEach(FaultProxy::close);
    }
  }

  private static Grant granted(LockStore store) throws StoreException {
    return store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
  }
}
