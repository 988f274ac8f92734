package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Readers and writers in one line, beyond what the kit can see; on one server. */
class ReadersTest extends ServerTest {
  private final String name = Claims.freshName();
  private CuratorFramework framework;
  private ZooKeeperStore store;
  private ZooKeeperStore other;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    store = closeLater(Stores.open(framework));
    other = closeLater(Stores.open(openFramework()));
    // So that no removal of the empty node is counted with a request.
    framework.create().forPath(Stores.path(name));
    closeLater(() -> framework.delete().forPath(Stores.path(name)));
  }

  private Grant read(ZooKeeperStore reader) throws StoreException {
    return Stores.take(reader, Stores.readClaim(name));
  }

  private Waiter queueToRead(ZooKeeperStore waiting) throws StoreException {
    return Waiter.queue(waiting, Stores.readClaim(name));
  }

  private Waiter queueToWrite(ZooKeeperStore waiting) throws StoreException {
    return Waiter.queue(waiting, Stores.claim(name));
  }

  /** The paths in the line, in its order. */
  private List<String> line() throws Exception {
    String path = Stores.path(name);
    return Line.of(path, framework.getChildren().forPath(path)).places().stream()
        .map(place -> path + "/" + place.name())
        .toList();
  }

  private List<String> watched() throws Exception {
    return FourLetters.ask(server.host(), server.port(), "wchp")
        .lines()
        .filter(line -> line.startsWith(Stores.path(name)))
        .toList();
  }

  private static int sent(CuratorFramework framework) throws Exception {
    return Xids.sent(Frameworks.handle(framework));
  }

  private static void release(ZooKeeperStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  @Test
  void aReaderWatchesTheLastWriterBeforeItAndAWriterTheOneBeforeIt() throws Exception {
    Grant first = read(store);
    Waiter writer = queueToWrite(other);
    Waiter reader = queueToRead(store);
    Waiter beside = queueToRead(other);
    Waiter last = queueToWrite(store);
    Waiter behind = queueToRead(other);
    List<String> line = line();
    assertThat(watched())
        .as("of the line %s", line)
        .containsExactlyInAnyOrder(line.get(0), line.get(1), line.get(3), line.get(4));

    release(store, first);
    Grant written = writer.enter();
    reader.assertWaits();
    release(other, written);
    Grant entered = reader.enter();
    Grant besides = beside.enter();
    assertThat(last.woken().availablePermits() + behind.woken().availablePermits())
        .as("wake-ups of those behind")
        .isZero();
    assertThat(List.of(entered.number(), besides.number()))
        .allMatch(number -> number > written.number());
    release(store, entered);
    release(other, besides);
    Grant lastWritten = last.enter();
    behind.assertWaits();
    release(store, lastWritten);
    release(other, behind.enter());
    assertThat(line()).isEmpty();
    assertThat(watched()).isEmpty();
  }

  @Test
  void aReadIsTwoRequestsInOneRoundTripAndItsReleaseOneWhoeverReads() throws Exception {
    release(store, read(store));
    Grant besides = read(other);
    int before = sent(framework);
    Grant grant = read(store);
    int acquired = sent(framework);
    release(store, grant);
    assertThat(acquired - before).as("requests to acquire").isEqualTo(2);
    assertThat(sent(framework) - acquired).as("requests to release").isEqualTo(1);

    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy)));
    release(far, read(far));
    // So that what is sent at once is one request to the proxy, also where a sender is held up.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(100));
    long roundTripsBefore = proxy.requests();
    int cycles = 10;
    for (int i = 0; i < cycles; i++) {
      release(far, read(far));
    }
    assertThat(proxy.requests() - roundTripsBefore)
        .as("round trips of %s cycles, and perhaps a ping", cycles)
        .isBetween(2L * cycles, 2L * cycles + 2);
    release(other, besides);
  }

  @Test
  void whatAWriterSawTakenByReadersIsNotTakenForAReader() throws Exception {
    Grant besides = read(other);
    assertThat(store.tryAcquire(Stores.claim(name))).isEmpty();
    int before = sent(framework);
    release(store, read(store));
    assertThat(sent(framework) - before).as("requests of a read").isEqualTo(3);

    release(other, besides);
    Grant written = Stores.take(other, Stores.claim(name));
    assertThat(store.tryAcquire(Stores.readClaim(name))).isEmpty();
    before = sent(framework);
    assertThat(store.tryAcquire(Stores.readClaim(name))).isEmpty();
    assertThat(sent(framework) - before).as("requests of the second miss").isEqualTo(2);
    release(other, written);
    besides = read(other);
    release(store, read(store));
    release(other, besides);
  }

  @Test
  void aReaderBehindTwoWritersEntersWhenBothHaveGivenUp() throws Exception {
    for (boolean firstOneFirst : new boolean[] {true, false}) {
      Grant inside = read(store);
      Waiter first = queueToWrite(other);
      Waiter second = queueToWrite(store);
      Waiter reader = queueToRead(other);
      if (firstOneFirst) {
        first.leave();
        reader.assertWaits();
        second.leave();
      } else {
        second.leave();
        reader.awaitWakeUp();
        reader.assertWaits();
        assertThat(watched()).as("what the reader watches now").contains(line().get(1));
        first.leave();
      }
      Grant entered = reader.enter();
      assertThat(store.verify(inside)).as("the read that was inside").isPresent();
      release(store, inside);
      release(other, entered);
    }
  }

  @Test
  void aWaiterWhoseSessionEndsLetsTheReaderBehindItInAtOnce() throws Exception {
    CuratorFramework dying = openFramework();
    ZooKeeperStore dead = closeLater(Stores.open(dying));
    Grant inside = read(store);
    Waiter unused = queueToWrite(dead);
    Waiter reader = queueToRead(other);
    SessionKiller.end(Frameworks.handle(dying), ZooKeeperServer.address(server));
    Grant entered = reader.enter();
    assertThat(store.verify(inside)).as("the read that was inside").isPresent();
    release(store, inside);
    release(other, entered);
  }

  @Test
  void aReaderWhoseSessionEndsIsGoneAndNobodyElse() throws Exception {
    CuratorFramework dying = openFramework();
    ZooKeeperStore dead = closeLater(Stores.open(dying));
    Grant crashed = read(dead);
    Grant inside = read(store);
    Waiter writer = queueToWrite(other);
    assertThat(store.readers(Claims.key(name))).hasSize(2);
    SessionKiller.end(Frameworks.handle(dying), ZooKeeperServer.address(server));
    Await.untilAnswered("it is gone", () -> store.readers(Claims.key(name)).size() == 1);
    assertThat(dead.verify(crashed)).isEmpty();
    writer.assertWaits();
    release(store, inside);
    release(other, writer.enter());
  }

  @Test
  void aClientThatKnowsNoReadersStandsInLineBehindThemAndBeforeThem() throws Exception {
    Grant inside = read(store);
    // Such a client's node; it takes the lock when its node is the first.
    ZooKeeper zk = Frameworks.handle(framework);
    String older = framework
        .create()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(Stores.path(name) + "/" + Claims.freshOwnerId() + "-");
    assertThat(line()).element(1).isEqualTo(older);
    assertThat(other.tryAcquire(Stores.readClaim(name))).isEmpty();
    Waiter reader = queueToRead(other);
    release(store, inside);
    reader.assertWaits();
    assertThat(line()).first().isEqualTo(older);
    zk.delete(older, -1);
    release(other, reader.enter());
  }

  @Test
  void aMinimumHoldKeepsAllReadersWaiting() throws Exception {
    Duration hold = Duration.ofSeconds(60);
    Grant written = Stores.take(store, Stores.claim(name, Stores.TTL, hold));
    Waiter first = queueToRead(other);
    Waiter second = queueToRead(store);
    store.release(written, hold);
    first.awaitWakeUp();
    second.awaitWakeUp();
    first.assertWaits();
    second.assertWaits();
    assertThat(other.tryAcquire(Stores.readClaim(name))).isEmpty();
    assertThat(store.readers(Claims.key(name))).isEmpty();
    StoredLock lock = store.list(LockKind.MUTEX, name, 10).get(0);
    assertThat(lock.holder().released()).isTrue();
    assertThat(lock.waiting()).hasValue(2);
    assertThat(store.forceRelease(Claims.key(name), written.number())).isTrue();
    // A mark is not watched. The later reader does not wait for the earlier.
    release(store, ((Ticket.Granted) second.ticket().poll()).grant());
    release(other, ((Ticket.Granted) first.ticket().poll()).grant());
  }

  @Test
  void aMinimumHoldThatIsOverIsDeletedByAReaderWhoIsNotTheFirst() throws Exception {
    Grant written = Stores.take(store, Stores.claim(name));
    Waiter first = queueToRead(other);
    String mark = Stores.path(name) + "/" + Names.ofMark(7);
    byte[] over = new NodeData(Duration.ZERO, Instant.EPOCH, "somebody").bytes();
    framework.create().forPath(mark, over);
    Waiter second = queueToRead(store);
    release(store, written);
    release(store, second.enter());
    assertThat(framework.checkExists().forPath(mark)).isNull();
    release(other, first.enter());
  }

  @Test
  void readersWhoAreInsideAreShownAndNoneThatWait() throws Exception {
    assertThat(store.readers(Claims.key(Claims.freshName())))
        .as("of an unused name")
        .isEmpty();
    Grant written = Stores.take(store, Stores.claim(name));
    Waiter waiting = queueToRead(other);
    assertThat(store.readers(Claims.key(name))).as("while a writer is inside").isEmpty();
    release(store, written);
    Grant first = waiting.enter();
    Grant second = read(store);
    Waiter writer = queueToWrite(other);
    Waiter behind = queueToRead(store);
    List<StoredHolder> readers = store.readers(Claims.key(name));
    assertThat(readers)
        .extracting(StoredHolder::number)
        .containsExactly(first.number(), second.number());
    assertThat(store.inspect(Claims.key(name))).hasValue(readers.get(0));
    List<StoredLock> locks = store.list(LockKind.MUTEX, name, 10);
    assertThat(locks)
        .containsExactly(new StoredLock(Claims.key(name), readers.get(0), OptionalInt.of(2)));
    behind.leave();
    writer.leave();
    release(other, first);
    release(store, second);
  }

  @Test
  void oneReaderOfSeveralIsForcedOutAndNobodyElse() throws Exception {
    Grant first = read(store);
    Grant second = read(other);
    Grant third = read(store);
    Waiter writer = queueToWrite(other);
    Waiter behind = queueToRead(store);
    long waiting = framework.checkExists().forPath(line().get(4)).getCzxid();
    assertThat(store.forceRelease(Claims.key(name), waiting))
        .as("one that waits")
        .isFalse();
    assertThat(store.forceRelease(Claims.key(name), second.number())).isTrue();
    assertThat(store.forceRelease(Claims.key(name), second.number())).isFalse();
    assertThat(other.verify(second)).isEmpty();
    assertThat(other.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.verify(first)).isPresent();
    assertThat(store.verify(third)).isPresent();
    writer.assertWaits();
    release(store, first);
    release(store, third);
    release(other, writer.enter());
    release(store, behind.enter());
  }

  @Test
  void aReadWhoseAnswerIsLostLeavesNoSecondNodeAndNoneAfterItsWithdrawal() throws Exception {
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy)));
    release(far, read(far));
    proxy.dropReply(1);
    Grant grant = read(far);
    assertThat(line())
        .containsExactly(((ZooKeeperGrant) grant).node().path())
        .allMatch(path -> path.endsWith("s0000000002"), "made by the second request");
    far.withdraw(grant.claim());
    assertThat(line()).isEmpty();
    assertThat(far.verify(grant)).isEmpty();
    Await.untilAnswered("nothing is left to do", () -> far.nodes.all().isEmpty());
  }
}
