package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The store beyond the kit, which knows nothing of ZooKeeper; on one server. */
class StoreTest extends ServerTest {
  private CuratorFramework framework;
  private ZooKeeperStore store;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    store = closeLater(Stores.open(framework));
  }

  /** None, too, when the empty node has been removed. */
  private List<String> children(String name) throws Exception {
    try {
      return framework.getChildren().forPath(Stores.path(name));
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    }
  }

  /** A name whose node is not removed between two cycles, which would be counted with the next. */
  private String lastingName() throws Exception {
    String name = Claims.freshName();
    String path = Stores.path(name);
    framework.create().forPath(path);
    closeLater(() -> framework.delete().forPath(path));
    return name;
  }

  @Test
  void aCallOnTheEventThreadIsRefusedAtOnceAndCostsNoLease() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    Lease held = client.get(Claims.freshName()).lock();
    DistributedLock free = client.get(Claims.freshName());
    CompletableFuture<Throwable> refused = new CompletableFuture<>();
    BackgroundCallback callback = (f, event) -> refused.complete(catchThrowable(free::tryLock));
    framework.checkExists().inBackground(callback).forPath("/");
    assertThat(refused.get(40, TimeUnit.SECONDS))
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("event thread")
        .hasMessageContaining("on another thread");
    assertThat(held.state()).isEqualTo(LeaseState.HELD);
    held.verify();
    held.close();
    try (Lease lease = free.tryLock().orElseThrow()) {
      lease.verify();
    }
  }

  @Test
  void aWarmCycleIsThreeRequestsInTwoRoundTrips() throws Exception {
    ZooKeeper zk = Frameworks.handle(framework);
    String name = lastingName();
    assertThat(store.release(Stores.take(store, Stores.claim(name)), Duration.ZERO))
        .isEqualTo(ReleaseOutcome.RELEASED);
    // The transaction's number is the client's own count of what it sent; pings have none.
    int before = Xids.sent(zk);
    Grant grant = Stores.take(store, Stores.claim(name));
    int acquired = Xids.sent(zk);
    store.release(grant, Duration.ZERO);
    assertThat(acquired - before).as("requests to acquire").isEqualTo(2);
    assertThat(Xids.sent(zk) - acquired).as("requests to release").isEqualTo(1);

    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    farStore.release(Stores.take(farStore, Stores.claim(name)), Duration.ZERO);
    // So that what is sent at once is one request to the proxy, also where a sender is held up.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(100));
    long roundTripsBefore = proxy.requests();
    int cycles = 10;
    for (int i = 0; i < cycles; i++) {
      farStore.release(Stores.take(farStore, Stores.claim(name)), Duration.ZERO);
    }
    assertThat(proxy.requests() - roundTripsBefore)
        .as("round trips of %s cycles, and perhaps a ping", cycles)
        .isBetween(2L * cycles, 2L * cycles + 2);
  }

  @Test
  void aWokenWaiterAsksOnceAndTrustsItsSessionFromItsLastConfirmedWrite() throws Exception {
    ZooKeeperStore holder = closeLater(Stores.open(openFramework()));
    String name = Claims.freshName();
    Grant first = Stores.take(holder, Stores.claim(name));
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(store, Stores.claim(name), woken::countDown);
    long queuedNanos = System.nanoTime();
    ZooKeeper zk = Frameworks.handle(framework);
    int before = Xids.sent(zk);
    holder.release(first, Duration.ZERO);
    Await.untilAnswered("the waiter is woken", () -> woken.getCount() == 0);
    Duration waited = Duration.ofNanos(System.nanoTime() - queuedNanos);
    Grant second = ((Ticket.Granted) queued.ticket().poll()).grant();
    assertThat(Xids.sent(zk) - before).as("requests").isEqualTo(1);
    Duration trusted = Duration.ofMillis(zk.getSessionTimeout()).dividedBy(2);
    assertThat(second.validFor()).isPositive().isLessThanOrEqualTo(trusted.minus(waited));
    Stores.awaitKnown(store, second, trusted);
    store.release(second, Duration.ZERO);
  }

  @Test
  void aWokenWaiterWhoseLastConfirmedWriteIsOldHasItsNodeChecked() throws Exception {
    ZooKeeperStore holder = closeLater(Stores.open(openFramework()));
    Stores.JumpingTime time = new Stores.JumpingTime();
    ZooKeeperStore waiting = closeLater(Stores.open(framework, "test", time, new Stores.Events()));
    String name = Claims.freshName();
    Grant first = Stores.take(holder, Stores.claim(name));
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(waiting, Stores.claim(name), woken::countDown);
    ZooKeeper zk = Frameworks.handle(framework);
    Duration session = Duration.ofMillis(zk.getSessionTimeout());
    time.jump(session.multipliedBy(3).dividedBy(8).plusMillis(1));
    int before = Xids.sent(zk);
    long beforeNanos = System.nanoTime();
    holder.release(first, Duration.ZERO);
    Await.untilAnswered("the waiter is woken", () -> woken.getCount() == 0);
    Grant second = ((Ticket.Granted) queued.ticket().poll()).grant();
    Duration elapsed = Duration.ofNanos(System.nanoTime() - beforeNanos);
    // Sent together when the event came.
    assertThat(Xids.sent(zk) - before).as("requests").isEqualTo(2);
    assertThat(second.validFor())
        .isBetween(session.dividedBy(2).minus(elapsed), session.dividedBy(2));
    waiting.release(second, Duration.ZERO);
  }

  @Rule("L-9.6")
  @Test
  void aGrantNeverRestsOnWhatAnEarlierSessionLeft() throws Exception {
    CuratorFramework its = openFramework();
    ZooKeeperStore two = closeLater(Stores.open(its));
    Claim claim = Stores.claim(Claims.freshName());
    String name = claim.key().name();
    // Sent by the attempt itself, as if the answer had been lost with the session; so the store
    // does not know of it, and does not delete it.
    String left = its.create()
        .creatingParentContainersIfNeeded()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(Stores.path(name) + "/" + Names.ofAttempt(claim, Names.NO_PERMIT));
    long leftNumber = its.checkExists().forPath(left).getCzxid();
    ZooKeeper earlier = changeSession(its);
    assertThat(children(name)).as("what the earlier session left").hasSize(1);
    assertThat(two.tryAcquire(claim)).isEmpty();
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(two, Stores.claim(name), woken::countDown);
    assertThat(children(name)).hasSize(2);
    SessionKiller.end(earlier, ZooKeeperServer.address(server));
    await(woken);
    assertThat(children(name)).as("what is there after that session").hasSize(1);
    Grant next = ((Ticket.Granted) queued.ticket().poll()).grant();
    assertThat(((ZooKeeperGrant) next).node().session()).isNotEqualTo(earlier.getSessionId());
    assertThat(next.number()).isGreaterThan(leftNumber);
    two.release(next, Duration.ZERO);
  }

  @Test
  void aLeaseOfAnEarlierSessionIsLost() throws Exception {
    CuratorFramework its = openFramework();
    ZooKeeperStore two = closeLater(Stores.open(its));
    Grant left = Stores.take(two, Stores.claim(Claims.freshName()));
    var unused = changeSession(its);
    assertThat(two.renew(List.of(left))).containsExactly(new Renewal.Lost());
    assertThat(two.verify(left)).isEmpty();
  }

  /**
   * Ends a framework's session here; at the server it lives, with its nodes, until it times out.
   *
   * @return the handle of the earlier session
   */
  private static ZooKeeper changeSession(CuratorFramework framework) throws Exception {
    ZooKeeper earlier = Frameworks.handle(framework);
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch expired = new CountDownLatch(1);
    // The handle tells of its end before it knows of it itself; told that early, Curator would
    // close it, and with it the session at the server.
    earlier.exists(
        "/",
        false,
        (rc, path, context, stat) -> {
          reached.countDown();
          await(expired);
        },
        null);
    await(reached);
    earlier.getTestable().injectSessionExpiration();
    expired.countDown();
    Await.untilAnswered("there is a new session", () -> {
      ZooKeeper now = Frameworks.handle(framework);
      return now.getSessionId() != earlier.getSessionId() && now.getState().isConnected();
    });
    return earlier;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void theGrantsNumberIsTheNodesCzxidAndRisesWhenTheParentIsMadeAnew() throws Exception {
    String name = Claims.freshName();
    Grant first = Stores.take(store, Stores.claim(name));
    String node = Stores.path(name) + "/" + children(name).get(0);
    assertThat(first.number()).isEqualTo(framework.checkExists().forPath(node).getCzxid());
    store.release(first, Duration.ZERO);
    Await.untilAnswered(
        "the empty container is removed",
        () -> framework.checkExists().forPath(Stores.path(name)) == null);
    Grant second = Stores.take(store, Stores.claim(name));
    assertThat(children(name).get(0)).endsWith("-0000000000");
    assertThat(second.number()).isGreaterThan(first.number());
    store.release(second, Duration.ZERO);
  }

  @Test
  void aMissLeavesNoNodeAndNoWatch() throws Exception {
    String name = Claims.freshName();
    Grant grant = Stores.take(store, Stores.claim(name));
    ZooKeeperStore other = closeLater(Stores.open(openFramework()));
    assertThat(other.tryAcquire(Stores.claim(name))).isEmpty();
    assertThat(children(name)).hasSize(1);
    Acquisition.Queued queued = Stores.queue(other, Stores.claim(name), () -> {});
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isEqualTo(1);
    queued.ticket().close();
    assertThat(children(name)).hasSize(1);
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isZero();
    assertThat(other.nodes.all()).isEmpty();
    store.release(grant, Duration.ZERO);
    assertThat(store.nodes.all()).isEmpty();
  }

  @Test
  void aReleaseWakesTheNextInLineAndNobodyElse() throws Exception {
    String name = Claims.freshName();
    Grant grant = Stores.take(store, Stores.claim(name));
    List<Acquisition.Queued> line = new ArrayList<>();
    List<AtomicInteger> woken = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      AtomicInteger count = new AtomicInteger();
      woken.add(count);
      line.add(Stores.queue(store, Stores.claim(name), count::incrementAndGet));
    }
    long last = grant.number();
    for (int i = 0; i < 5; i++) {
      int next = i;
      store.release(grant, Duration.ZERO);
      Await.untilAnswered("the next is woken", () -> woken.get(next).get() == 1);
      for (int later = i + 1; later < 5; later++) {
        assertThat(woken.get(later)).as("the wake-ups of number %s", later).hasValue(0);
        assertThat(line.get(later).ticket().poll()).isInstanceOf(Ticket.Waiting.class);
      }
      grant = ((Ticket.Granted) line.get(i).ticket().poll()).grant();
      assertThat(grant.number()).isGreaterThan(last);
      last = grant.number();
    }
    store.release(grant, Duration.ZERO);
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isZero();
  }

  @Test
  void aCreateWhoseAnswerWasLostLeavesNoSecondNode() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    String name = Claims.freshName();
    farStore.release(Stores.take(farStore, Stores.claim(name)), Duration.ZERO);
    proxy.dropReply(1);
    Grant grant = Stores.take(farStore, Stores.claim(name));
    assertThat(children(name)).as("nodes of an attempt that was sent twice").hasSize(1);
    assertThat(farStore.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(children(name)).isEmpty();
    Await.untilAnswered(
        "nothing is left to look for", () -> farStore.nodes.all().isEmpty());
  }

  @Test
  void aReleaseWhoseAnswerWasLostMayBeOne() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    String name = Claims.freshName();
    Grant grant = Stores.take(farStore, Stores.claim(name));
    proxy.dropReply(1);
    assertThat(farStore.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED_OR_LOST);
    assertThat(farStore.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @Test
  void aLateAttemptThatWasWithdrawnIsDeleted() throws Exception {
    String name = Claims.freshName();
    Claim claim = Stores.claim(name);
    Grant grant = Stores.take(store, claim);
    ZooKeeperStore other = closeLater(Stores.open(openFramework()));
    other.withdraw(claim);
    assertThat(children(name)).isEmpty();
    assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Lost());
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @Test
  void renewalTellsOfEachGrantHowItStands() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      grants.add(Stores.take(store, Stores.claim(Claims.freshName())));
    }
    for (int gone : new int[] {1, 3}) {
      Grant grant = grants.get(gone);
      assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue();
    }
    List<Renewal> renewals = store.renew(grants);
    for (int i = 0; i < 5; i++) {
      assertThat(renewals.get(i))
          .as("number %s", i)
          .isInstanceOf(i == 1 || i == 3 ? Renewal.Lost.class : Renewal.Renewed.class);
    }
    for (Grant grant : grants) {
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void manyGrantsThatWereFreedAtOnceCostARenewalOnlyAFewRoundTrips() throws Exception {
    FaultProxy proxy = openProxy();
    ZooKeeperStore own = closeLater(Stores.open(openFramework(proxy)));
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      grants.add(Stores.take(own, Stores.claim(Claims.freshName())));
    }
    for (Grant grant : grants.subList(0, 50)) {
      assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue();
    }
    // So that what is sent at once is one request to the proxy, also where a sender is held up.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(200));
    long before = proxy.requests();
    List<Renewal> renewals = own.renew(grants);
    assertThat(proxy.requests() - before)
        .as("round trips; a few more if the reads come in several packets")
        .isLessThan(20);
    assertThat(renewals.subList(0, 50)).containsOnly(new Renewal.Lost());
    assertThat(renewals.subList(50, 60)).hasOnlyElementsOfType(Renewal.Renewed.class);
    for (Grant grant : grants.subList(50, 60)) {
      assertThat(own.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  @Test
  void aGrantIsTrustedForHalfOfTheSessionsTimeoutAtMost() throws Exception {
    Grant grant =
        Stores.take(store, Stores.claim(Claims.freshName(), Duration.ofMinutes(5), Duration.ZERO));
    Duration session = Duration.ofMillis(Frameworks.handle(framework).getSessionTimeout());
    assertThat(grant.validFor()).isPositive().isLessThanOrEqualTo(session.dividedBy(2));
    Stores.awaitKnown(store, grant, session.dividedBy(2));
    assertThat(grant.crashBound(grant.claim().ttl())).isGreaterThanOrEqualTo(session);
    store.release(grant, Duration.ZERO);
  }

  @Test
  void aFixedLeaseLastsItsTtlThoughTheSessionIsTrustedForLess() {
    Duration ttl = Frameworks.SESSION_TIMEOUT.dividedBy(2).plusSeconds(4);
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    long askedForNanos = System.nanoTime();
    Lease lease =
        client.get(Claims.freshName(), LockOptions.fixed(ttl)).tryLock().orElseThrow();
    long beganNanos = System.nanoTime();
    AtomicLong lastHeldNanos = new AtomicLong();
    Await.untilAnswered("it ends", () -> {
      long askedNanos = System.nanoTime();
      boolean held = lease.isHeld();
      if (held) {
        lastHeldNanos.set(askedNanos);
      }
      return !held;
    });
    assertThat(Duration.ofNanos(System.nanoTime() - askedForNanos))
        .isGreaterThan(ttl.minusSeconds(1));
    assertThat(Duration.ofNanos(lastHeldNanos.get() - beganNanos)).isLessThanOrEqualTo(ttl);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  void aSessionThatExpiredAtTheServerLosesItsLeases() throws Exception {
    Stores.Events events = new Stores.Events();
    ZooKeeperStore told = closeLater(Stores.open(framework, events));
    Claim claim = Stores.claim(Claims.freshName());
    Grant grant = Stores.take(told, claim);
    SessionKiller.expire(framework, ZooKeeperServer.address(server));
    Await.untilAnswered("the loss is told", () -> events.lost.contains(grant));
    Frameworks.awaitConnection(framework);
    Await.untilAnswered("a new session takes the lock", () -> {
      Optional<Grant> next = told.tryAcquire(Stores.claim(claim.key().name()));
      if (next.isEmpty()) {
        return false; // An attempt whose answer was lost is still to be cleaned up.
      }
      assertThat(next.get().number()).isGreaterThan(grant.number());
      assertThat(told.release(next.get(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      return true;
    });
    assertThat(told.renew(List.of(grant))).containsExactly(new Renewal.Lost());
    assertThat(told.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @Test
  void aFrameworkThatIsClosedFirstLosesItsLeasesBeforeAnotherHasTheLock() throws Exception {
    CuratorFramework its = openFramework();
    assertThatItsCloseIsSeenFirst(its, its, framework);
  }

  @Test
  void soDoesAFrameworkThatTheClientKnowsAViewOf() throws Exception {
    CuratorFramework its = openFramework();
    assertThatItsCloseIsSeenFirst(
        its, its.usingNamespace("team"), framework.usingNamespace("team"));
  }

  private void assertThatItsCloseIsSeenFirst(
      CuratorFramework its, CuratorFramework view, CuratorFramework others) throws Exception {
    String name = Claims.freshName();
    LockClient client = closeLater(ZooKeeperLocks.builder(view).build());
    LockClient other = closeLater(ZooKeeperLocks.builder(others).build());
    Lease lease = client.get(name).tryLock().orElseThrow();
    List<LeaseLoss.Reason> told = java.util.Collections.synchronizedList(new ArrayList<>());
    lease.onLost(loss -> told.add(loss.reason()));
    its.close();
    try (Lease next = other.get(name).lockWithin(Duration.ofSeconds(60))) {
      assertThat(lease.isHeld()).as("Unsafe: held while another has the lock").isFalse();
      assertThat(next.token()).isGreaterThan(lease.token());
    }
    Await.untilAnswered("the loss is told", () -> !told.isEmpty());
    assertThat(told).containsExactly(LeaseLoss.Reason.SESSION_LOST);
  }

  @Test
  void aCleanUpWhileTheFrameworkIsBeingClosedForgetsNoHolder() throws Exception {
    CuratorFramework its = openFramework();
    Stores.Events events = new Stores.Events();
    AtomicReference<ZooKeeperStore> opened = new AtomicReference<>();
    // Curator tells its listeners of the close one after another, by their hash codes.
    its.getCuratorListenable().addListener(new CuratorListener() {
      @Override
      public void eventReceived(CuratorFramework closing, CuratorEvent event) {
        if (event.getType() == CuratorEventType.CLOSING) {
          Claim claim = Stores.claim(Claims.freshName());
          opened.get().nodes.enter(claim, Stores.path(claim.key().name())).abandon();
          Await.untilAnswered("a clean-up has run", () -> opened.get().nodes.find(claim) == null);
          assertThat(events.lost).as("told before the clean-up").isEmpty();
        }
      }

      @Override
      public int hashCode() {
        return 0;
      }

      @Override
      public boolean equals(Object other) {
        return this == other;
      }
    });
    ZooKeeperStore two = closeLater(Stores.open(its, events));
    opened.set(two);
    Grant grant = Stores.take(two, Stores.claim(Claims.freshName()));
    its.close();
    assertThat(events.lost).as("Unsafe: a holder that is not told").containsExactly(grant);
    Await.untilAnswered("nothing is left", () -> two.nodes.all().isEmpty());
  }

  @Test
  void anAnswerThatIsHandledOnlyAfterTheEndOfItsSessionWasToldGrantsNothing() throws Exception {
    CuratorFramework its = openFramework();
    Stores.Events events = new Stores.Events();
    ZooKeeperStore two = closeLater(Stores.open(its, events));
    Grant held = Stores.take(two, Stores.claim(Claims.freshName()));
    ZooKeeper zk = Frameworks.handle(its);
    OwnNode late = made(two, zk);
    zk.close();
    Await.untilAnswered("the end is told", () -> events.lost.contains(held));
    SessionTrust.Lifetime trusted = two.trust.noteConfirmed(two.trust.request(zk));
    assertThatExceptionOfType(StoreException.class)
        .as("Unsafe: a lock in a session that is over")
        .isThrownBy(() -> two.acquiring.grant(zk, late, trusted, two.wire.deadline()));
  }

  /** Returns an attempt that was told of a node of this session that is not there. */
  private static OwnNode made(ZooKeeperStore store, ZooKeeper zk) {
    Claim claim = Stores.claim(Claims.freshName());
    String parent = Stores.path(claim.key().name());
    OwnNode node = store.nodes.enter(claim, parent);
    Stat stat = new Stat();
    stat.setEphemeralOwner(zk.getSessionId());
    String path = parent + "/" + Names.ofAttempt(claim, Names.NO_PERMIT) + "0000000000";
    node.noteMade(new OwnNode.Made(zk, path, stat, Names.NO_PERMIT));
    return node;
  }

  @Rule("L-6.3")
  @Test
  void anAttemptWhoseNodeVanishedIsNotToldThatTheLockIsTaken() throws Exception {
    ZooKeeper zk = Frameworks.handle(framework);
    OwnNode node = made(store, zk);
    String mark = Names.ofMark(1);
    NodeData over = new NodeData(Duration.ZERO, Instant.EPOCH, "somebody of the tests");
    framework
        .create()
        .creatingParentContainersIfNeeded()
        .forPath(node.parent + "/" + mark, over.bytes());
    Line line = Line.of(node.parent, List.of(mark, node.name()));
    assertThat(store.marks.turn(zk, node, line, store.wire.deadline()))
        .as("which a try tells as a failure, and a waiter as the end of its place")
        .isEqualTo(new Turn.Gone());
    node.abandon();
    framework.delete().forPath(node.parent + "/" + mark);
  }

  @Test
  void aListingWithoutASyncIsNoAnswer() throws Exception {
    Answer<List<String>> listed = Wire.listAfter(
            CompletableFuture.completedFuture(new Answer<>(Code.THROTTLEDOP, true)),
            Frameworks.handle(framework),
            "/")
        .get(30, TimeUnit.SECONDS);
    assertThat(listed).isEqualTo(new Answer<>(Code.THROTTLEDOP, null));
  }

  @Test
  void anAnswerThatComesWhileTheFrameworkIsClosedGrantsNothing() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    Stores.Events events = new Stores.Events();
    ZooKeeperStore farStore = closeLater(Stores.open(far, events));
    Grant held = Stores.take(farStore, Stores.claim(Claims.freshName()));
    String name = lastingName();
    ExecutorService both = Executors.newFixedThreadPool(2);
    closeLater(both::shutdownNow);
    proxy.hold(Link.Direction.REPLIES);
    Future<Optional<Grant>> late = both.submit(() -> farStore.tryAcquire(Stores.claim(name)));
    Await.untilAnswered("the request has arrived", () -> !children(name).isEmpty());
    Future<?> closing = both.submit(far::close);
    Await.untilAnswered("the close is told", () -> events.lost.contains(held));
    proxy.heal();
    assertThatExceptionOfType(ExecutionException.class)
        .as("Unsafe: a lock in a session that ends at once")
        .isThrownBy(late::get)
        .withCauseInstanceOf(StoreException.class);
    closing.get(30, TimeUnit.SECONDS);
  }

  @Test
  void aWaiterWhoseFrameworkIsClosedIsCalled() throws Exception {
    String name = Claims.freshName();
    Grant grant = Stores.take(store, Stores.claim(name));
    CuratorFramework its = openFramework();
    ZooKeeperStore two = closeLater(Stores.open(its));
    CountDownLatch called = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(two, Stores.claim(name), called::countDown);
    its.close();
    await(called);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> queued.ticket().poll())
        .withMessageContaining("closed");
    store.release(grant, Duration.ZERO);
  }

  @Test
  void aHandleThatIsClosedWithoutCuratorLosesItsLeases() throws Exception {
    CuratorFramework its = openFramework();
    Stores.Events events = new Stores.Events();
    ZooKeeperStore two = closeLater(Stores.open(its, events));
    Grant grant = Stores.take(two, Stores.claim(Claims.freshName()));
    Frameworks.handle(its).close();
    Await.untilAnswered("the loss is told", () -> events.lost.contains(grant));
  }

  @Test
  void aHandleThatCuratorReplacesLosesItsLeasesBeforeTheNextIsConnected() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = closeLater(Frameworks.open(
        ZooKeeperServer.address(proxy.host(), proxy.port()), Duration.ofSeconds(60)));
    Stores.Events events = new Stores.Events();
    ZooKeeperStore farStore = closeLater(Stores.open(far, events));
    Grant grant = Stores.take(farStore, Stores.claim(Claims.freshName()));
    proxy.refuse();
    far.getZookeeperClient().reset();
    Await.untilAnswered("the loss is told", () -> events.lost.contains(grant));
  }

  @Test
  void aWaiterWhoseSessionExpiredIsCalledAndAsksAnew() throws Exception {
    CuratorFramework holders = openFramework();
    ZooKeeperStore holder = closeLater(Stores.open(holders));
    String name = Claims.freshName();
    Grant grant = Stores.take(holder, Stores.claim(name));
    CountDownLatch called = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(store, Stores.claim(name), called::countDown);
    SessionKiller.expire(framework, ZooKeeperServer.address(server));
    Await.untilAnswered("the waiter is called", () -> called.getCount() == 0);
    Await.untilAnswered("its place is gone", () -> queued.ticket().poll() instanceof Ticket.Gone);
    holder.release(grant, Duration.ZERO);
  }

  @Test
  void aShortLossOfTheConnectionIsDoubtAndNoLoss() {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    List<String> states = java.util.Collections.synchronizedList(new ArrayList<>());
    LockClient client = closeLater(ZooKeeperLocks.builder(far)
        .addListener(new io.holdfast.lock.LockListener() {
          @Override
          public void uncertain(LeaseEvent event) {
            states.add("uncertain");
          }

          @Override
          public void confirmed(LeaseEvent event) {
            states.add("confirmed");
          }
        })
        .build());
    Lease lease = client.get(Claims.freshName()).tryLock().orElseThrow();
    proxy.cut();
    Await.untilAnswered("it is in doubt, and then confirmed", () -> states.contains("confirmed"));
    assertThat(states).startsWith("uncertain", "confirmed");
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void whatCouldNotBeGivenBackIsDeletedWhenThereIsAConnectionAgain() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    String clientName = Claims.freshName();
    ZooKeeperStore farStore =
        Stores.open(far, clientName, TimeSource.system(), new Stores.Events());
    String name = Claims.freshName();
    Grant grant = Stores.take(farStore, Stores.claim(name));
    proxy.refuse();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> farStore.release(grant, Duration.ZERO));
    farStore.close();
    assertThat(children(name)).hasSize(1);
    proxy.heal();
    // Sooner than the session could time out: the framework goes on.
    Await.untilAnswered("the node is deleted", () -> children(name).isEmpty());
    assertThat(Frameworks.handle(far).getState().isConnected()).isTrue();
    Await.untilAnswered(
        "no thread of the closed store is left",
        () -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().contains(clientName)));
  }

  @Test
  void aMarkKeepsTheNameTakenAndGoesWithItsTime() throws Exception {
    String name = Claims.freshName();
    Duration hold = Duration.ofSeconds(8);
    ZooKeeperStore other = closeLater(Stores.open(openFramework()));
    Grant grant = Stores.take(store, Stores.claim(name, Stores.TTL, hold));
    assertThat(store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(other.tryAcquire(Stores.claim(name))).isEmpty();
    assertThat(other.inspect(grant.claim().key())).hasValueSatisfying(holder -> {
      assertThat(holder.number()).isEqualTo(grant.number());
      assertThat(holder.released()).isTrue();
      assertThat(holder.remaining()).isPositive().isLessThanOrEqualTo(hold.plusMillis(1));
    });
    Acquisition.Queued queued = Stores.queue(other, Stores.claim(name), () -> {});
    assertThat(queued.recheckAfter()).isLessThanOrEqualTo(hold.plusMillis(1));
    Await.untilAnswered(
        "the waiter's turn comes",
        () -> queued.ticket().poll() instanceof Ticket.Granted granted
            && other.release(granted.grant(), Duration.ZERO) == ReleaseOutcome.RELEASED);
    assertThat(children(name)).isEmpty();
  }

  @Rule("L-7.5")
  @Test
  void aWaiterBehindALongMarkAsksAgainSoonAndFindsThatItWasFreed() throws Exception {
    String name = Claims.freshName();
    Duration hold = Duration.ofHours(1);
    ZooKeeperStore other = closeLater(Stores.open(openFramework()));
    Grant grant = Stores.take(store, Stores.claim(name, Stores.TTL, hold));
    store.release(grant, hold);
    Acquisition.Queued queued = Stores.queue(other, Stores.claim(name), () -> {});
    assertThat(queued.recheckAfter()).isEqualTo(LineTicket.RECHECK_AFTER_MIN);
    assertThat(queued.ticket().poll()).isEqualTo(new Ticket.Waiting(LineTicket.RECHECK_AFTER_MIN));
    assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue();
    Grant next = ((Ticket.Granted) queued.ticket().poll()).grant();
    other.release(next, Duration.ZERO);
  }

  @Rule("L-10.12")
  @Test
  void theMoreThreadsWaitTheMoreRarelyEachOfThemAsks() throws Exception {
    ZooKeeperStore other = closeLater(Stores.open(openFramework()));
    String name = Claims.freshName();
    // On a busy machine, 300 requests take longer than the usual TTL.
    Claim lasting = Stores.claim(name, Duration.ofMinutes(10), Duration.ZERO);
    Grant grant = Stores.take(store, lasting);
    Acquisition.Queued first = Stores.queue(other, Stores.claim(name), () -> {});
    assertThat(first.recheckAfter()).isEqualTo(LineTicket.RECHECK_AFTER_MIN);
    List<Ticket> others = new ArrayList<>();
    for (int i = 0; i < 299; i++) {
      others.add(Stores.queue(other, Stores.claim(name), () -> {}).ticket());
    }
    assertThat(first.ticket().poll()).isEqualTo(new Ticket.Waiting(Duration.ofSeconds(30)));

    for (Ticket ticket : others) {
      ticket.close();
    }
    store.release(grant, Duration.ZERO);
    Await.untilAnswered(
        "the first has the lock", () -> first.ticket().poll() instanceof Ticket.Granted);
    assertThat(other.acquiring.waiting).hasValue(0);
  }

  @Rule("L-7.5")
  @Test
  void theCleanUpOfAnAttemptThatWasSentTwiceKeepsTheMinimumHold() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    String name = Claims.freshName();
    Duration hold = Duration.ofMinutes(10);
    farStore.release(Stores.take(farStore, Stores.claim(name)), Duration.ZERO);
    proxy.dropReply(1);
    Grant grant = Stores.take(farStore, Stores.claim(name, Stores.TTL, hold));
    OwnNode node = ((ZooKeeperGrant) grant).node();
    assertThat(node.mayHaveTwin).isTrue();
    // As a release does whose requests do not arrive.
    node.release(TimeSource.system().nanos(), hold);
    Await.untilAnswered(
        "nothing is left to look for", () -> farStore.nodes.all().isEmpty());
    assertThat(children(name)).containsExactly(Names.ofMark(grant.number()));
    assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue();
  }

  @Test
  void aMarkOfANameThatNobodyUsesAgainIsRemovedByWhoLeftIt() throws Exception {
    String name = Claims.freshName();
    Duration hold = Duration.ofSeconds(60);
    Stores.JumpingTime time = new Stores.JumpingTime();
    ZooKeeperStore its = closeLater(Stores.open(framework, "test", time, new Stores.Events()));
    Grant grant = Stores.take(its, Stores.claim(name, Stores.TTL, hold));
    its.release(grant, hold);
    assertThat(children(name)).containsExactly(Names.ofMark(grant.number()));
    time.jump(hold.plusSeconds(2));
    Await.untilAnswered(
        "mark and container are gone",
        () -> framework.checkExists().forPath(Stores.path(name)) == null);
  }

  @Test
  void aSequenceThatIsUsedUpIsRefused() throws Exception {
    String name = Claims.freshName();
    framework
        .create()
        .creatingParentContainersIfNeeded()
        .forPath(Stores.path(name) + "/" + "f".repeat(32) + "-2147483000");
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> store.tryAcquire(Stores.claim(name)).isPresent())
        .withMessageContaining("used up");
    Await.untilAnswered(
        "the refused attempt's node is gone", () -> store.nodes.all().isEmpty());
    framework.delete().deletingChildrenIfNeeded().forPath(Stores.path(name));
  }

  @Test
  void namespaceChrootAndAclHoldForTheLocks() throws Exception {
    String chroot = "/chroot-" + System.nanoTime();
    framework.create().forPath(chroot);
    CuratorFramework inside = closeLater(Frameworks.start(CuratorFrameworkFactory.builder()
        .connectString(server.host() + ":" + server.port() + chroot)
        .namespace("team")
        .authorization("digest", "user:secret".getBytes(java.nio.charset.StandardCharsets.UTF_8))
        .aclProvider(new org.apache.curator.framework.api.ACLProvider() {
          @Override
          public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
          }

          @Override
          public List<ACL> getAclForPath(String path) {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
          }
        })
        .sessionTimeoutMs(18_000)
        .retryPolicy(new RetryForever(100))
        .build()));
    LockClient client =
        closeLater(ZooKeeperLocks.builder(inside).path("/my/locks").build());
    try (Lease lease = client.get("a/b").tryLock().orElseThrow()) {
      String lock = chroot + "/team/my/locks/m-a%2Fb";
      assertThatThrownBy(() -> framework.getChildren().forPath(lock))
          .isInstanceOf(KeeperException.NoAuthException.class);
      inside.create().forPath("/stock");
      ZooKeeperGuard.of(lease)
          .commit(inside, inside.transactionOp().setData().forPath("/stock", new byte[] {1}));
      assertThat(inside.getData().forPath("/stock")).containsExactly(1);
      assertThat(client.get("a/b").inspect()).isPresent();
    }
    CuratorFramework stranger =
        closeLater(Frameworks.open(server.host() + ":" + server.port() + chroot + "/team"));
    assertThatThrownBy(
            () -> ZooKeeperLocks.builder(stranger).path("/my/locks").build().close())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("/my/locks");
  }

  @Test
  void aGuardsCheckFitsAMultiOfTheCallersOwn() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    ZooKeeper zk = Frameworks.handle(framework);
    String target = "/target-" + System.nanoTime();
    Lease lease = client.get(Claims.freshName()).tryLock().orElseThrow();
    Op check = ZooKeeperGuard.of(lease).check();
    zk.multi(List.of(
        check, Op.create(target, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)));
    lease.close();
    assertThatThrownBy(() -> zk.multi(List.of(check, Op.delete(target, -1))))
        .isInstanceOf(KeeperException.NoNodeException.class);
    assertThat(framework.checkExists().forPath(target)).isNotNull();
  }

  @Test
  void aFrameworkThatIsNotStartedIsRefusedBeforeAnyRequest() {
    CuratorFramework latent =
        CuratorFrameworkFactory.newClient(ZooKeeperServer.address(server), new RetryForever(100));
    assertThatThrownBy(() -> ZooKeeperLocks.builder(latent).build().close())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("start()");
    assertThatThrownBy(() -> ZooKeeperLocks.builder(framework).path("/"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> ZooKeeperLocks.builder(framework).path("locks"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aChrootThatDoesNotExistIsToldWhenTheClientIsBuilt() throws Exception {
    String chroot = "/missing-" + System.nanoTime();
    CuratorFramework inside = closeLater(Frameworks.open(ZooKeeperServer.address(server) + chroot));
    assertThatThrownBy(
            () -> ZooKeeperLocks.builder(inside).path("/my/locks").build().close())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(chroot)
        .hasMessageContaining("does not exist");
    framework.create().forPath(chroot);
    LockClient client =
        closeLater(ZooKeeperLocks.builder(inside).path("/my/locks").build());
    client.get("a").tryLock().orElseThrow().close();
  }

  /** A handle of a server that knows no read in a multi, as those before 3.6. */
  @SuppressWarnings("try") // close() is ZooKeeper's, and can be interrupted
  private static final class OldServer extends ZooKeeper {
    OldServer(String address, int sessionTimeout, Watcher watcher) throws Exception {
      super(address, sessionTimeout, watcher);
    }

    @Override
    public void multi(Iterable<Op> ops, AsyncCallback.MultiCallback callback, Object context) {
      if (ops.iterator().next().getKind() == Op.OpKind.READ) {
        callback.processResult(Code.UNIMPLEMENTED.intValue(), null, context, null);
      } else {
        super.multi(ops, callback, context);
      }
    }
  }

  @Test
  void aServerThatIsTooOldIsToldWhenTheClientIsBuilt() {
    CuratorFramework its = closeLater(Frameworks.start(CuratorFrameworkFactory.builder()
        .connectString(ZooKeeperServer.address(server))
        .sessionTimeoutMs((int) Frameworks.SESSION_TIMEOUT.toMillis())
        .retryPolicy(new RetryForever(100))
        .ensembleTracker(false)
        .zookeeperFactory((address, sessionTimeout, watcher, canBeReadOnly) ->
            new OldServer(address, sessionTimeout, watcher))
        .build()));
    assertThatThrownBy(() -> ZooKeeperLocks.builder(its).build().close())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("3.6");
  }

  @Test
  void aClosedClientLeavesTheFrameworkOpen() {
    LockClient client = ZooKeeperLocks.builder(framework).build();
    client.get(Claims.freshName()).tryLock().orElseThrow().close();
    client.close();
    assertThat(framework.getZookeeperClient().isConnected()).isTrue();
  }

  @Test
  void aNodeWhoseAnswerCameTooLateIsDeleted() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    String name = Claims.freshName();
    proxy.hold(Link.Direction.REPLIES);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> farStore.tryAcquire(Stores.claim(name)).isPresent())
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
    proxy.heal();
    Await.untilAnswered(
        "the late node is deleted",
        () -> farStore.nodes.all().isEmpty() && children(name).isEmpty());
  }

  @Test
  void closingATicketThatWasGrantedDoesNothing() throws Exception {
    ZooKeeperStore holder = closeLater(Stores.open(openFramework()));
    String name = Claims.freshName();
    Grant first = Stores.take(holder, Stores.claim(name));
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(store, Stores.claim(name), woken::countDown);
    holder.release(first, Duration.ZERO);
    await(woken);
    Grant second = ((Ticket.Granted) queued.ticket().poll()).grant();
    queued.ticket().close();
    assertThat(store.verify(second)).isPresent();
    assertThat(store.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    queued.ticket().close();
  }

  @Test
  void closingATicketAndWithdrawingItsClaimBearEachOther() throws Exception {
    String name = Claims.freshName();
    Grant grant = Stores.take(store, Stores.claim(name));
    ExecutorService both = Executors.newFixedThreadPool(2);
    closeLater(both::shutdownNow);
    for (String order : List.of("close first", "withdraw first", "at once")) {
      Claim claim = Stores.claim(name);
      Acquisition.Queued queued = Stores.queue(store, claim, () -> {});
      CyclicBarrier together = new CyclicBarrier(2);
      Callable<Boolean> closing = () -> {
        together.await(30, TimeUnit.SECONDS);
        queued.ticket().close();
        return true;
      };
      Callable<Boolean> withdrawing = () -> {
        together.await(30, TimeUnit.SECONDS);
        store.withdraw(claim);
        return true;
      };
      if (order.equals("at once")) {
        for (Future<Boolean> done : both.invokeAll(List.of(closing, withdrawing))) {
          assertThat(done.get()).isTrue();
        }
      } else if (order.equals("close first")) {
        queued.ticket().close();
        store.withdraw(claim);
      } else {
        store.withdraw(claim);
        queued.ticket().close();
      }
      queued.ticket().close();
      assertThat(children(name)).as("the holder's node alone, %s", order).hasSize(1);
      assertThat(store.nodes.find(claim)).isNull();
    }
    assertThat(store.verify(grant)).isPresent();
    store.release(grant, Duration.ZERO);
  }

  @Test
  void aPauseBetweenTwoQuestionsLastsAlsoForAnInterruptedThread() throws Exception {
    List<Boolean> interruptedAtPark = new ArrayList<>();
    TimeSource recording = new TimeSource() {
      @Override
      public long nanos() {
        return TimeSource.system().nanos();
      }

      @Override
      public long wallMillis() {
        return TimeSource.system().wallMillis();
      }

      @Override
      public void park(Object blocker, long nanos) {
        interruptedAtPark.add(Thread.currentThread().isInterrupted());
        TimeSource.system().park(blocker, nanos);
      }
    };
    Wire wire = new Wire(framework, recording, Duration.ofSeconds(5));
    Thread.currentThread().interrupt();
    wire.pauseBeforeRetry(new Answer<>(Code.CONNECTIONLOSS, null), wire.deadline());
    assertThat(Thread.interrupted()).as("the flag afterwards").isTrue();
    assertThat(interruptedAtPark).containsExactly(false);
  }
}
