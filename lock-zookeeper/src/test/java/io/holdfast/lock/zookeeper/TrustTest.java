package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The time for which a grant is trusted, by clocks that jump; on one server. */
class TrustTest extends ServerTest {
  private static final Duration HOUR = Duration.ofHours(1);

  private final Stores.JumpingTime time = new Stores.JumpingTime();
  private CuratorFramework framework;
  private Duration session;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    session = Duration.ofMillis(Frameworks.handle(framework).getSessionTimeout());
  }

  private ZooKeeperStore store() throws StoreException {
    return closeLater(Stores.open(framework, "test", time, new Stores.Events()));
  }

  private Grant take(ZooKeeperStore store) throws StoreException {
    Duration ttl = session.multipliedBy(10);
    return Stores.take(store, Stores.claim(Claims.freshName(), ttl, Duration.ZERO));
  }

  /** A machine that stands still for so long, on both clocks. */
  private void standStill(Duration pause) {
    time.jump(pause);
    time.jumpWall(pause);
  }

  /** Clocks that stand still but for the jumps, so that a slow machine changes nothing. */
  private static final class StillTime extends Stores.JumpingTime {
    private final long beganNanos = super.nanos();
    private final long beganMillis = super.wallMillis();

    @Override
    public long nanos() {
      return beganNanos + jumped().toNanos();
    }

    @Override
    public long wallMillis() {
      return beganMillis + jumped().toMillis();
    }
  }

  @Test
  void aSessionThatIsNewIsTrustedForAQuarterUntilTheFirstAnswerIsAQuarterOld() throws Exception {
    StillTime still = new StillTime();
    ZooKeeperStore store = closeLater(Stores.open(framework, "test", still, new Stores.Events()));
    Duration quarter = session.dividedBy(4);
    Grant grant = take(store);
    assertThat(grant.validFor()).isEqualTo(quarter);
    still.jump(quarter.minusMillis(1));
    assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(quarter));
    assertThat(store.verify(grant)).contains(quarter);
    still.jump(quarter);
    assertThat(store.renew(List.of(grant)))
        .containsExactly(new Renewal.Renewed(session.dividedBy(2)));
    store.release(grant, Duration.ZERO);

    // The next session is as new as the first one was.
    SessionKiller.expire(framework, ZooKeeperServer.address(server));
    Frameworks.awaitConnection(framework);
    Grant[] next = new Grant[1];
    Await.untilAnswered("the next session takes a lock", () -> {
      next[0] = take(store);
      return true;
    });
    assertThat(next[0].validFor()).isEqualTo(quarter);
    store.release(next[0], Duration.ZERO);
  }

  /** The first try finds that the lock has no node yet. */
  @Test
  void theTrustCountsFromTheWriteThatProvesItAndNotFromATryBefore() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore store = closeLater(Stores.open(far));
    Duration roundTrip = Duration.ofSeconds(1);
    proxy.delay(Link.Direction.REPLIES, roundTrip);
    Duration quarter = session.dividedBy(4);
    assertThat(take(store).validFor()).isGreaterThanOrEqualTo(quarter.plus(roundTrip));
    proxy.heal();
  }

  @Test
  void aGrantAfterAPauseIsTrustedForNoLongerThanTheSessionSurelyLives() throws Exception {
    ZooKeeperStore store = store();
    Duration pause = session.multipliedBy(62).dividedBy(100);
    standStill(pause);
    Grant grant = take(store);
    // The servers may have heard nothing of the session since the store was opened.
    assertThat(grant.validFor()).isPositive().isLessThanOrEqualTo(session.minus(pause));
    assertThat(Stores.renew(store, grant)).isLessThanOrEqualTo(session.minus(pause));
    // Long enough ago that the leader has heard of it.
    standStill(pause.plus(session.dividedBy(4)).plusMillis(100));
    assertThat(Stores.renew(store, grant)).satisfies(Stores.about(session.dividedBy(2)));
    store.release(grant, Duration.ZERO);
  }

  @Test
  void afterAPauseAsLongAsTheSessionNothingIsGrantedAtFirst() throws Exception {
    ZooKeeperStore store = store();
    Duration pause = session.multipliedBy(9).dividedBy(10);
    standStill(pause);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> take(store))
        .withMessageContaining("out of touch");
    Await.untilAnswered("what was not granted is gone", () -> store.nodes.all().isEmpty());
    standStill(pause.plus(session.dividedBy(4)).plusMillis(100));
    Grant grant = take(store);
    assertThat(grant.validFor()).satisfies(Stores.about(session.dividedBy(2)));
    store.release(grant, Duration.ZERO);
  }

  @Test
  void aWallClockThatIsSetAheadByMoreThanASessionCanLastCostsNothing() throws Exception {
    ZooKeeperStore store = store();
    Grant grant = take(store);
    standStill(session.dividedBy(4).plusMillis(100));
    time.jumpWall(HOUR);
    assertThat(Stores.renew(store, grant)).satisfies(Stores.about(session.dividedBy(2)));
    assertThat(store.verify(grant)).hasValueSatisfying(Stores.about(session.dividedBy(2)));
    store.release(grant, Duration.ZERO);
  }

  @Test
  void aWaiterWhoseMachineSleptAfterItWasWokenDoesNotTakeWhatIsAnothersByNow() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore sleeper = closeLater(Stores.open(far, "test", time, new Stores.Events()));
    ZooKeeperStore others = closeLater(Stores.open(framework));
    String name = Claims.freshName();
    Grant first = Stores.take(others, Stores.claim(name));
    CountDownLatch woken = new CountDownLatch(1);
    Acquisition.Queued queued = Stores.queue(sleeper, Stores.claim(name), woken::countDown);
    others.release(first, Duration.ZERO);
    assertThat(woken.await(30, TimeUnit.SECONDS)).isTrue();
    // Its lid is closed, its session ends, and another has the lock.
    proxy.blackhole();
    SessionKiller.end(Frameworks.handle(far), ZooKeeperServer.address(server));
    Grant second = Stores.take(others, Stores.claim(name));
    time.jumpWall(HOUR);
    boolean granted;
    try {
      granted = queued.ticket().poll() instanceof Ticket.Granted;
    } catch (StoreException e) {
      granted = false; // It asked, and was not answered.
    }
    assertThat(granted).as("whether the sleeper gets it").isFalse();
    assertThat(others.verify(second)).isPresent();
    proxy.heal();
    others.release(second, Duration.ZERO);
  }
}
