package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On three servers, one of which is killed, frozen or cut off. */
@Tag("nightly")
@Timeout(120)
class EnsembleTest {
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(8);

  /** The longest time that the locks may take to go on after an election. */
  private static final Duration PROGRESS_MAX = Duration.ofSeconds(10);

  private static Ensemble ensemble;

  private final List<AutoCloseable> closeables = new ArrayList<>();

  @BeforeAll
  static void start() {
    ensemble = new Ensemble();
  }

  @AfterAll
  static void stop() {
    if (ensemble != null) {
      ensemble.close();
    }
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

  private LockClient client(String addresses) {
    CuratorFramework framework = closeLater(Frameworks.open(addresses, SESSION_TIMEOUT));
    return closeLater(ZooKeeperLocks.builder(framework)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(6)))
        .build());
  }

  private List<String> contend(Contest contest, int clients, List<String> names) {
    List<String> contenders = new ArrayList<>();
    for (int i = 1; i <= clients; i++) {
      LockClient client = client(ensemble.address());
      for (String name : names) {
        String contender = "client " + i + " for " + name;
        contest.enter(contender, client, name);
        contenders.add(contender);
      }
    }
    return contenders;
  }

  @Test
  void contentionGoesOnWhenTheLeaderIsKilled() throws Exception {
    int leader = ensemble.leader();
    List<String> names = List.of(Claims.freshName(), Claims.freshName());
    List<String> namesOfTheDoomed =
        List.of(Claims.freshName(), Claims.freshName(), Claims.freshName());
    Contest contest = new Contest();
    // They know of the leader only, so their sessions end with it.
    for (String name : namesOfTheDoomed) {
      contest.enterToStay(
          "holder of " + name, client(ensemble.address(ensemble.port(leader))), name);
    }
    List<String> all = new ArrayList<>(names);
    all.addAll(namesOfTheDoomed);
    List<String> contenders = contend(contest, 3, all);
    for (String contender : contenders.stream().filter(c -> isFor(c, names)).toList()) {
      contest.awaitTurns(contender, 5);
    }
    for (String name : namesOfTheDoomed) {
      Await.untilAnswered(
          "there is a line for " + name, () -> ensemble.hasWatchOn(Stores.path(name)));
    }

    ensemble.kill(leader);
    assertThat(ensemble.leader()).isNotEqualTo(leader);
    long electedNanos = System.nanoTime();
    for (String name : names) {
      awaitTurn(contest, name, electedNanos, PROGRESS_MAX);
    }
    // The new leader gives each session its whole time once more.
    Duration sessionsEndMax = SESSION_TIMEOUT.multipliedBy(3).dividedBy(2);
    for (String name : namesOfTheDoomed) {
      awaitTurn(contest, name, electedNanos, sessionsEndMax.plus(PROGRESS_MAX));
    }
    for (String contender : contenders) {
      contest.awaitTurns(contender, 3);
    }
    contest.stop();
    ensemble.startAgain(leader);

    contest.assertThatNoTwoHeldALockAtOnce();
    contest.assertThatWhoLostWasTold();
    assertThat(contest.lost())
        .as("the turns of those whose sessions ended")
        .extracting(Contest.Turn::contender)
        .containsAll(namesOfTheDoomed.stream().map(name -> "holder of " + name).toList());
    LockClient last = client(ensemble.address());
    for (String name : all) {
      Lease lease = last.get(name).lockWithin(Duration.ofSeconds(30));
      assertThat(lease.token()).isGreaterThan(contest.highestToken(name));
      lease.close();
      Await.untilAnswered("no watch is left", () -> !ensemble.hasWatchOn(Stores.path(name)));
    }
  }

  private static boolean isFor(String contender, List<String> names) {
    return names.stream().anyMatch(contender::endsWith);
  }

  private static void awaitTurn(Contest contest, String name, long fromNanos, Duration max) {
    Await.untilAnswered("somebody has " + name, () -> contest.turnsAfter(name, fromNanos) > 0);
    Duration waited = Duration.ofNanos(contest.firstTurnAfter(name, fromNanos) - fromNanos);
    System.out.printf("first turn after the election: %d ms%n", waited.toMillis());
    assertThat(waited).as("time from the new leader to the first turn").isLessThan(max);
  }

  @Test
  void contentionGoesOnWhenAFollowerIsFrozen() throws Exception {
    String name = Claims.freshName();
    Contest contest = new Contest();
    List<String> contenders = contend(contest, 4, List.of(name));
    contenders.forEach(contender -> contest.awaitTurns(contender, 5));
    int follower = ensemble.follower();
    ensemble.pause(follower);
    try {
      contenders.forEach(contender -> contest.awaitTurns(contender, 5));
    } finally {
      ensemble.resume(follower);
    }
    contenders.forEach(contender -> contest.awaitTurns(contender, 5));
    contest.stop();
    contest.assertThatNoTwoHeldALockAtOnce();
    contest.assertThatWhoLostWasTold();
  }

  @Test
  void aHolderAtAFrozenFollowerStopsBelievingBeforeAnotherHasTheLock() {
    int follower = ensemble.follower();
    String name = Claims.freshName();
    LockClient there = client(ensemble.address(ensemble.port(follower)));
    LockClient elsewhere = client(ensemble.address(ensemble.port(ensemble.leader())));
    Lease lease = there.get(name).tryLock().orElseThrow();
    AtomicReference<Boolean> believed = new AtomicReference<>();
    ensemble.pause(follower);
    try {
      Await.untilAnswered("another has it", () -> {
        try {
          return elsewhere
              .get(name)
              .tryLock()
              .map(next -> {
                believed.set(lease.isHeld());
                assertThat(next.token()).isGreaterThan(lease.token());
                next.close();
                return true;
              })
              .orElse(false);
        } catch (LockStoreException e) {
          return false;
        }
      });
    } finally {
      ensemble.resume(follower);
    }
    assertThat(believed.get()).as("isHeld() while another has the lock").isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  void aHolderThatIsCutOffLearnsOfItAndBlocksNobodyForLongerThanItsBound() {
    FaultProxy proxy =
        closeLater(FaultProxy.open(ensemble.host(), ensemble.port(ensemble.follower())));
    String name = Claims.freshName();
    LockClient far = client(proxy.host() + ":" + proxy.port());
    LockClient near = client(ensemble.address());
    Lease lease = far.get(name).tryLock().orElseThrow();
    AtomicBoolean told = new AtomicBoolean();
    lease.onLost(loss -> told.set(true));
    proxy.blackhole();
    long beganNanos = System.nanoTime();
    AtomicReference<Boolean> believed = new AtomicReference<>();
    Await.untilAnswered("another has it", () -> {
      try {
        return near.get(name)
            .tryLock()
            .map(next -> {
              believed.set(lease.isHeld());
              next.close();
              return true;
            })
            .orElse(false);
      } catch (LockStoreException e) {
        return false;
      }
    });
    assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
        .isLessThan(lease.crashBound().plusSeconds(5));
    assertThat(believed.get()).as("isHeld() while another has the lock").isFalse();
    Await.untilAnswered("the holder is told", told::get);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  void aSessionThatExpiredAtTheServersIsToldToItsHolder() throws Exception {
    CuratorFramework framework = closeLater(Frameworks.open(ensemble.address(), SESSION_TIMEOUT));
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    Lease lease = client.get(Claims.freshName()).tryLock().orElseThrow();
    AtomicBoolean told = new AtomicBoolean();
    lease.onLost(loss -> told.set(true));
    SessionKiller.expire(framework, ensemble.address());
    Await.untilAnswered("the holder is told", told::get);
    assertThat(lease.isHeld()).isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Test
  @Tag("soak")
  void aHolderThatWasOutOfTouchAndIsThenCutOffStopsBelievingBeforeAnotherHasTheLock()
      throws Exception {
    int follower = ensemble.follower();
    FaultProxy proxy = closeLater(FaultProxy.open(ensemble.host(), ensemble.port(follower)));
    Duration session = Duration.ofSeconds(20);
    CuratorFramework framework =
        closeLater(Frameworks.open(proxy.host() + ":" + proxy.port(), session));
    LockClient far = closeLater(ZooKeeperLocks.builder(framework)
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(60)))
        .build());
    LockClient near = client(ensemble.address(ensemble.port(ensemble.leader())));
    String name = Claims.freshName();
    far.get(Claims.freshName()).tryLock().orElseThrow().close();
    // What the client sends is held up for nearly as long as it puts up with.
    proxy.hold(Link.Direction.REQUESTS);
    Thread.sleep(session.multipliedBy(6).dividedBy(10).toMillis());
    proxy.heal();
    Lease lease = far.get(name).tryLock().orElseThrow();
    // Before the follower's next report to the leader, more often than not.
    ensemble.pause(follower);
    try {
      Lease next = near.get(name).lockWithin(session.multipliedBy(2));
      assertThat(lease.isHeld()).as("isHeld() while another has the lock").isFalse();
      next.close();
    } finally {
      ensemble.resume(follower);
    }
  }
}
