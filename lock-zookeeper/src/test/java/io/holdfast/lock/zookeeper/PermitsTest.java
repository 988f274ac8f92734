package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.PermitsMismatchException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Semaphores beyond the kit, which knows nothing of nodes; on one server. */
class PermitsTest {
  private static final Duration HOLD = Duration.ofSeconds(60);

  private final List<AutoCloseable> closeables = new ArrayList<>();
  private final LockKey key = new LockKey(LockKind.PERMIT, Stores.freshName());
  private ZooKeeperServer server;
  private CuratorFramework framework;
  private CuratorFramework othersFramework;
  private ZooKeeperStore store;
  private ZooKeeperStore other;

  @BeforeEach
  void open() throws Exception {
    server = ZooKeeperServer.shared();
    framework = closeLater(Frameworks.open(server.address()));
    othersFramework = closeLater(Frameworks.open(server.address()));
    store = closeLater(Stores.open(framework));
    other = closeLater(Stores.open(othersFramework));
  }

  @AfterEach
  void close() throws Exception {
    for (int i = closeables.size() - 1; i >= 0; i--) {
      closeables.get(i).close();
    }
  }

  private <T extends AutoCloseable> T closeLater(T closeable) {
    closeables.add(closeable);
    return closeable;
  }

  private Claim claim(int permits) {
    return claim(permits, Duration.ZERO);
  }

  private Claim claim(int permits, Duration minHold) {
    Claim mutex = Stores.claim(key.name());
    return new Claim(key, mutex.ownerId(), Stores.TTL, minHold, mutex.holder(), permits);
  }

  private String path(int permits) {
    return ZooKeeperLocks.DEFAULT_PATH + "/" + Names.of(claim(permits));
  }

  private List<String> children(String path) {
    try {
      return framework.getChildren().forPath(path);
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Keeps the node of the semaphore, which the server would remove when it is empty. */
  private void keepNode(int permits) throws Exception {
    framework.create().creatingParentContainersIfNeeded().forPath(path(permits));
  }

  /** A claim that stands in line, and how often it was woken. */
  private record Waiter(Ticket ticket, AtomicInteger woken) {
    static Waiter join(ZooKeeperStore store, Claim claim) throws StoreException {
      AtomicInteger woken = new AtomicInteger();
      return new Waiter(Stores.queue(store, claim, woken::incrementAndGet).ticket(), woken);
    }

    Grant granted() {
      List<Grant> grant = new ArrayList<>();
      Stores.eventually("it is granted when it is woken", () -> {
        try {
          if (woken.getAndSet(0) > 0 && ticket.poll() instanceof Ticket.Granted granted) {
            grant.add(granted.grant());
          }
          return !grant.isEmpty();
        } catch (StoreException e) {
          throw new IllegalStateException(e);
        }
      });
      return grant.get(0);
    }
  }

  // Requests

  @Test
  void aWarmCycleIsThreeRequestsInTwoRoundTrips() throws Exception {
    keepNode(3);
    ZooKeeper zk = Frameworks.handle(framework);
    store.release(Stores.take(store, claim(3)), Duration.ZERO);
    int before = Xids.sent(zk);
    Grant grant = Stores.take(store, claim(3));
    int acquired = Xids.sent(zk);
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(acquired - before).as("requests to acquire").isEqualTo(2);
    assertThat(Xids.sent(zk) - acquired).as("requests to release").isEqualTo(1);

    FaultProxy proxy = closeLater(FaultProxy.open(server.host(), server.port()));
    CuratorFramework far =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port())));
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    farStore.release(Stores.take(farStore, claim(3)), Duration.ZERO);
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(100));
    long roundTripsBefore = proxy.requests();
    int cycles = 10;
    for (int i = 0; i < cycles; i++) {
      farStore.release(Stores.take(farStore, claim(3)), Duration.ZERO);
    }
    assertThat(proxy.requests() - roundTripsBefore)
        .as("round trips of %s cycles, and perhaps a ping", cycles)
        .isBetween(2L * cycles, 2L * cycles + 2);
  }

  @Test
  void aClientTakesOnePermitAfterTheOtherWithTwoRequestsEach() throws Exception {
    keepNode(3);
    ZooKeeper zk = Frameworks.handle(framework);
    store.release(Stores.take(store, claim(3)), Duration.ZERO);
    int before = Xids.sent(zk);
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      grants.add(Stores.take(store, claim(3)));
    }
    assertThat(Xids.sent(zk) - before).as("requests").isEqualTo(6);
    assertThat(grants).extracting(Grant::permit).containsExactlyInAnyOrder(0, 1, 2);
    for (Grant grant : grants) {
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void aWrongGuessCostsARoundTripOfThreeRequests() throws Exception {
    keepNode(2);
    ZooKeeper zk = Frameworks.handle(othersFramework);
    Grant first = Stores.take(store, claim(2));
    int before = Xids.sent(zk);
    Grant second = Stores.take(other, claim(2));
    assertThat(Xids.sent(zk) - before).as("requests").isEqualTo(5);
    assertThat(List.of(first.permit(), second.permit())).containsExactly(0, 1);
    // Both are taken: a bid, which is deleted; and the next time no write.
    before = Xids.sent(zk);
    assertThat(other.tryAcquire(claim(2))).isEmpty();
    assertThat(Xids.sent(zk) - before).as("requests to find it taken").isEqualTo(3);
    long written = children(path(2)).size();
    before = Xids.sent(zk);
    assertThat(other.tryAcquire(claim(2))).isEmpty();
    assertThat(Xids.sent(zk) - before).as("requests to find it taken again").isEqualTo(2);
    assertThat(children(path(2))).hasSize((int) written);
    store.release(first, Duration.ZERO);
    Grant third = Stores.take(other, claim(2));
    assertThat(third.permit()).isEqualTo(first.permit());
    other.release(second, Duration.ZERO);
    other.release(third, Duration.ZERO);
  }

  @Test
  void whoWaitsAsksSixTimesToBeginAndFiveTimesWhenItIsWoken() throws Exception {
    ZooKeeper zk = Frameworks.handle(othersFramework);
    Grant held = Stores.take(store, claim(1));
    int before = Xids.sent(zk);
    Waiter first = Waiter.join(other, claim(1));
    assertThat(Xids.sent(zk) - before).as("requests to begin").isEqualTo(6);
    before = Xids.sent(zk);
    Waiter second = Waiter.join(other, claim(1));
    assertThat(Xids.sent(zk) - before).as("to begin where it is known taken").isEqualTo(3);
    Stores.eventually("the first sees who came", () -> first.woken().get() > 0);
    before = Xids.sent(zk);
    first.woken().set(0);
    assertThat(first.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(second.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(Xids.sent(zk) - before).as("to go on waiting").isEqualTo(2 + 3);
    before = Xids.sent(zk);
    store.release(held, Duration.ZERO);
    Grant grant = first.granted();
    // The last of them is not waited for, and sent before the next.
    other.release(grant, Duration.ZERO);
    assertThat(Xids.sent(zk) - before).as("requests to get it and give it back").isEqualTo(5 + 1);
    other.release(second.granted(), Duration.ZERO);
  }

  // Waiting

  @Test
  void whatBecomesFreeGoesToThoseWhoWaitInOrderAndWakesNobodyElse() throws Exception {
    Grant one = Stores.take(store, claim(2));
    Grant two = Stores.take(store, claim(2));
    Waiter first = Waiter.join(other, claim(2));
    Waiter second = Waiter.join(store, claim(2));
    Waiter third = Waiter.join(other, claim(2));
    assertThat(store.tryAcquire(claim(2))).isEmpty();
    store.release(two, Duration.ZERO);
    Grant taken = first.granted();
    assertThat(taken.permit()).isEqualTo(two.permit());
    assertThat(taken.number()).isGreaterThan(two.number());
    Stores.eventually(
        "the next is told that it is the first", () -> second.woken().get() > 0);
    assertThat(second.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(third.woken()).as("wake-ups of one who is not the first").hasValue(0);
    assertThat(store.tryAcquire(claim(2))).as("past the line").isEmpty();

    store.release(one, Duration.ZERO);
    other.release(taken, Duration.ZERO);
    Grant four = second.granted();
    Grant five = third.granted();
    assertThat(List.of(four.permit(), five.permit())).containsExactlyInAnyOrder(0, 1);
    store.release(four, Duration.ZERO);
    other.release(five, Duration.ZERO);
    assertThat(children(path(2))).isEmpty();
    assertThat(FourLetters.watchesOn(server, path(2))).as("watches").isZero();
    assertThat(store.nodes().all()).isEmpty();
    assertThat(other.nodes().all()).isEmpty();
  }

  @Test
  void whoGivesUpLeavesNoNodeAndNoWatchAndWakesTheNext() throws Exception {
    Grant held = Stores.take(store, claim(1));
    Waiter first = Waiter.join(other, claim(1));
    Waiter second = Waiter.join(other, claim(1));
    first.ticket().close();
    Stores.eventually(
        "the next is told that it is the first", () -> second.woken().get() > 0);
    assertThat(second.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    store.release(held, Duration.ZERO);
    Grant next = second.granted();
    first.ticket().close();
    assertThat(other.verify(next)).isPresent();
    other.release(next, Duration.ZERO);
    assertThat(children(path(1))).isEmpty();
    assertThat(FourLetters.watchesOn(server, path(1))).isZero();
  }

  @Test
  void thePermitsOfASessionThatEndedAndItsPlaceInLineComeBack() throws Exception {
    Grant kept = Stores.take(store, claim(2));
    Grant crashed = Stores.take(other, claim(2));
    // The first in line is of the session that will end.
    Waiter doomed = Waiter.join(other, claim(2));
    Waiter next = Waiter.join(store, claim(2));
    SessionKiller.expire(othersFramework, server.address());
    Grant grant = next.granted();
    assertThat(grant.permit()).isEqualTo(crashed.permit());
    assertThat(grant.number()).isGreaterThan(crashed.number());
    assertThat(store.verify(kept)).isPresent();
    Stores.eventually("the waiter of that session is told", () -> {
      try {
        return doomed.ticket().poll() instanceof Ticket.Gone;
      } catch (StoreException e) {
        return false;
      }
    });
    assertThat(other.renew(List.of(crashed))).containsExactly(new Renewal.Lost());
    assertThat(other.release(crashed, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.verify(grant)).isPresent();
    store.release(grant, Duration.ZERO);
    store.release(kept, Duration.ZERO);
  }

  /** As an attempt that is slow, or whose process has died, leaves it. */
  private String bidOfSomebody(int permits, int permit) throws Exception {
    return othersFramework
        .create()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(path(permits) + "/" + Names.ofBid(claim(permits).ownerId(), permit, 0));
  }

  @Test
  void whoIsFirstInLineKeepsItsBidBehindANewcomersUntilThatIsGone() throws Exception {
    Grant held = Stores.take(store, claim(1));
    Waiter first = Waiter.join(store, claim(1));
    String newcomers = bidOfSomebody(1, 0);
    store.release(held, Duration.ZERO);
    // Behind the newcomer's, which is about to be taken back.
    Stores.eventually("it is woken", () -> first.woken().getAndSet(0) > 0);
    assertThat(first.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    othersFramework.delete().forPath(newcomers);
    Grant grant = first.granted();
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(children(path(1))).isEmpty();
  }

  @Test
  void whoIsFirstInLineTakesAnotherPermitThanTheOneThatANewcomersBidBlocks() throws Exception {
    Grant one = Stores.take(store, claim(2));
    Grant two = Stores.take(store, claim(2));
    Waiter first = Waiter.join(store, claim(2));
    String newcomers = bidOfSomebody(2, one.permit());
    store.release(one, Duration.ZERO);
    Stores.eventually("it is woken", () -> first.woken().getAndSet(0) > 0);
    assertThat(first.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    store.release(two, Duration.ZERO);
    Grant grant = first.granted();
    assertThat(grant.permit()).isEqualTo(two.permit());
    othersFramework.delete().forPath(newcomers);
    store.release(grant, Duration.ZERO);
    Stores.eventually("its bids and its place are gone", () -> children(path(2)).isEmpty());
  }

  // The number of permits

  @Test
  void anotherNumberIsRefusedWhileAnythingStandsAndNothingIsLeftOfIt() throws Exception {
    Grant held = Stores.take(store, claim(2));
    assertDiffers(2, 3);
    Grant second = Stores.take(store, claim(2));
    Waiter waiter = Waiter.join(store, claim(2));
    store.release(held, Duration.ZERO);
    store.release(second, Duration.ZERO);
    // Nothing is held, but somebody waits.
    assertDiffers(2, 1);
    Grant waited = waiter.granted();
    Grant minimum = Stores.take(store, claim(2, HOLD));
    store.release(minimum, HOLD);
    store.release(waited, Duration.ZERO);
    // Only a minimum hold is left.
    assertDiffers(2, 3);
    assertThat(store.forceRelease(key, minimum.number())).isTrue();
    Grant three = Stores.take(other, claim(3));
    assertThat(children(path(3))).hasSize(1);
    assertThat(children(ZooKeeperLocks.DEFAULT_PATH + "/" + Names.of(key))).containsExactly("3");
    other.release(three, Duration.ZERO);
  }

  private void assertDiffers(int stored, int asked) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> other.tryAcquire(claim(asked)))
        .satisfies(e -> {
          assertThat(e.permitsStored()).hasValue(stored);
          assertThat(e.mayHaveHappened()).isFalse();
        });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> other.acquireOrQueue(claim(asked), () -> {}))
        .satisfies(e -> assertThat(e.permitsStored()).hasValue(stored));
    assertThat(children(ZooKeeperLocks.DEFAULT_PATH + "/" + Names.of(key)))
        .containsExactly(Integer.toString(stored));
  }

  @Test
  void theNumberOfWhoCrashedIsKeptForItsCrashBoundOnly() throws Exception {
    Stores.take(other, claim(2));
    SessionKiller.expire(othersFramework, server.address());
    Stores.eventually("the permit is back", () -> children(path(2)).isEmpty());
    Grant five = Stores.take(store, claim(5));
    store.release(five, Duration.ZERO);
  }

  @Test
  void aMinimumHoldThatIsOverKeepsNoNumber() throws Exception {
    keepNode(2);
    framework
        .create()
        .forPath(
            path(2) + "/" + Names.ofMark(7, 1),
            new NodeText(Duration.ZERO, java.time.Instant.EPOCH, "somebody").bytes());
    Grant three = Stores.take(store, claim(3));
    assertThat(children(ZooKeeperLocks.DEFAULT_PATH + "/" + Names.of(key))).containsExactly("3");
    store.release(three, Duration.ZERO);
  }

  @Test
  void twoNumbersNeverStandAtOnce() throws Exception {
    AtomicIntegerArray inside = new AtomicIntegerArray(4);
    AtomicInteger rounds = new AtomicInteger();
    Queue<Throwable> surprises = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    LockClient one = closeLater(ZooKeeperLocks.builder(framework).build());
    LockClient two = closeLater(ZooKeeperLocks.builder(othersFramework).build());
    for (int i = 0; i < 4; i++) {
      LockClient client = i < 2 ? one : two;
      int permits = 2 + i % 2;
      Thread thread = new Thread(() -> {
        try {
          int mine = 0;
          while (mine < 15) {
            try (Lease lease = client.semaphore(key.name(), permits).lock()) {
              inside.incrementAndGet(permits);
              assertThat(inside.get(5 - permits))
                  .as("holders with the other number")
                  .isZero();
              assertThat(inside.get(permits)).isLessThanOrEqualTo(permits);
              Thread.sleep(1);
              inside.decrementAndGet(permits);
              mine++;
              rounds.incrementAndGet();
              assertThat(lease.permit()).isLessThan(permits);
            } catch (PermitsMismatchException e) {
              assertThat(e.stored()).isEqualTo(5 - permits);
              Thread.sleep(2);
            }
          }
        } catch (Throwable e) {
          surprises.add(e);
        }
      });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join(40_000);
    }
    assertThat(surprises).isEmpty();
    assertThat(rounds).hasValue(60);
  }

  // Minimum holds

  @Test
  void aMinimumHoldKeepsItsPermitAndNoOther() throws Exception {
    Grant held = Stores.take(store, claim(2, HOLD));
    assertThat(store.release(held, HOLD)).isEqualTo(ReleaseOutcome.RELEASED);
    List<StoredHolder> holders = other.holders(key);
    assertThat(holders).hasSize(1);
    assertThat(holders.get(0).released()).isTrue();
    assertThat(holders.get(0).permit()).isEqualTo(held.permit());
    assertThat(holders.get(0).number()).isEqualTo(held.number());
    Grant free = Stores.take(other, claim(2));
    assertThat(free.permit()).isNotEqualTo(held.permit());
    assertThat(other.tryAcquire(claim(2))).isEmpty();
    Waiter waiter = Waiter.join(other, claim(2));
    assertThat(store.forceRelease(key, held.number())).isTrue();
    assertThat(store.forceRelease(key, held.number())).isFalse();
    Grant next = waiter.granted();
    assertThat(next.permit()).isEqualTo(held.permit());
    other.release(next, Duration.ZERO);
    other.release(free, Duration.ZERO);
  }

  @Test
  void whoWaitsGetsThePermitWhoseMinimumHoldEndsFirst() throws Exception {
    Grant longer = Stores.take(store, claim(2, HOLD));
    Grant shorter = Stores.take(store, claim(2, Duration.ofSeconds(2)));
    store.release(longer, HOLD);
    long beganNanos = System.nanoTime();
    store.release(shorter, Duration.ofSeconds(2));
    // As if its process had died: nobody deletes the marks.
    store.close();
    Acquisition.Queued queued = Stores.queue(other, claim(2), () -> {});
    assertThat(queued.recheckAfter()).isLessThanOrEqualTo(Duration.ofSeconds(3));
    Grant grant = null;
    while (grant == null) {
      Ticket.Status status = queued.ticket().poll();
      if (status instanceof Ticket.Granted granted) {
        grant = granted.grant();
      } else {
        Thread.sleep(50);
      }
    }
    assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
        .isBetween(Duration.ofMillis(1_900), Duration.ofSeconds(20));
    assertThat(grant.permit()).isEqualTo(shorter.permit());
    assertThat(other.holders(key)).hasSize(2);
    other.release(grant, Duration.ZERO);
    assertThat(other.forceRelease(key, longer.number())).isTrue();
  }

  // Losses

  @Test
  void aPermitThatWasFreedByForceIsLostToItsHolderThoughAnotherHasIt() throws Exception {
    Grant one = Stores.take(store, claim(2));
    Grant two = Stores.take(store, claim(2));
    assertThat(other.forceRelease(key, one.number())).isTrue();
    assertThat(other.forceRelease(key, one.number())).isFalse();
    Grant next = Stores.take(other, claim(2));
    assertThat(next.permit()).isEqualTo(one.permit());
    assertThat(store.verify(one)).isEmpty();
    assertThat(store.renew(List.of(one, two)).get(0)).isEqualTo(new Renewal.Lost());
    assertThat(store.renew(List.of(one, two)).get(1)).isInstanceOf(Renewal.Renewed.class);
    assertThat(store.release(one, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(other.verify(next)).isPresent();
    assertThat(other.holders(key))
        .extracting(StoredHolder::number)
        .containsExactlyInAnyOrder(next.number(), two.number());
    other.release(next, Duration.ZERO);
    store.release(two, Duration.ZERO);
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 1", "REPLIES, 1", "REQUESTS, 2", "REPLIES, 2"})
  void anAttemptThatLosesTheConnectionLeavesOneNode(Link.Direction lost, int request)
      throws Exception {
    FaultProxy proxy = closeLater(FaultProxy.open(server.host(), server.port()));
    CuratorFramework far =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port())));
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    keepNode(2);
    // So that the first bid is in vain, and the second is for another permit.
    Grant held = Stores.take(store, claim(2));
    if (lost == Link.Direction.REQUESTS) {
      proxy.dropRequest(request);
    } else {
      proxy.dropReply(request);
    }
    Optional<Grant> grant = farStore.tryAcquire(claim(2));
    assertThat(grant).isPresent();
    assertThat(grant.get().permit()).isNotEqualTo(held.permit());
    Stores.eventually("one node each is left", () -> children(path(2)).size() == 2);
    Stores.eventually(
        "nothing is left to look for", () -> farStore.nodes().all().size() <= 1);
    assertThat(farStore.verify(grant.get())).isPresent();
    assertThat(farStore.release(grant.get(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    store.release(held, Duration.ZERO);
    Stores.eventually("no node is left", () -> children(path(2)).isEmpty());
  }

  @Test
  void aWithdrawnClaimHasNeitherABidNorAPlace() throws Exception {
    Claim held = claim(1);
    Grant grant = Stores.take(store, held);
    Claim waiting = claim(1);
    Waiter waiter = Waiter.join(store, waiting);
    other.withdraw(waiting);
    other.withdraw(held);
    assertThat(children(path(1))).isEmpty();
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Gone.class);
    assertThat(store.verify(grant)).isEmpty();
    assertThat(store.nodes().of(waiting)).isEmpty();
  }

  @Test
  void hundredsOfCyclesLeaveNothing() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    for (int i = 0; i < 300; i++) {
      String name = i % 10 == 0 ? key.name() + "-" + i : key.name();
      try (Lease first = client.semaphore(name, 2).tryLock().orElseThrow();
          Lease second = client.semaphore(name, 2).tryLock().orElseThrow()) {
        if (i % 20 == 0) {
          assertThat(client.semaphore(name, 2).tryLock(Duration.ofMillis(1))).isEmpty();
        }
        assertThat(first.permit()).isNotEqualTo(second.permit());
      }
    }
    String nodes = Names.of(key);
    Stores.eventually(
        "no semaphore's node is left",
        () -> children(ZooKeeperLocks.DEFAULT_PATH).stream()
            .noneMatch(node -> node.startsWith(nodes)));
    assertThat(FourLetters.watchesOn(server, ZooKeeperLocks.DEFAULT_PATH + "/" + nodes))
        .isZero();
  }
}
