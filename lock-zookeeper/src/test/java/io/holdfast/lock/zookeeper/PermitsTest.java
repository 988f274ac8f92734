package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Semaphores, beyond what the kit can see; on one server. */
class PermitsTest extends ServerTest {
  private final LockKey key = new LockKey(LockKind.PERMIT, Claims.freshName());
  private final String path = Names.path(ZooKeeperLocks.DEFAULT_PATH, key);
  private CuratorFramework framework;
  private ZooKeeperStore store;
  private ZooKeeperStore other;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    store = closeLater(Stores.open(framework));
    other = closeLater(Stores.open(openFramework()));
    // So that no removal of the empty node is counted with a request.
    framework.create().forPath(path);
    closeLater(() -> framework.delete().forPath(path));
  }

  private Claim claim(int permits, Duration minHold) {
    return new Claim(
        key, new Claim.Permit(permits), Claims.freshOwnerId(), Stores.TTL, minHold, "of a test");
  }

  private Claim claim(int permits) {
    return claim(permits, Duration.ZERO);
  }

  private PermitGrant take(ZooKeeperStore from, int permits) throws StoreException {
    return (PermitGrant) Stores.take(from, claim(permits));
  }

  private PermitGrant lock(ZooKeeperStore from, int permits) throws StoreException {
    return (PermitGrant)
        ((Acquisition.Granted) from.acquireOrQueue(claim(permits), () -> {})).grant();
  }

  private Waiter queue(LockStore waiting, int permits) throws StoreException {
    return Waiter.queue(waiting, claim(permits));
  }

  private static PermitGrant enter(Waiter waiter) throws Exception {
    return (PermitGrant) waiter.enter();
  }

  /** Has a store try this permit next. */
  private void guess(ZooKeeperStore by, int permit) {
    by.acquiring.guesses.noteFree(path, permit);
  }

  private List<String> children() throws Exception {
    return framework.getChildren().forPath(path);
  }

  private static int sent(CuratorFramework framework) throws Exception {
    return Xids.sent(Frameworks.handle(framework));
  }

  private static void release(ZooKeeperStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private List<String> watched() throws Exception {
    return FourLetters.ask(server.host(), server.port(), "wchp")
        .lines()
        .filter(line -> line.startsWith(path))
        .toList();
  }

  /** The number of watches on lines as a whole; the server does not tell their paths. */
  private long watchesOfLines() throws Exception {
    String nodes = FourLetters.ask(server.host(), server.port(), "wchs");
    long ofNodes = Long.parseLong(nodes.substring(nodes.lastIndexOf(':') + 1).strip());
    return FourLetters.number(server, "zk_watch_count") - ofNodes;
  }

  @Test
  void aPermitIsTwoRequestsInOneRoundTripAndItsReleaseOne() throws Exception {
    release(store, take(store, 3));
    PermitGrant besides = take(store, 3);
    int cycles = 10;
    int before = sent(framework);
    for (int i = 0; i < cycles; i++) {
      release(store, i % 2 == 0 ? take(store, 3) : lock(store, 3));
    }
    assertThat(sent(framework) - before).as("requests").isEqualTo(3 * cycles);
    release(store, besides);

    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy)));
    release(far, take(far, 3));
    // So that what is sent at once is one request to the proxy, also where a sender is held up.
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(100));
    long roundTripsBefore = proxy.requests();
    for (int i = 0; i < cycles; i++) {
      release(far, lock(far, 3));
    }
    assertThat(proxy.requests() - roundTripsBefore)
        .as("round trips of %s cycles, and perhaps a ping", cycles)
        .isBetween(2L * cycles, 2L * cycles + 2);
  }

  @Test
  void aWrongGuessCostsOneRoundTripMore() throws Exception {
    for (boolean once : new boolean[] {true, false}) {
      PermitGrant besides = take(other, 2);
      guess(store, besides.permit());
      int before = sent(framework);
      PermitGrant grant = once ? take(store, 2) : lock(store, 2);
      // Create and list; create, delete and list.
      assertThat(sent(framework) - before).as("requests").isEqualTo(5);
      assertThat(grant.permit()).isEqualTo(1 - besides.permit());
      assertThat(children()).hasSize(2);
      assertThat(store.holders(key))
          .extracting(permit -> permit.holder().number())
          .containsExactlyInAnyOrder(besides.number(), grant.number());
      release(store, grant);
      release(other, besides);
      assertThat(children()).isEmpty();
    }
  }

  @Test
  void aPermitThatWasSeenTakenIsAskedForWithoutAWrite() throws Exception {
    PermitGrant besides = take(other, 1);
    assertThat(store.tryAcquire(claim(1))).isEmpty();
    int before = sent(framework);
    assertThat(store.tryAcquire(claim(1))).isEmpty();
    assertThat(sent(framework) - before).as("requests").isEqualTo(2);
    assertThatExceptionOfType(PermitsDifferException.class)
        .isThrownBy(() -> store.tryAcquire(claim(2)));
    assertThat(children()).hasSize(1);
    release(other, besides);
    release(store, take(store, 1));
  }

  @Test
  void onlyTheFirstThatWaitsWatchesThoseInsideAndNobodyIsWokenByWhoJoins() throws Exception {
    PermitGrant one = take(store, 2);
    PermitGrant two = take(store, 2);
    Waiter first = queue(other, 2);
    Waiter second = queue(store, 2);
    Waiter third = queue(other, 2);
    List<String> line = Line.of(path, children()).places().stream()
        .map(place -> path + "/" + place.name())
        .toList();
    assertThat(watched()).containsExactlyInAnyOrder(line.get(2), line.get(3));
    assertThat(watchesOfLines()).isEqualTo(1);
    assertThat(first.woken().availablePermits())
        .as("wake-ups by those who joined")
        .isZero();

    release(store, two);
    PermitGrant entered = enter(first);
    assertThat(entered.permit()).isEqualTo(two.permit());
    assertThat(entered.number()).isGreaterThan(two.number());
    // Its entry tells the next that it is the first now, without waking it.
    Await.untilAnswered("the next watches", () -> watchesOfLines() == 1);
    assertThat(watched()).containsExactly(line.get(3));
    release(store, one);
    PermitGrant next = enter(second);
    assertThat(next.permit()).isEqualTo(one.permit());
    Await.untilAnswered("the last watches", () -> watchesOfLines() == 1);
    assertThat(watched()).isEmpty();
    third.assertWaits();
    assertThat(third.woken().availablePermits()).as("wake-ups of the last").isZero();
    third.leave();
    release(other, entered);
    release(store, next);
    assertThat(children()).isEmpty();
  }

  @Test
  void allThatBecomeFreeAtOnceAreTakenOneAfterTheOther() throws Exception {
    PermitGrant one = take(store, 2);
    PermitGrant two = take(store, 2);
    Waiter first = queue(other, 2);
    Waiter second = queue(store, 2);
    release(store, one);
    release(store, two);
    PermitGrant entered = enter(first);
    PermitGrant next = enter(second);
    assertThat(List.of(entered.permit(), next.permit())).containsExactlyInAnyOrder(0, 1);
    assertThat(next.number()).isGreaterThan(entered.number());
    release(other, entered);
    release(store, next);
  }

  @Test
  void whoGivesUpLeavesNoWatchAndLetsTheNextWatch() throws Exception {
    PermitGrant held = take(store, 1);
    Waiter first = queue(other, 1);
    Waiter second = queue(store, 1);
    first.leave();
    Await.untilAnswered("the next watches", () -> watchesOfLines() == 1);
    assertThat(watched()).isEmpty();
    release(store, held);
    PermitGrant entered = enter(second);
    Waiter alone = queue(other, 1);
    alone.leave();
    Await.untilAnswered("its watch is removed", () -> watchesOfLines() == 0);
    release(store, entered);
  }

  @Test
  void aPermitTakenFromTheLineKeepsTheNumberOfItsJoiningForEverybody() throws Exception {
    PermitGrant held = take(store, 1);
    Waiter waiter = queue(other, 1);
    Instant joined = Instant.now();
    Waiter behind = queue(store, 1);
    String behindIt = Line.of(path, children()).places().get(2).name();
    long later = framework.checkExists().forPath(path + "/" + behindIt).getCzxid();
    release(store, held);
    PermitGrant entered = enter(waiter);
    assertThat(entered.number()).isBetween(held.number() + 1, later - 1);
    StoredHolder shown = store.holders(key).get(0).holder();
    assertThat(shown.number()).isEqualTo(entered.number());
    assertThat(shown.since()).isBeforeOrEqualTo(joined.plusSeconds(1));
    assertThat(store.forceRelease(key, later)).as("of one that waits").isFalse();
    assertThat(store.forceRelease(key, entered.number())).isTrue();
    assertThat(store.forceRelease(key, entered.number())).isFalse();
    assertThat(other.verify(entered)).isEmpty();
    assertThat(other.release(entered, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    release(store, enter(behind));
  }

  @Test
  void aNewcomerThatIsFrozenBeforeItEntersKeepsNobodyAtTheHeadWaiting() throws Exception {
    PermitGrant held = take(store, 2);
    PermitGrant last = take(store, 2);
    Waiter waiter = queue(other, 2);
    String frozen = framework
        .create()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(path + "/" + Names.ofAttempt(claim(2), last.permit()));
    Waiter behind = queue(store, 2);
    release(store, last);
    PermitGrant entered = enter(waiter);
    assertThat(entered.permit()).isEqualTo(last.permit());
    assertThat(store.holders(key))
        .as("without the newcomer, which has the same permit in its name")
        .extracting(permit -> permit.holder().number())
        .containsExactlyInAnyOrder(held.number(), entered.number());
    release(store, held);
    behind.assertWaits();
    assertThat(behind.woken().availablePermits()).as("wake-ups of the next").isZero();
    framework.delete().forPath(frozen);
    release(store, enter(behind));
    release(other, entered);
  }

  @Test
  void whatALaterVersionMayDoBlocks() throws Exception {
    PermitGrant held = take(store, 2);
    String later = framework
        .create()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(path + "/" + Claims.freshOwnerId() + "q-");
    assertThat(other.tryAcquire(claim(2))).isEmpty();
    Waiter waiter = queue(other, 2);
    framework.delete().forPath(later);
    release(other, enter(waiter));
    release(store, held);
  }

  @Test
  void whoseSessionEndsHasNoPermitAndNoPlace() throws Exception {
    CuratorFramework dying = openFramework();
    ZooKeeperStore dead = closeLater(Stores.open(dying));
    PermitGrant crashed = take(dead, 1);
    Waiter unused = queue(dead, 1);
    Waiter waiter = queue(store, 1);
    SessionKiller.end(Frameworks.handle(dying), ZooKeeperServer.address(server));
    PermitGrant entered = enter(waiter);
    assertThat(entered.number()).isGreaterThan(crashed.number());
    assertThat(dead.verify(crashed)).isEmpty();
    release(store, entered);
  }

  @Test
  void anotherNumberOfPermitsLeavesNothing() throws Exception {
    PermitGrant held = take(store, 2);
    for (ZooKeeperStore asked : List.of(store, other)) {
      assertThatExceptionOfType(PermitsDifferException.class)
          .isThrownBy(() -> asked.acquireOrQueue(claim(3), () -> {}))
          .satisfies(e -> assertThat(e.stored()).isEqualTo(2));
      assertThatExceptionOfType(PermitsDifferException.class)
          .isThrownBy(() -> asked.tryAcquire(claim(3)));
      assertThat(children()).hasSize(1);
    }
    release(store, held);
    release(other, take(other, 3));
  }

  @Test
  void aMinimumHoldKeepsOnePermitAndItsNumberOfThem() throws Exception {
    Duration hold = Duration.ofSeconds(60);
    PermitGrant held = take(store, 2);
    PermitGrant kept = (PermitGrant) Stores.take(store, claim(2, hold));
    assertThat(store.release(kept, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(children()).contains(Names.ofMark(kept.number()) + "p2." + kept.permit());
    assertThat(other.tryAcquire(claim(2))).isEmpty();
    Waiter waiter = queue(other, 2);
    release(store, held);
    PermitGrant entered = enter(waiter);
    assertThat(entered.permit()).isEqualTo(held.permit());
    release(other, entered);

    assertThatExceptionOfType(PermitsDifferException.class)
        .isThrownBy(() -> other.acquireOrQueue(claim(3), () -> {}));
    List<StoredPermit> shown = other.holders(key);
    assertThat(shown).hasSize(1);
    assertThat(shown.get(0).permit()).isEqualTo(kept.permit());
    assertThat(shown.get(0).holder().number()).isEqualTo(kept.number());
    assertThat(shown.get(0).holder().released()).isTrue();
    PermitGrant beside = take(other, 2);
    assertThat(beside.permit()).isEqualTo(held.permit());
    assertThat(other.forceRelease(key, kept.number())).isTrue();
    release(other, take(other, 2));
    release(other, beside);
  }

  @Test
  void aMinimumHoldThatIsOverIsDeletedByWhoNeedsItsPermit() throws Exception {
    String mark = path + "/" + Names.ofMark(7) + "p1.0";
    byte[] over = new NodeData(Duration.ZERO, Instant.EPOCH, "somebody").bytes();
    for (boolean once : new boolean[] {true, false}) {
      framework.create().forPath(mark, over);
      release(store, once ? take(store, 1) : lock(store, 1));
      assertThat(children()).isEmpty();
    }
    String besideIt = path + "/" + Names.ofMark(7) + "p2.0";
    framework.create().forPath(besideIt, over);
    release(store, take(store, 2));
    assertThat(children()).as("one with room beside it is left").hasSize(1);
    framework.delete().forPath(besideIt);
  }

  @Test
  void aLostAnswerLeavesNoSecondNodeAndNoPermitTaken() throws Exception {
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy)));
    release(far, take(far, 2));
    proxy.dropReply(1);
    PermitGrant grant = take(far, 2);
    assertThat(children()).hasSize(1);
    // The node that waits in place of the one with the wrong permit.
    guess(far, grant.permit());
    proxy.dropReply(2);
    PermitGrant second = take(far, 2);
    assertThat(second.permit()).isNotEqualTo(grant.permit());
    assertThat(children()).hasSize(2);

    far.withdraw(second.claim());
    assertThat(children()).hasSize(1);
    release(far, grant);
    Await.untilAnswered("nothing is left to do", () -> far.nodes.all().isEmpty());
  }

  @Test
  void whoseEntryHasNoAnswerKeepsItsPlaceAndItsNumber() throws Exception {
    FaultProxy proxy = openProxy();
    ZooKeeperStore far = closeLater(Stores.open(openFramework(proxy)));
    for (boolean carriedOut : new boolean[] {true, false}) {
      PermitGrant held = take(store, 1);
      Waiter waiter = queue(far, 1);
      Waiter behind = queue(other, 1);
      release(store, held);
      waiter.awaitWakeUp();
      if (carriedOut) {
        proxy.dropReply(1);
      } else {
        proxy.dropRequest(1);
      }
      PermitGrant entered = (PermitGrant) ((Ticket.Granted) waiter.ticket().poll()).grant();
      assertThat(store.holders(key))
          .extracting(permit -> permit.holder().number())
          .containsExactly(entered.number());
      assertThat(far.verify(entered)).isPresent();
      release(far, entered);
      release(other, enterAtLast(behind));
      assertThat(children()).isEmpty();
      Await.untilAnswered("nothing is left to do", () -> far.nodes.all().isEmpty());
    }
  }

  /** One who may be woken before its turn has come. */
  private static PermitGrant enterAtLast(Waiter waiter) throws Exception {
    while (true) {
      waiter.awaitWakeUp();
      if (waiter.ticket().poll() instanceof Ticket.Granted granted) {
        return (PermitGrant) granted.grant();
      }
    }
  }

  @Test
  void whoEntersAndIsToldThatItsNodeIsGoneQueuesAgain() throws Exception {
    PermitGrant held = take(store, 1);
    Waiter waiter = queue(other, 1);
    release(store, held);
    waiter.awaitWakeUp();
    framework.delete().forPath(other.nodes.all().get(0).path());
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Gone.class);
    assertThat(children()).isEmpty();
  }

  @Test
  void marksThatAreWaitedForCostNoWriteWhenSomebodyJoins() throws Exception {
    Duration hold = Duration.ofSeconds(60);
    long toJoin = Long.MAX_VALUE;
    long inAll = Long.MAX_VALUE;
    // The fewest of three: the server also writes when a session of another test ends.
    for (int i = 0; i < 3; i++) {
      PermitGrant kept = (PermitGrant) Stores.take(store, claim(1, hold));
      Waiter waiter = queue(other, 1);
      store.release(kept, hold);
      waiter.awaitWakeUp();
      waiter.assertWaits();
      long before = FourLetters.writes(server);
      Waiter behind = queue(store, 1);
      toJoin = Math.min(toJoin, FourLetters.writes(server) - before);
      behind.leave();
      assertThat(other.forceRelease(key, kept.number())).isTrue();
      inAll = Math.min(inAll, FourLetters.writes(server) - before);
      release(other, enter(waiter));
    }
    assertThat(toJoin)
        .as("writes of one that joins with a permit, and then waits in place of that")
        .isEqualTo(3);
    assertThat(inAll)
        .as("with those of who leaves and who frees the permit; nobody asks for the time")
        .isEqualTo(5);
  }

  @Test
  void aThreadThatEndsAsItEntersLeavesNothing() throws Exception {
    PermitGrant held = take(store, 1);
    Waiter waiter = queue(other, 1);
    release(store, held);
    waiter.awaitWakeUp();
    OwnNode node = other.nodes.all().get(0);
    var unused =
        other.acquiring.placing.takePermit(other.wire.handle(), node, 0, other.wire.deadline());
    node.abandon();
    Await.untilAnswered("its node is deleted", () -> children().isEmpty());
  }
}
