package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The holders of locks, as an administrator sees them; on one server. */
class HoldersTest extends ServerTest {
  private static final int ALL = 10_000;

  private final String root = "/holders-" + System.nanoTime();
  private CuratorFramework framework;
  private ZooKeeperStore store;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    store = closeLater(Stores.open(framework, root));
    // The first acquisition at a path makes it.
    take("warm-up").release();
  }

  private record Taken(ZooKeeperStore store, Grant grant) {
    void release() throws StoreException {
      store.release(grant, Duration.ZERO);
    }
  }

  private Taken take(String name) throws StoreException {
    return new Taken(store, Stores.take(store, Stores.claim(name)));
  }

  private static Map<String, StoredLock> list(ZooKeeperStore store, String prefix, int limit)
      throws StoreException {
    Map<String, StoredLock> byName = new HashMap<>();
    for (StoredLock lock : store.list(LockKind.MUTEX, prefix, limit)) {
      assertThat(byName.put(lock.key().name(), lock)).as("twice").isNull();
    }
    return byName;
  }

  private Instant ctime(Grant grant) throws Exception {
    return Instant.ofEpochMilli(
        framework.checkExists().forPath(((ZooKeeperGrant) grant).node().path()).getCtime());
  }

  @Test
  void everyHeldLockThatBeginsWithThePrefixIsListedAndNoOther() throws Exception {
    String prefix = "orders/é";
    List<String> with = List.of(
        prefix, prefix + "\u0301", prefix + "\ud83d\ude00", prefix + "%41", prefix + " /..~ A");
    List<String> without =
        List.of("orders/e\u0301", "ORDERS/É", "orders", " " + prefix, "orders/\u00c3");
    for (String name : with) {
      var unused = take(name);
    }
    for (String name : without) {
      var unused = take(name);
    }
    take(prefix + "released").release();
    assertThat(list(store, prefix, ALL)).containsOnlyKeys(with);
    assertThat(list(store, "", ALL))
        .containsKeys(with.toArray(String[]::new))
        .containsKeys(without.toArray(String[]::new))
        .hasSize(with.size() + without.size());
    assertThat(list(store, "nothing", ALL)).isEmpty();
  }

  @Test
  void aListedLockHasItsHolderAndTheCountOfThoseWhoWait() throws Exception {
    Grant grant = take("one").grant();
    ZooKeeperStore other = closeLater(Stores.open(openFramework(), root));
    List<Acquisition.Queued> line = new ArrayList<>();
    line.add(Stores.queue(other, Stores.claim("one"), () -> {}));
    line.add(Stores.queue(other, Stores.claim("one"), () -> {}));
    StoredLock lock = list(store, "", ALL).get("one");
    assertThat(lock.waiting()).hasValue(2);
    assertThat(lock.holder())
        .isEqualTo(new StoredHolder(
            grant.number(),
            grant.claim().holder(),
            ctime(grant),
            Duration.ofMillis(Frameworks.handle(framework).getSessionTimeout()),
            false))
        .isEqualTo(store.inspect(lock.key()).orElseThrow());
    for (Acquisition.Queued queued : line) {
      queued.ticket().close();
    }
    assertThat(list(store, "", ALL).get("one").waiting()).hasValue(0);
  }

  @Test
  void manyLocksAreListedInTurnsOfManyAtOnceAndNoMoreThanTheLimit() throws Exception {
    int count = 150;
    for (int i = 0; i < count; i++) {
      var unused = take("many/" + i);
    }
    assertThat(list(store, "many/", 100)).hasSize(100);
    assertThat(list(store, "many/", 1)).hasSize(1);
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy), root));
    Duration delay = Duration.ofMillis(100);
    proxy.delay(Link.Direction.REQUESTS, delay);
    long beganNanos = System.nanoTime();
    // One after the other they would take longer than the store timeout.
    assertThat(list(far, "many/", count)).hasSize(count);
    assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
        .as("a round trip for the names, and two for each of three turns")
        .isGreaterThanOrEqualTo(delay.multipliedBy(7));
  }

  @Test
  void aLockThatOnlyAMinimumHoldKeepsTakenIsListedWithTheBeginningOfItsGrant() throws Exception {
    Duration hold = Duration.ofSeconds(60);
    Grant grant = Stores.take(store, Stores.claim("held", Stores.TTL, hold));
    Instant since = ctime(grant);
    // So that the mark is younger, by the server's clock.
    Await.untilAnswered("the clock goes on", () -> {
      take("clock").release();
      Grant later = take("clock").grant();
      Instant now = ctime(later);
      store.release(later, Duration.ZERO);
      return now.isAfter(since);
    });
    store.release(grant, hold);
    Acquisition.Queued queued = Stores.queue(store, Stores.claim("held"), () -> {});
    assertThat(list(store, "", ALL).get("held")).satisfies(lock -> {
      assertThat(lock.holder().released()).isTrue();
      assertThat(lock.holder().number()).isEqualTo(grant.number());
      assertThat(lock.holder().description()).isEqualTo(grant.claim().holder());
      assertThat(lock.holder().since()).isEqualTo(since);
      assertThat(lock.holder().remaining()).isBetween(Duration.ofSeconds(20), hold.plusMillis(1));
      assertThat(lock.waiting()).hasValue(1);
    });
    queued.ticket().close();
    assertThat(list(store, "", ALL).get("held").waiting()).hasValue(0);
    assertThat(store.forceRelease(grant.claim().key(), grant.number())).isTrue();
    assertThat(list(store, "", ALL)).isEmpty();
  }

  @Test
  void aMarkWhoseTimeIsOverKeepsNoLockTaken() throws Exception {
    LockKey key = new LockKey(LockKind.MUTEX, "over");
    byte[] mark = new NodeData(Duration.ZERO, Instant.EPOCH, "somebody").bytes();
    framework
        .create()
        .creatingParentContainersIfNeeded()
        .forPath(root + "/" + Names.of(key) + "/" + Names.ofMark(7), mark);
    assertThat(list(store, "", ALL)).isEmpty();
    assertThat(store.inspect(key)).isEmpty();
  }

  @Test
  void aHolderIsKnownSinceItAskedAlsoIfItHadToWait() throws Exception {
    Taken first = take("since");
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(store, Stores.claim("since"), woken::countDown);
    first.release();
    Await.untilAnswered("the waiter is woken", () -> woken.getCount() == 0);
    Grant second = ((Ticket.Granted) queued.ticket().poll()).grant();
    assertThat(store.inspect(second.claim().key()).orElseThrow().since())
        .isEqualTo(ctime(second))
        .isAfter(Instant.ofEpochMilli(TimeSource.system().wallMillis()).minusSeconds(3_600));
    store.release(second, Duration.ZERO);
  }

  @Test
  void aNodeBesideTheLocksThatIsNoneOfThemIsNotListed() throws Exception {
    for (String foreign : List.of("lost", "m-", "m-%41", "m-a b", "m-%zz", "m-%07", "m-%c3")) {
      framework
          .create()
          .creatingParentsIfNeeded()
          .forPath(root + "/" + foreign + "/" + "f".repeat(32) + "-0000000000");
    }
    // Whose node a careless reader would take for another's, too.
    var unused = take("A");
    assertThat(list(store, "", ALL)).containsOnlyKeys("A");
  }

  @Test
  void anAnswerThatIsLongerThanTheClientTakesIsAFailureAndTheStoreGoesOn() throws Exception {
    List<CuratorOp> creations = new ArrayList<>();
    List<CuratorOp> deletions = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      String path =
          root + "/" + Names.of(new LockKey(LockKind.MUTEX, i + "\ud83d\ude00".repeat(197)));
      creations.add(framework.transactionOp().create().forPath(path));
      deletions.add(framework.transactionOp().delete().forPath(path));
    }
    commit(creations);
    Grant grant = take("before").grant();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> list(store, "", ALL))
        .withMessageContaining("jute.maxbuffer")
        // The store's own node may be there, too.
        .withMessageMatching("(?s).* 50[12] names under " + root + " .*")
        .withMessageContaining("1048575 bytes");
    Await.untilAnswered("there is a connection again", () -> store.verify(grant).isPresent());
    commit(deletions);
    assertThat(list(store, "", ALL)).containsOnlyKeys("before");
  }

  /** A hundred at a time, since a request may not be longer than an answer. */
  private void commit(List<CuratorOp> ops) throws Exception {
    for (int from = 0; from < ops.size(); from += 100) {
      framework.transaction().forOperations(ops.subList(from, Math.min(ops.size(), from + 100)));
    }
  }

  @Test
  void aListThatTakesTooLongSaysWhatToDo() throws Exception {
    for (int i = 0; i < 150; i++) {
      var unused = take("many/" + i);
    }
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy), root));
    // The names come in time, and the second turn does not.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(1_500));
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> list(far, "many/", ALL))
        .withMessageContaining("150 names begin with 'many/'")
        .withMessageContaining("longer prefix");
  }

  @Test
  void aServerThatHangsAfterTheNamesIsNotTakenForTooManyNames() throws Exception {
    var unused = take("one");
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy), root));
    // The names come in time, and the holder does not.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofSeconds(2));
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> list(far, "one", ALL))
        .withMessageContaining("did not answer");
  }
}
