package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.SkewedTime;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/**
 * Chapter 6, of a store whose answer comes late or not at all, and of a machine that sleeps
 * meanwhile.
 */
public abstract class LateAnswerRules extends RuleTest {

  /** Called by JUnit. */
  protected LateAnswerRules() {}

  @Rule("L-6.3")
  @Requires(Capability.FAULTS)
  @Test
  void anUnreachableStoreIsNeitherBusyNorAGrant() {
    Link link = link();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    Duration bound = timing().storeTimeout().plus(slack());

    link.refuse();
    long start = System.nanoTime();
    assertThatExceptionOfType(LockStoreException.class)
        .as("tryLock() while connections are refused")
        .isThrownBy(() -> client.get(freshName()).tryLock().isPresent())
        .satisfies(e -> assertThat(e).hasMessageNotContaining("busy"));
    assertThat(since(start)).isLessThan(bound);
    assertThatExceptionOfType(LockStoreException.class)
        .as("tryLock(Duration) while connections are refused")
        .isThrownBy(() -> client.get(freshName()).tryLock(quiet()).isPresent());
    assertThatExceptionOfType(LockStoreException.class)
        .as("inspect() while connections are refused")
        .isThrownBy(() -> client.get(freshName()).inspect().isPresent());
    link.heal();
    takeDespiteFailures(client, freshName(), slack().multipliedBy(2)).close();

    link.blackhole();
    start = System.nanoTime();
    assertThatExceptionOfType(LockStoreException.class)
        .as("tryLock() while nothing is answered")
        .isThrownBy(() -> client.get(freshName()).tryLock().isPresent());
    assertThat(since(start)).isLessThan(bound);
    link.heal();
    takeDespiteFailures(client, freshName(), slack().multipliedBy(2)).close();
  }

  @Rule("L-6.3")
  @Requires(Capability.FAULTS)
  @Test
  void aWaiterLearnsThatTheStoreIsGone() {
    Link link = link();
    LockClient client = client(link, this::timed);
    DistributedLock lock = client().get(freshName());
    Lease lease = take(lock.with(lasting()));
    Duration wait = timing().storeTimeout().multipliedBy(2);
    Worker<Optional<Lease>> waiting = start(() -> client.get(lock.name()).tryLock(wait));
    awaitWaiting(waiting);
    link.blackhole();
    assertThat(waiting.failure(wait.plus(timing().storeTimeout()).plus(slack())))
        .isInstanceOf(LockStoreException.class);
    link.heal();
    lease.close();
  }

  @Rule("L-6.9")
  @Requires(Capability.FAULTS)
  @Test
  void anAcquireWhoseAnswerIsLostNeverBlocksTheNameForLongerThanATtl() {
    LockClient other = client();
    List<Worker<?>> attempts = new ArrayList<>();
    // Tries several, since a driver may send other requests before the acquire.
    for (int n = 1; n <= 4; n++) {
      int nth = n;
      attempts.add(startStep(() -> loseTheAnswerOf(nth, other)));
    }
    attempts.forEach(attempt -> attempt.get(LONG));
  }

  private void loseTheAnswerOf(int nth, LockClient other) throws InterruptedException {
    Link link = link();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    String name = freshName();
    link.dropReply(nth);
    Optional<Lease> lease;
    try {
      lease = client.get(name).tryLock(quiet());
    } catch (LockStoreException e) {
      lease = Optional.empty();
    }
    link.heal();
    if (lease.isPresent()) {
      Lease held = lease.get();
      assertTaken(other, name, "granted although an answer was lost");
      held.verify();
      held.close();
      take(other.get(name)).close();
    } else {
      takeWhenFree(other, name, ttl().plus(slack())).close();
    }
  }

  @Rule("L-6.9")
  @Requires(Capability.FAULTS)
  @Test
  void anAcquireThatArrivesLateNeverBlocksTheNameForLongerThanATtl() {
    LockClient other = client();
    Link link = link();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    String name = freshName();
    link.hold(Link.Direction.REQUESTS);
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client.get(name).tryLock().isPresent());
    link.heal(); // The request arrives now, when nobody wants the lock any more.
    Lease lease = takeWhenFree(other, name, ttl().plus(slack()));
    never("the late request takes the lock", quiet(), () -> !isHolder(other.get(name), lease));
    lease.close();
    eventually(
        "the name stays free of the late request",
        ttl().plus(slack()),
        () -> other.get(name).inspect().isEmpty());
  }

  @Rule("L-6.11")
  @Requires(Capability.FAULTS)
  @Test
  void whoStandsBehindAFailingThreadFailsToo() {
    Link link = link();
    LockClient client = client(link, this::timed);
    String name = freshName();
    Lease lease = take(client().get(name, lasting()));
    Duration wait = timing().storeTimeout().multipliedBy(2);
    List<Worker<Optional<Lease>>> waiting = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Worker<Optional<Lease>> one = start(() -> client.get(name).tryLock(wait.plus(slack())));
      awaitWaiting(one);
      waiting.add(one);
    }
    link.blackhole();
    for (Worker<Optional<Lease>> one : waiting) {
      assertThat(one.failure(wait.plus(slack()).plus(timing().storeTimeout()).plus(slack())))
          .isInstanceOf(LockStoreException.class);
    }
    link.heal();
    lease.close();
  }

  @Rule("L-6.1")
  @Requires(Capability.FAULTS)
  @Test
  void whileAnotherLocalThreadGetsTheLockItIsBusy() {
    Link link = link();
    LockClient client = client(link);
    take(client.get(freshName())).close();
    DistributedLock lock = client.get(freshName());
    link.hold(Link.Direction.REPLIES);
    long before = link.requests();
    // Either of them may be the one that asks the store.
    Worker<Boolean> one = start(() -> lock.tryLock().isPresent());
    eventually("the request is on its way", LONG, () -> link.requests() > before);
    Worker<Boolean> other = start(() -> lock.tryLock().isPresent());
    pause(Duration.ofMillis(10));
    link.heal();
    assertThat(List.of(one.get(LONG), other.get(LONG)))
        .as("which tryLock() got the lock")
        .containsOnlyOnce(true)
        .containsOnlyOnce(false);
  }

  @Rule("L-6.3")
  @Requires(Capability.FAULTS)
  @Test
  void whoAsksWhileAQuestionIsOnItsWayThatFailsIsNotToldBusy() {
    Link link = link();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    DistributedLock lock = client.get(freshName());
    Duration timeout = timing().storeTimeout();
    link.hold(Link.Direction.REQUESTS);
    long before = link.requests();
    Map<String, Worker<Boolean>> asking = new LinkedHashMap<>();
    asking.put("the first that asks", start(() -> lock.tryLock().isPresent()));
    eventually("the request is on its way", LONG, () -> link.requests() > before);
    asking.put("tryLock()", start(() -> lock.tryLock().isPresent()));
    asking.put("tryLock(0)", start(() -> lock.tryLock(Duration.ZERO).isPresent()));
    asking.put("a wait", start(() -> lock.tryLock(timeout.dividedBy(4)).isPresent()));
    Duration bound = timeout.multipliedBy(2).plus(slack());
    asking.forEach((call, worker) ->
        assertThat(outcome(worker, bound)).as("what %s ends with", call).isEqualTo("store failed"));
    link.heal();
    takeDespiteFailures(client, freshName(), slack().multipliedBy(2)).close();
  }

  @Rule("L-6.3")
  @Requires(Capability.FAULTS)
  @Test
  void whoWaitsWhileAReleaseHangsAndFailsIsNotToldBusy() {
    Link link = link();
    // Otherwise the lease could be handed on, and there would be no release.
    LockClient client = client(link, builder -> timed(builder).localHandOff(false));
    DistributedLock lock = client.get(freshName(), lasting());
    Lease lease = take(lock);
    Duration timeout = timing().storeTimeout();
    link.hold(Link.Direction.REQUESTS);
    long before = link.requests();
    Worker<Boolean> closing = startStep(lease::close);
    eventually("the release is on its way", LONG, () -> link.requests() > before);
    Worker<Boolean> waiting = start(() -> lock.tryLock(timeout.dividedBy(4)).isPresent());
    Duration bound = timeout.multipliedBy(2).plus(slack());
    assertThat(outcome(waiting, bound))
        .as("what a wait ends with while the release hangs")
        .isEqualTo("store failed");
    assertThat(closing.get(bound)).isTrue();
    link.heal();
    takeWhenFree(client(), lock.name(), slack().multipliedBy(2)).close();
  }

  /** Returns the outcome of a call as text. */
  private static String outcome(Worker<Boolean> asking, Duration within) {
    try {
      return asking.get(within) ? "a lease" : "busy";
    } catch (AssertionError e) {
      if (e.getCause() instanceof LockStoreException) {
        return "store failed";
      }
      throw e;
    }
  }

  @Rule("L-6.13")
  @Requires(Capability.TAP)
  @Test
  void whatAnAcquireReturnsIsHeldEvenIfTheMachineSleptMeanwhile() throws InterruptedException {
    Sleeper sleeper = new Sleeper();
    Map<String, Acquire> siblings = new LinkedHashMap<>();
    siblings.put("tryLock()", lock -> isHeld(lock.tryLock().orElseThrow()));
    siblings.put("tryLock(Duration)", lock -> isHeld(lock.tryLock(LONG).orElseThrow()));
    siblings.put("lockWithin", lock -> isHeld(lock.lockWithin(LONG)));
    siblings.put("lock", lock -> isHeld(lock.lock()));
    siblings.put("call", lock -> lock.call(Lease::isHeld));
    siblings.put("tryCall", lock -> lock.tryCall(Lease::isHeld).orElseThrow());
    siblings.put("tryCall(Duration)", lock -> lock.tryCall(LONG, Lease::isHeld).orElseThrow());
    siblings.put("asLock", lock -> {
      Lock owned = lock.asLock();
      owned.lock();
      try {
        return lock.isHeldByCurrentThread();
      } finally {
        owned.unlock();
      }
    });
    for (Map.Entry<String, Acquire> sibling : siblings.entrySet()) {
      sleeper.sleepBeforeTheNextAnswer(() -> {});
      assertThat(sibling.getValue().isHeld(sleeper.client.get(freshName())))
          .as("isHeld() of what %s gave while the machine slept", sibling.getKey())
          .isTrue();
    }
  }

  private interface Acquire {
    boolean isHeld(DistributedLock lock) throws InterruptedException;
  }

  private static boolean isHeld(Lease lease) {
    boolean held = lease.isHeld() && lease.state() == LeaseState.HELD;
    lease.close();
    return held;
  }

  @Rule("L-6.13")
  @Requires(Capability.TAP)
  @Test
  void aLockThatWasTakenWhileTheMachineSleptIsAskedForAgain() {
    Sleeper sleeper = new Sleeper();
    DistributedLock lock = sleeper.client.get(freshName());
    Slot<Lease> next = sleeper.sleepWhileItIsTaken(lock.name());
    Worker<Lease> waiting = start(lock::lock);
    eventually("another client takes the lock", LONG, next::isSet);
    never("lock() returns while another client has the lock", quiet(), waiting::isDone);
    next.get().verify();
    next.get().close();
    Lease lease = waiting.get(slack());
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.token()).isGreaterThan(next.get().token());
    lease.close();
  }

  @Rule("L-6.13")
  @Requires(Capability.TAP)
  @Test
  void tryLockGetsNothingThatWasTakenWhileTheMachineSlept() {
    Sleeper sleeper = new Sleeper();
    DistributedLock lock = sleeper.client.get(freshName());
    Slot<Lease> next = sleeper.sleepWhileItIsTaken(lock.name());
    Optional<Lease> lease;
    try {
      lease = lock.tryLock();
    } catch (LockStoreException e) {
      lease = Optional.empty(); // Correct too: no usable answer came in time.
    }
    assertThat(lease)
        .as("what tryLock() gives while another client has the lock")
        .isEmpty();
    next.get().verify();
    next.get().close();
  }

  @Rule("L-6.14")
  @Requires(Capability.TAP)
  @Test
  void aNameIsNotBusyBecauseOfAnAttemptWhoseAnswerWasLost() {
    RecordingStore[] recorder = new RecordingStore[1];
    LockClient client = tapped(
        store -> recorder[0] = new RecordingStore(store),
        builder -> timed(builder).defaultOptions(lasting()));
    String name = freshName();
    recorder[0].failWithdrawals(true);
    recorder[0].beforeTheNextAnswer(() -> {
      throw new IllegalStateException("The answer was lost");
    });
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client.get(name).tryLock().isPresent());
    assertThatExceptionOfType(LockStoreException.class)
        .as("what tryLock() ends with while the earlier attempt can't be withdrawn")
        .isThrownBy(() -> client.get(name).tryLock().isPresent());
    assertThatExceptionOfType(LockStoreException.class)
        .as("what a wait ends with while the earlier attempts can't be withdrawn")
        .isThrownBy(() -> client.get(name).lockWithin(quiet()));
    recorder[0].failWithdrawals(false);
    take(client.get(name)).close();
  }

  /** A client whose machine seems to sleep while an answer of the store is on its way. */
  private final class Sleeper {
    private final SkewedTime time = new SkewedTime();
    private final RecordingStore[] recorder = new RecordingStore[1];
    private final LockClient client = tapped(
        store -> recorder[0] = new RecordingStore(store), builder -> builder.timeSource(time));
    private final LockClient other = client();
    private Duration slept = Duration.ZERO;

    void sleepBeforeTheNextAnswer(Runnable meanwhile) {
      slept = slept.plusHours(1);
      recorder[0].beforeTheNextAnswer(() -> {
        meanwhile.run();
        time.setWallAhead(slept);
      });
    }

    /**
     * Lets another client take the lock after it was granted to the sleeper; returns that client's
     * lease.
     */
    Slot<Lease> sleepWhileItIsTaken(String name) {
      Slot<Lease> taken = new Slot<>();
      sleepBeforeTheNextAnswer(() -> {
        long token = other.get(name).inspect().orElseThrow().token();
        assertThat(other.get(name).forceRelease(token)).isTrue();
        taken.set(take(other.get(name, lasting())));
      });
      return taken;
    }
  }
}
