package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Read locks beyond the kit, which knows nothing of nodes; on one server. */
class ReadersTest {
  private static final Duration HOLD = Duration.ofSeconds(60);

  private final List<AutoCloseable> closeables = new ArrayList<>();
  private final String name = Stores.freshName();
  private final LockKey write = new LockKey(LockKind.MUTEX, name);
  private final LockKey read = new LockKey(LockKind.READ, name);
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

  private Claim claim(LockKey key) {
    return claim(key, Duration.ZERO);
  }

  private static Claim claim(LockKey key, Duration minHold) {
    Claim mutex = Stores.claim(key.name());
    return new Claim(key, mutex.ownerId(), Stores.TTL, minHold, mutex.holder());
  }

  private Grant reader(ZooKeeperStore of) throws StoreException {
    return Stores.take(of, claim(read));
  }

  private Grant writer(ZooKeeperStore of) throws StoreException {
    return Stores.take(of, claim(write));
  }

  private List<String> children() {
    try {
      return framework.getChildren().forPath(Stores.path(name));
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** A claim that stands in line, and how often it was woken. */
  private record Waiter(Ticket ticket, Semaphore woken) {
    static Waiter join(ZooKeeperStore store, Claim claim) throws StoreException {
      Semaphore woken = new Semaphore(0);
      return new Waiter(Stores.queue(store, claim, woken::release).ticket(), woken);
    }

    /** Polls once, when it has been woken. */
    Ticket.Status wokenStatus() throws Exception {
      assertThat(woken.tryAcquire(40, TimeUnit.SECONDS)).as("it is woken").isTrue();
      woken.drainPermits();
      return ticket.poll();
    }

    Grant granted() throws Exception {
      return ((Ticket.Granted) wokenStatus()).grant();
    }

    void assertWaits() throws Exception {
      assertThat(woken.availablePermits()).as("wake-ups").isZero();
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
    }
  }

  @Test
  void aWarmCycleOfAReaderIsThreeRequests() throws Exception {
    framework.create().forPath(Stores.path(name));
    ZooKeeper zk = Frameworks.handle(framework);
    store.release(reader(store), Duration.ZERO);
    int before = Xids.sent(zk);
    Grant grant = reader(store);
    int acquired = Xids.sent(zk);
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(acquired - before).as("requests to acquire").isEqualTo(2);
    assertThat(Xids.sent(zk) - acquired).as("requests to release").isEqualTo(1);
    // Nor does it cost more while others read.
    Grant others = reader(other);
    before = Xids.sent(zk);
    store.release(reader(store), Duration.ZERO);
    assertThat(Xids.sent(zk) - before).isEqualTo(3);
    assertThat(store.tryAcquire(claim(write))).isEmpty();
    before = Xids.sent(zk);
    assertThat(store.tryAcquire(claim(write))).isEmpty();
    assertThat(Xids.sent(zk) - before).as("to find it taken again").isEqualTo(2);
    before = Xids.sent(zk);
    store.release(reader(store), Duration.ZERO);
    assertThat(Xids.sent(zk) - before).as("what a writer saw is no reader's").isEqualTo(3);
    other.release(others, Duration.ZERO);
    framework.delete().forPath(Stores.path(name));
  }

  @Test
  void aWriterWaitsForAllReadersBeforeItAndWatchesOneAtATime() throws Exception {
    List<Grant> readers = List.of(reader(store), reader(other), reader(store), reader(other));
    assertThat(readers).extracting(Grant::number).isSorted().doesNotHaveDuplicates();
    Waiter writer = Waiter.join(store, claim(write));
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isEqualTo(1);
    // Those that it does not watch wake nobody.
    for (int i = 0; i < 3; i++) {
      assertThat(readers.get(i).number()).isPositive();
      (i % 2 == 0 ? store : other).release(readers.get(i), Duration.ZERO);
    }
    writer.assertWaits();
    other.release(readers.get(3), Duration.ZERO);
    Grant grant = writer.granted();
    assertThat(grant.number()).isGreaterThan(readers.get(3).number());
    assertThat(other.tryAcquire(claim(read))).isEmpty();
    store.release(grant, Duration.ZERO);
    Grant next = reader(other);
    assertThat(next.number()).isGreaterThan(grant.number());
    other.release(next, Duration.ZERO);
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isZero();
  }

  @Test
  void aWriterGoesOnToWatchTheReadersThatAreLeft() throws Exception {
    Grant first = reader(store);
    Grant second = reader(other);
    Waiter writer = Waiter.join(other, claim(write));
    other.release(second, Duration.ZERO);
    assertThat(writer.wokenStatus()).isInstanceOf(Ticket.Waiting.class);
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isEqualTo(1);
    store.release(first, Duration.ZERO);
    other.release(writer.granted(), Duration.ZERO);
    assertThat(children()).isEmpty();
  }

  @Test
  void readersBehindAWriterEnterTogetherAndAWaitingWriterKeepsLaterOnesOut() throws Exception {
    Grant first = reader(store);
    Waiter writer = Waiter.join(other, claim(write));
    List<Waiter> readers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      readers.add(Waiter.join(i % 2 == 0 ? store : other, claim(read)));
    }
    Waiter last = Waiter.join(store, claim(write));
    Waiter behindTheLast = Waiter.join(other, claim(read));
    assertThat(store.tryAcquire(claim(read))).as("past a waiting writer").isEmpty();
    for (Waiter reader : readers) {
      reader.assertWaits();
    }
    store.release(first, Duration.ZERO);
    Grant written = writer.granted();
    for (Waiter reader : readers) {
      reader.assertWaits();
    }
    other.release(written, Duration.ZERO);
    List<Grant> grants = new ArrayList<>();
    for (Waiter reader : readers) {
      grants.add(reader.granted());
    }
    assertThat(grants)
        .allSatisfy(grant -> assertThat(grant.number()).isGreaterThan(written.number()));
    last.assertWaits();
    behindTheLast.assertWaits();
    // The last of them first.
    for (int i = 2; i >= 0; i--) {
      assertThat((i % 2 == 0 ? store : other).release(grants.get(i), Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      if (i > 0) {
        assertThat(last.wokenStatus()).isInstanceOf(Ticket.Waiting.class);
      }
    }
    Grant lastGrant = last.granted();
    assertThat(lastGrant.number()).isGreaterThan(grants.get(2).number());
    behindTheLast.assertWaits();
    store.release(lastGrant, Duration.ZERO);
    other.release(behindTheLast.granted(), Duration.ZERO);
    assertThat(children()).isEmpty();
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isZero();
  }

  @Test
  void whoGivesUpAsAWriterLetsTheReadersBehindItIn() throws Exception {
    Grant first = reader(store);
    Waiter writer = Waiter.join(other, claim(write));
    Waiter reader = Waiter.join(store, claim(read));
    Waiter second = Waiter.join(other, claim(read));
    writer.ticket().close();
    Grant grant = reader.granted();
    Grant another = second.granted();
    assertThat(store.verify(first)).isPresent();
    assertThat(children()).hasSize(3);
    store.release(grant, Duration.ZERO);
    store.release(first, Duration.ZERO);
    other.release(another, Duration.ZERO);
  }

  @Test
  void aReaderWhoseSessionEndedKeepsAWriterOutNoLonger() throws Exception {
    Grant lives = reader(store);
    Grant crashed = reader(other);
    Waiter writer = Waiter.join(store, claim(write));
    SessionKiller.expire(othersFramework, server.address());
    assertThat(writer.wokenStatus()).isInstanceOf(Ticket.Waiting.class);
    assertThat(store.renew(List.of(lives)).get(0)).isInstanceOf(Renewal.Renewed.class);
    store.release(lives, Duration.ZERO);
    Grant grant = writer.granted();
    Stores.eventually("the other client has its new session", () -> {
      try {
        return other.verify(crashed).isEmpty();
      } catch (StoreException e) {
        return false;
      }
    });
    assertThat(other.release(crashed, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.verify(grant)).isPresent();
    store.release(grant, Duration.ZERO);
  }

  @Test
  void theSessionOfAWriterThatEndedLetsAllReadersInThatWait() throws Exception {
    Grant held = writer(other);
    Waiter doomed = Waiter.join(other, claim(write));
    List<Waiter> readers =
        List.of(Waiter.join(store, claim(read)), Waiter.join(store, claim(read)));
    SessionKiller.expire(othersFramework, server.address());
    for (Waiter reader : readers) {
      // Both writers went in one step.
      Grant grant = reader.granted();
      assertThat(grant.number()).isGreaterThan(held.number());
      assertThat(((ZooKeeperGrant) grant).node().name()).contains("-+");
    }
    assertThat(store.holders(read)).hasSize(2);
    assertThat(doomed.ticket().holder()).isPresent();
  }

  @Test
  void aReadersMinimumHoldKeepsWritersOutAndLetsReadersIn() throws Exception {
    Grant held = Stores.take(store, claim(read, HOLD));
    assertThat(store.release(held, HOLD)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(children()).containsExactly("hold-+" + String.format("%016x", held.number()));
    assertThat(other.tryAcquire(claim(write))).isEmpty();
    StoredHolder shown = other.inspect(write).orElseThrow();
    assertThat(shown.released()).isTrue();
    assertThat(shown.number()).isEqualTo(held.number());
    Grant reads = reader(other);
    assertThat(other.holders(write))
        .extracting(StoredHolder::number)
        .containsExactly(held.number(), reads.number());
    assertThat(other.inspect(read)).map(StoredHolder::number).hasValue(held.number());
    Waiter writer = Waiter.join(store, claim(write));
    other.release(reads, Duration.ZERO);
    assertThat(writer.wokenStatus()).isInstanceOf(Ticket.Waiting.class);
    assertThat(other.forceRelease(write, held.number())).isTrue();
    assertThat(other.forceRelease(read, held.number())).isFalse();
    Ticket.Status status = writer.ticket().poll();
    store.release(((Ticket.Granted) status).grant(), Duration.ZERO);
  }

  @Test
  void aReadersMinimumHoldEndsByItself() throws Exception {
    Duration hold = Duration.ofSeconds(2);
    Grant held = Stores.take(store, claim(read, hold));
    long beganNanos = System.nanoTime();
    store.release(held, hold);
    store.close();
    Waiter writer = Waiter.join(other, claim(write));
    Grant[] grant = new Grant[1];
    Stores.eventually("the writer is granted", () -> {
      try {
        if (writer.ticket().poll() instanceof Ticket.Granted granted) {
          grant[0] = granted.grant();
        }
        return grant[0] != null;
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
    assertThat(Duration.ofNanos(System.nanoTime() - beganNanos)).isGreaterThanOrEqualTo(hold);
    assertThat(children()).hasSize(1);
    other.release(grant[0], Duration.ZERO);
  }

  @Test
  void aWritersMinimumHoldKeepsReadersOutToo() throws Exception {
    Grant held = Stores.take(store, claim(write, HOLD));
    store.release(held, HOLD);
    assertThat(other.tryAcquire(claim(read))).isEmpty();
    assertThat(other.acquireOrQueue(claim(read), () -> {}))
        .isInstanceOfSatisfying(
            Acquisition.Queued.class,
            queued -> assertThat(queued.recheckAfter()).isGreaterThan(Duration.ofSeconds(30)));
    assertThat(other.forceRelease(read, held.number())).isTrue();
    reader(store);
    reader(other);
  }

  @Test
  void allHoldersAreShownAndOneIsFreedByForceWhicheverKindTheKeySays() throws Exception {
    Grant first = reader(store);
    Grant second = reader(other);
    Grant third = reader(store);
    Waiter writer = Waiter.join(other, claim(write));
    Waiter.join(other, claim(read));
    for (LockKey key : List.of(read, write)) {
      assertThat(store.holders(key))
          .extracting(StoredHolder::number)
          .containsExactly(first.number(), second.number(), third.number());
      assertThat(store.inspect(key)).map(StoredHolder::number).hasValue(first.number());
    }
    List<StoredLock> listed = store.list(LockKind.MUTEX, name, 10);
    assertThat(listed).hasSize(1);
    assertThat(listed.get(0).key()).isEqualTo(write);
    assertThat(listed.get(0).holder().number()).isEqualTo(first.number());
    assertThat(listed.get(0).waiting()).hasValue(2);
    assertThat(store.forceRelease(write, second.number())).isTrue();
    assertThat(store.forceRelease(read, second.number())).isFalse();
    assertThat(other.verify(second)).isEmpty();
    assertThat(store.verify(first)).isPresent();
    assertThat(store.forceRelease(read, third.number())).isTrue();
    assertThat(writer.wokenStatus()).isInstanceOf(Ticket.Waiting.class);
    store.release(first, Duration.ZERO);
    Grant written = writer.granted();
    assertThat(store.holders(read))
        .extracting(StoredHolder::number)
        .containsExactly(written.number());
    assertThat(store.forceRelease(read, written.number())).isTrue();
    assertThat(other.renew(List.of(written))).containsExactly(new Renewal.Lost());
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({"REQUESTS", "REPLIES"})
  void aReaderThatLosesTheConnectionLeavesOneNode(Link.Direction lost) throws Exception {
    FaultProxy proxy = closeLater(FaultProxy.open(server.host(), server.port()));
    CuratorFramework far =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port())));
    ZooKeeperStore farStore = closeLater(Stores.open(far));
    Grant others = reader(store);
    if (lost == Link.Direction.REQUESTS) {
      proxy.dropRequest(1);
    } else {
      proxy.dropReply(1);
    }
    Grant grant = reader(farStore);
    assertThat(children()).hasSize(2);
    Claim withdrawn = claim(read);
    Grant late = Stores.take(farStore, withdrawn);
    other.withdraw(withdrawn);
    assertThat(farStore.renew(List.of(late, grant)).get(0)).isEqualTo(new Renewal.Lost());
    assertThat(farStore.verify(grant)).isPresent();
    farStore.release(grant, Duration.ZERO);
    store.release(others, Duration.ZERO);
    Stores.eventually("no node is left", () -> children().isEmpty());
  }

  @Test
  void noWriterIsEverInsideWithAnybodyElse() throws Exception {
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    AtomicInteger together = new AtomicInteger();
    AtomicLong lastWritten = new AtomicLong();
    Queue<Throwable> surprises = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      ZooKeeperStore of = i % 2 == 0 ? store : other;
      boolean writes = i >= 4;
      Thread thread = new Thread(() -> {
        try {
          for (int round = 0; round < 40; round++) {
            Grant grant = await(of, claim(writes ? write : read));
            if (writes) {
              assertThat(writers.incrementAndGet()).isEqualTo(1);
              assertThat(readers).hasValue(0);
              assertThat(lastWritten.getAndSet(grant.number())).isLessThan(grant.number());
            } else {
              together.accumulateAndGet(readers.incrementAndGet(), Math::max);
              assertThat(writers).hasValue(0);
              assertThat(grant.number()).isGreaterThan(lastWritten.get());
            }
            Thread.sleep(1);
            (writes ? writers : readers).decrementAndGet();
            of.release(grant, Duration.ZERO);
          }
        } catch (Throwable e) {
          surprises.add(e);
        }
      });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join(50_000);
      assertThat(thread.isAlive()).isFalse();
    }
    assertThat(surprises).isEmpty();
    assertThat(together.get()).as("most readers at once").isGreaterThan(1);
    assertThat(children()).isEmpty();
  }

  private static Grant await(ZooKeeperStore store, Claim claim) throws Exception {
    Semaphore woken = new Semaphore(0);
    Acquisition acquisition = store.acquireOrQueue(claim, woken::release);
    if (acquisition instanceof Acquisition.Granted granted) {
      return granted.grant();
    }
    Ticket ticket = ((Acquisition.Queued) acquisition).ticket();
    while (true) {
      boolean unused = woken.tryAcquire(15, TimeUnit.SECONDS);
      if (ticket.poll() instanceof Ticket.Granted granted) {
        return granted.grant();
      }
    }
  }
}
