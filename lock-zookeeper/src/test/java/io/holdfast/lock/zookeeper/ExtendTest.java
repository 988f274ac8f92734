package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Fixed leases that are given more time; on one server. */
class ExtendTest extends ServerTest {
  private static final Duration TTL = Duration.ofSeconds(15);

  /** More than a session is trusted for. */
  private static final Duration LONG = Duration.ofMinutes(10);

  private final Stores.JumpingTime time = new Stores.JumpingTime();
  private CuratorFramework framework;
  private ZooKeeperStore store;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    // Opened so long ago that its session is not new.
    time.jump(Frameworks.SESSION_TIMEOUT.dividedBy(3).negated());
    store = closeLater(Stores.open(framework, "test", time, new Stores.Events()));
    time.jump(Duration.ZERO);
  }

  private static Grant take(ZooKeeperStore store, Duration ttl) throws StoreException {
    return Stores.take(store, Stores.claim(Claims.freshName(), ttl, Duration.ZERO));
  }

  private boolean isThere(Grant grant) throws Exception {
    return framework.checkExists().forPath(((ZooKeeperGrant) grant).node().path()) != null;
  }

  private Duration trusted() throws Exception {
    return Duration.ofMillis(Frameworks.handle(framework).getSessionTimeout()).dividedBy(2);
  }

  /** Lets time pass, during which the servers hear of the session. */
  private void passUntil(Duration end, Grant grant) throws StoreException {
    for (Duration passed = time.jumped();
        passed.compareTo(end) < 0;
        passed = passed.plusSeconds(2)) {
      time.jump(passed);
      assertThat(store.verify(grant)).isPresent();
    }
    time.jump(end);
  }

  @Test
  void anExtendedGrantStandsUntilItsNewEndAndNoLonger() throws Exception {
    Grant extended = take(store, TTL);
    Grant other = take(store, TTL);
    Duration more = Duration.ofSeconds(60);
    long beganNanos = System.nanoTime();
    assertThat(store.extend(extended, more)).hasValueSatisfying(Stores.about(trusted()));
    passUntil(TTL.plusSeconds(1), extended);
    // Both are looked at together.
    Await.untilAnswered("the other is deleted at its end", () -> !isThere(other));
    assertThat(isThere(extended)).isTrue();
    assertThat(store.verify(extended)).hasValueSatisfying(Stores.about(trusted()));
    assertThat(store.verify(other)).isEmpty();
    passUntil(more.minusSeconds(15), extended);
    // What passed by itself on the way there.
    Duration elapsed = Duration.ofNanos(System.nanoTime() - beganNanos);
    passUntil(more.minusSeconds(5).minus(elapsed), extended);
    assertThat(store.verify(extended))
        .hasValueSatisfying(
            left -> assertThat(left).isBetween(Duration.ofMillis(1), Duration.ofSeconds(5)));
    time.jump(more.plusSeconds(1));
    assertThat(store.verify(extended)).isEmpty();
    Await.untilAnswered("it is deleted at its new end", () -> !isThere(extended));
  }

  @Test
  void anExtensionByLessThanIsLeftShortensNothing() throws Exception {
    Duration ttl = Duration.ofSeconds(9);
    Grant grant = take(store, ttl);
    Duration less = Duration.ofSeconds(2);
    assertThat(store.extend(grant, less))
        .hasValueSatisfying(left -> assertThat(left).isGreaterThan(less).isLessThanOrEqualTo(ttl));
    assertThat(store.verify(grant))
        .hasValueSatisfying(left -> assertThat(left).isGreaterThan(less));
    store.release(grant, Duration.ZERO);
  }

  @Test
  void extendingIsOneRequest() throws Exception {
    Grant grant = take(store, TTL);
    int before = Xids.sent(Frameworks.handle(framework));
    assertThat(store.extend(grant, LONG)).isPresent();
    assertThat(Xids.sent(Frameworks.handle(framework)) - before).isEqualTo(1);
    store.release(grant, Duration.ZERO);
  }

  @Test
  void ofGrantsThatAreVerifiedTogetherTheOneThatWasTakenAwayDoesNotStand() throws Exception {
    List<Grant> grants = List.of(take(store, TTL), take(store, TTL), take(store, TTL));
    Grant taken = grants.get(1);
    assertThat(store.forceRelease(taken.claim().key(), taken.number())).isTrue();
    assertThat(store.verifyAll(grants))
        .extracting(Optional::isPresent)
        .containsExactly(true, false, true);
    store.release(grants.get(0), Duration.ZERO);
    store.release(grants.get(2), Duration.ZERO);
  }

  @Test
  void aGrantWhoseSessionEndedIsNotRevived() throws Exception {
    Grant grant = take(store, LONG);
    SessionKiller.expire(framework, ZooKeeperServer.address(server));
    Await.untilAnswered(
        "its session is seen to be over", () -> store.extend(grant, LONG).isEmpty());
    assertThat(isThere(grant)).isFalse();
    assertThat(store.verify(grant)).isEmpty();
  }

  @Test
  void aGrantThatEndedOrWasReleasedIsNotExtended() throws Exception {
    Grant ended = take(store, TTL);
    time.jump(TTL.plusMillis(1));
    assertThat(store.extend(ended, LONG)).isEmpty();
    Await.untilAnswered("it is deleted all the same", () -> !isThere(ended));
    Grant released = take(store, TTL);
    assertThat(store.release(released, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(store.extend(released, LONG)).isEmpty();
  }

  @Test
  void anExtensionThatIsNotAnsweredLeavesTheEndWhereItWas() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore farStore = closeLater(Stores.open(far, "test", time, new Stores.Events()));
    Duration ttl = Duration.ofSeconds(40);
    Grant grant = take(farStore, ttl);
    proxy.hold(Link.Direction.REPLIES);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> farStore.extend(grant, LONG).isPresent());
    proxy.heal();
    Await.untilAnswered("it is known to stand", () -> farStore.verify(grant).isPresent());
    time.jump(ttl);
    Optional<Duration> left = farStore.verify(grant);
    assertThat(left).isEmpty();
    Await.untilAnswered("it is deleted at its end", () -> !isThere(grant));
  }

  @Test
  void anExtendedGrantThatIsReleasedLeavesItsMark() throws Exception {
    Duration hold = Duration.ofSeconds(30);
    Claim claim = Stores.claim(Claims.freshName(), TTL, hold);
    Grant grant = Stores.take(store, claim);
    assertThat(store.extend(grant, LONG)).isPresent();
    assertThat(store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(framework.getChildren().forPath(Stores.path(claim.key().name())))
        .containsExactly(Names.ofMark(grant.number()));
    assertThat(store.forceRelease(claim.key(), grant.number())).isTrue();
  }
}
