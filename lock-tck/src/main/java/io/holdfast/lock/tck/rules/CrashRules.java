package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.SkewedTime;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Chapter 9: crashes, restarts, clocks, and stores that are slow. */
public abstract class CrashRules extends RuleTest {
  /** The store timeout of tests whose store is slow: long beside the pauses of a busy machine. */
  private static final Duration SLOW_STORE_TIMEOUT = Duration.ofSeconds(6);

  /** Called by JUnit. */
  protected CrashRules() {}

  private List<String> takeIn(ChildProcess child, String name) {
    return child.ask(LONG, "lock", name, "renewed", ttl().toMillis(), 0, LONG.toMillis());
  }

  @Rule("L-9.1")
  @Requires(Capability.CHILD_PROCESSES)
  @Test
  void aKilledHoldersLockIsFreeAfterItsCrashBoundAndNotBefore() {
    String name = freshName();
    LockClient other = client();
    ChildProcess child = timedChild();
    List<String> granted = takeIn(child, name);
    assertThat(granted.get(0)).isEqualTo("granted");
    long token = Long.parseLong(granted.get(1));
    Duration crashBound = Duration.ofMillis(Long.parseLong(granted.get(3)));
    assertThat(crashBound).as("crashBound()").isGreaterThanOrEqualTo(Duration.ofSeconds(1));
    assertTaken(other, name, "held by the child");

    long asked = System.nanoTime();
    List<String> held = child.ask(LONG, "held");
    assertThat(held.get(1)).isEqualTo("true");
    Duration remaining = Duration.ofMillis(Long.parseLong(held.get(2)));
    child.kill();
    long killed = System.nanoTime();

    Lease next = takeWhenFree(other, name, crashBound.plus(slack()));
    assertThat(since(asked))
        .as("time to the next grant, where the killed holder believed to have %s", remaining)
        .isGreaterThanOrEqualTo(remaining);
    assertThat(since(killed)).isLessThan(crashBound.plus(slack()));
    assertThat(next.token()).isGreaterThan(token);
    next.close();
  }

  @Rule("L-9.1")
  @Requires(Capability.CHILD_PROCESSES)
  @Test
  void aKilledHoldersLockIsFreeForWhoAsksOnceAndLate() {
    String name = freshName();
    ChildProcess child = timedChild();
    Duration crashBound = Duration.ofMillis(Long.parseLong(takeIn(child, name).get(3)));
    pause(ttl().multipliedBy(2)); // for what the holder does only after a while
    child.kill();
    pause(crashBound.plus(slack()));
    take(client().get(name)).close();
  }

  @Rule("L-9.1")
  @Requires(Capability.CHILD_PROCESSES)
  @Test
  void aKilledWaiterLeavesNothing() {
    String name = freshName();
    LockClient holder = client();
    LockClient other = client();
    Lease lease = take(holder.get(name, lasting()));
    ChildProcess child = timedChild();
    child.send("lock", name, "renewed", ttl().toMillis(), 0, LONG_TTL.toMillis());
    pause(quiet()); // it asks, and waits
    child.kill();
    long start = System.nanoTime();
    lease.close();
    Duration bound = lease.crashBound().compareTo(ttl()) < 0 ? ttl() : lease.crashBound();
    Duration patience = bound.compareTo(LONG) < 0 ? bound : ttl();
    takeWhenFree(other, name, patience.plus(slack())).close();
    assertThat(since(start)).isLessThan(patience.plus(slack()).plus(slack()));
  }

  @Rule("L-9.2")
  @Requires(Capability.CHILD_PROCESSES)
  @Test
  void aProcessThatWasFrozenPastItsDeadlineKnowsThatItLostTheLock() {
    String name = freshName();
    LockClient other = client();
    ChildProcess child = timedChild();
    List<String> granted = takeIn(child, name);
    assertThat(granted.get(0)).isEqualTo("granted");
    Duration crashBound = Duration.ofMillis(Long.parseLong(granted.get(3)));
    child.freeze();
    Lease next = takeWhenFree(other, name, crashBound.plus(slack()));
    child.thaw();
    List<String> held = child.ask(LONG, "held");
    assertThat(held.get(1))
        .as("isHeld() of a process that was frozen past its TTL")
        .isEqualTo("false");
    assertThat(child.ask(LONG, "close")).as("close() after that").containsExactly("lost");
    next.verify();
    assertTaken(client(), name, "held by the next client");
    next.close();
    eventually(
        "a later acquire by the process that was frozen, once it has reached the store again",
        slack(),
        () -> takeIn(child, name).get(0).equals("granted"));
    assertThat(child.ask(LONG, "close")).containsExactly("closed");
  }

  @Rule("L-9.2")
  @Requires({Capability.CHILD_PROCESSES, Capability.GUARDED_WRITES})
  @Test
  void theGuardedWriteOfAProcessThatWasFrozenIsRefused() throws Exception {
    String name = freshName();
    GuardedWrites writes = fixture().guardedWrites();
    String log = newLog(writes);
    LockClient other = client();
    ChildProcess child = timedChild();
    List<String> granted = takeIn(child, name);
    assertThat(child.ask(LONG, "append", log, "before")).containsExactly("appended");
    Duration crashBound = Duration.ofMillis(Long.parseLong(granted.get(3)));
    child.freeze();
    Lease next = takeWhenFree(other, name, crashBound.plus(slack()));
    writes.append(log, next, "by-the-next");
    child.thaw();
    assertThat(child.ask(LONG, "append", log, "stale"))
        .as("a guarded write by a process that was frozen past its TTL")
        .containsExactly("refused");
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .containsExactly("before", "by-the-next");
    next.close();
  }

  @Rule("L-9.3")
  @Requires({Capability.SERVER_RESTART, Capability.DURABLE})
  @Alone
  @Test
  void aServerThatWasKilledStillKnowsTheHolder() throws Exception {
    String name = freshName();
    LockClient holder = timedClient();
    LockClient other = timedClient();
    Lease lease = take(holder.get(name, lasting()));
    killAndStart();
    takeDespiteFailures(other, freshName(), LONG).close();
    Optional<Lease> others = other.get(name).tryLock();
    assertThat(others.isPresent() && lease.isHeld())
        .as("Unsafe: the lease from before the kill and that of another client are held")
        .isFalse();
    assertThat(others)
        .as("tryLock() by another client after the kill; the lease is %s", lease.state())
        .isEmpty();
    eventuallyAnswered(LONG, lease::verify);
    lease.close();
    Lease next = takeWhenFree(other, name, slack());
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
  }

  @Rule("L-9.3")
  @Requires(Capability.SERVER_RESTART)
  @Alone
  @Test
  void tokensRiseOverARestartOfTheServer() throws Exception {
    String name = freshName();
    LockClient client = timedClient();
    LockClient other = timedClient();
    Lease before = take(client.get(name));
    before.close();
    killAndStart();
    Lease after = takeDespiteFailures(other, name, LONG);
    assertThat(after.token()).as("a token after the restart").isGreaterThan(before.token());
    after.close();
  }

  private void killAndStart() throws Exception {
    closeLater(() -> {
      fixture().startServer();
      takeDespiteFailures(timedClient(), freshName(), LONG).close();
    });
    fixture().killServer();
    fixture().startServer();
  }

  @Rule("L-9.4")
  @Requires(Capability.SERVER_PAUSE)
  @Alone
  @Test
  void aServerThatAnswersNobodyForLongerThanTheTtlCostsTheLeaseAndNothingElse() throws Exception {
    String name = freshName();
    LockClient holder = timedClient();
    LockClient other = timedClient();
    Lease lease = take(holder.get(name));
    take(other.get(freshName())).close();
    closeLater(fixture()::resumeServer);
    fixture().pauseServer();
    long start = System.nanoTime();
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> other.get(name).tryLock().isPresent());
    assertThat(since(start))
        .as("time in tryLock() while the server is paused")
        .isLessThan(timing().storeTimeout().plus(slack()));
    eventually("the lease ends at its deadline", ttl().plus(slack()), () -> !lease.isHeld());
    fixture().resumeServer();
    takeDespiteFailures(other, name, ttl().plus(Duration.ofSeconds(10))).close();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Rule("L-9.4")
  @Requires(Capability.SERVER_PAUSE)
  @Alone
  @Test
  void aShortPauseOfTheServerCostsNothing() throws Exception {
    Duration ttl = ttl().multipliedBy(4);
    LockClient holder = timedClient();
    Lease lease = take(holder.get(freshName(), renewed().withTtl(ttl)));
    // Longer than until the first renewal, and well within the time left, which some stores make
    // shorter than the TTL.
    Duration trusted = lease.remaining().multipliedBy(2).dividedBy(3);
    Duration pause = trusted.compareTo(ttl.dividedBy(2)) < 0 ? trusted : ttl.dividedBy(2);
    closeLater(fixture()::resumeServer);
    fixture().pauseServer();
    never("the lease ends in a short pause", pause, () -> !lease.isHeld());
    fixture().resumeServer();
    never("the lease ends after a short pause", ttl, () -> !lease.isHeld());
    lease.verify();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Rule("L-9.5")
  @Test
  void aWallClockThatIsSetBackChangesNothing() {
    SkewedTime time = new SkewedTime();
    LockClient client = client(builder -> timed(builder).timeSource(time));
    LockClient other = client();
    Lease lease = take(client.get(freshName()));
    time.setWallAhead(Duration.ofHours(-1));
    never(
        "the lease is in doubt",
        ttl().plus(quiet()),
        () -> !lease.isHeld() || lease.state() != LeaseState.HELD);
    assertTaken(other, lease.name(), "the wall clock was set back");
    lease.verify();
    lease.close();
    take(other.get(lease.name())).close();
  }

  @Rule("L-9.5")
  @Test
  void aWallClockThatRanAheadPutsALeaseInDoubtUntilItIsVerified() {
    SkewedTime time = new SkewedTime();
    LockClient client = client(builder -> builder.timeSource(time));
    LockClient other = client();
    Lease lease = take(client.get(freshName(), lasting()));
    time.setWallAhead(Duration.ofHours(1));
    assertThat(lease.isHeld()).as("isHeld() after the wall clock ran ahead").isFalse();
    lease.verify();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(lease.isHeld()).isTrue();
    assertTaken(other, lease.name(), "verified");
    lease.close();
    take(other.get(lease.name())).close();
  }

  @Rule("L-9.5")
  @Requires(Capability.FAULTS)
  @Test
  void aLeaseInDoubtStaysSoWhileNobodyCanVerifyIt() {
    SkewedTime time = new SkewedTime();
    Link link = link();
    LockClient client = client(link, builder -> timed(builder).timeSource(time));
    Duration ttl = ttl().multipliedBy(4);
    Lease lease = take(client.get(freshName(), renewed().withTtl(ttl)));
    link.refuse();
    time.setWallAhead(Duration.ofHours(1));
    never("the lease is trusted", quiet(), lease::isHeld);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.remaining()).isZero();
    link.heal();
    eventually("the client verifies it by itself", ttl, lease::isHeld);
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Rule("L-9.5")
  @Test
  void closingALeaseThatTheWallClockPutInDoubtIsNoLoss() {
    SkewedTime time = new SkewedTime();
    LockClient client = client(builder -> builder.timeSource(time));
    Lease lease = take(client.get(freshName(), lasting()));
    time.setWallAhead(Duration.ofHours(1));
    assertThat(lease.isHeld()).isFalse();
    assertThatCode(lease::close)
        .as("close() of a lease in doubt that stands at the store")
        .doesNotThrowAnyException();
    take(client().get(lease.name())).close();
  }

  @Rule("L-9.7")
  @Requires(Capability.FAULTS)
  @Test
  void aStoreThatAnswersLateCostsTimeAndNothingElse() {
    Link link = link();
    List<String> renewed = new CopyOnWriteArrayList<>();
    LockListener listener = new LockListener() {
      @Override
      public void renewed(LeaseEvent event) {
        renewed.add(event.lockName());
      }
    };
    List<LockClient> clients = Stream.generate(() -> client(
            link,
            builder -> builder
                .storeTimeout(SLOW_STORE_TIMEOUT)
                .defaultOptions(LockOptions.renewed(SLOW_STORE_TIMEOUT.multipliedBy(3)))
                .addListener(listener)))
        .limit(2)
        .toList();
    // Slow enough for the threads to need their connections at the same time. There are more of
    // them than later, when each request takes longer and so meets more of the others.
    delay(link, SLOW_STORE_TIMEOUT.dividedBy(60));
    useEverything(List.of(clients.get(1), clients.get(0)), 6).close();
    Lease lease = useEverything(clients, 6);
    Lease other = take(clients.get(1).get(freshName()));
    // So each client has the connections that it renews with; what it sets up after its first
    // renewal, too.
    eventually(
        "both are renewed twice",
        LONG,
        () -> Stream.of(lease, other)
            .allMatch(one -> Collections.frequency(renewed, one.name()) > 1));
    other.close();
    long connections = link.connectionsMade();

    delay(link, SLOW_STORE_TIMEOUT.dividedBy(4));
    useEverything(clients, 2).close();
    renewed.clear();
    eventually("the lease is renewed", LONG, () -> renewed.contains(lease.name()));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
    // A pool may open some of its own accord.
    assertThat(link.connectionsMade() - connections)
        .as("connections that were opened since answers came late")
        .isLessThanOrEqualTo(2);
  }

  /** Sets the time from a request to its answer. */
  private static void delay(Link link, Duration roundTrip) {
    link.delay(Link.Direction.REQUESTS, roundTrip.dividedBy(2));
    link.delay(Link.Direction.REPLIES, roundTrip.dividedBy(2));
  }

  /**
   * Takes free locks of the first client on some threads at once, and has the second wait for one
   * until that is released. Returns a lease.
   */
  private Lease useEverything(List<LockClient> clients, int threads) {
    Lease handedOver = onAnotherThread(() -> take(clients.get(0).get(freshName())));
    Worker<Boolean> waiting =
        startStep(() -> clients.get(1).get(handedOver.name()).lock().close());
    List<Worker<Boolean>> working = Stream.generate(() -> startStep(() -> {
          for (int i = 0; i < 3; i++) {
            take(clients.get(0).get(freshName())).close();
          }
        }))
        .limit(threads)
        .toList();
    working.forEach(worker -> worker.get(LONG));
    Lease lease = take(clients.get(0).get(freshName()));
    handedOver.close();
    waiting.get(LONG);
    return lease;
  }
}
