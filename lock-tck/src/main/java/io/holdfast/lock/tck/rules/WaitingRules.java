package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.SkewedTime;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** Chapter 6: waiting for a lock, with and without success. */
public abstract class WaitingRules extends RuleTest {

  /** Called by JUnit. */
  protected WaitingRules() {}

  @Rule("L-6.1")
  @Test
  void tryLockDoesNotWait() {
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    Lease lease = take(lock.with(lasting()));
    long start = System.nanoTime();
    assertThat(other.get(lock.name()).tryLock()).isEmpty();
    assertThat(since(start)).isLessThan(timing().storeTimeout().plus(slack()));
    lease.close();
  }

  @Rule("L-6.1")
  @Requires(Capability.FAULTS)
  @Test
  void aLockOfAnotherLocalThreadIsBusyWithoutARequest() {
    Link link = link();
    DistributedLock lock = client(link).get(freshName(), lasting());
    Lease lease = take(lock);
    long before = link.requests();
    for (int i = 0; i < 50; i++) {
      assertThat(tryOnAnotherThread(lock)).isEmpty();
    }
    // Not zero, since the client or its driver may send requests in the background.
    assertThat(link.requests() - before).as("requests for 50 refusals").isLessThan(25);
    lease.close();
  }

  @Rule("L-6.2")
  @Test
  void aTimedWaitEndsInTime() throws InterruptedException {
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    Lease lease = take(lock.with(lasting()));
    Duration wait = quiet();
    long start = System.nanoTime();
    assertThat(other.get(lock.name()).tryLock(wait)).isEmpty();
    assertThat(since(start))
        .as("time in tryLock(%s) by another client", wait)
        .isGreaterThanOrEqualTo(wait)
        .isLessThan(wait.plus(timing().storeTimeout()).plus(slack()));
    Duration local = onAnotherThread(() -> {
      long localStart = System.nanoTime();
      assertThat(lock.tryLock(wait)).isEmpty();
      return since(localStart);
    });
    assertThat(local)
        .as("time in tryLock(%s) by another thread", wait)
        .isGreaterThanOrEqualTo(wait)
        .isLessThan(wait.plus(timing().storeTimeout()).plus(slack()));
    lease.close();
  }

  @Rule("L-6.2")
  @Test
  void lockWithinTellsWhatItWaitedFor() {
    DistributedLock lock = client(builder -> builder.clientName("the-holder")).get(freshName());
    LockClient other = client();
    Lease lease = take(lock.with(lasting()));
    assertThatExceptionOfType(LockTimeoutException.class)
        .isThrownBy(() -> other.get(lock.name()).lockWithin(quiet()).close())
        .satisfies(e -> assertThat(e.lockName()).isEqualTo(lock.name()))
        .satisfies(e -> assertThat(e.waited()).isGreaterThanOrEqualTo(quiet()));
    lease.close();
  }

  @Rule("L-6.3")
  @Requires(Capability.FAULTS)
  @Test
  void anUnreachableStoreIsNeitherBusyNorAGrant() {
    Link link = link();
    LockClient client = client(link);
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
    LockClient client = client(link);
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

  @Rule("L-6.4")
  @Test
  void aWaiterGetsTheLockWhenItIsReleased() {
    LockClient holder = client();
    LockClient other = client();
    for (int round = 0; round < 5; round++) {
      String name = freshName();
      Lease lease = take(holder.get(name, lasting()));
      Worker<Lease> waiting = start(() -> other.get(name, lasting()).lock());
      awaitWaiting(waiting);
      lease.close();
      Lease next = waiting.get(slack());
      assertThat(next.isHeld()).isTrue();
      assertThat(next.token()).isGreaterThan(lease.token());
      next.close();
    }
  }

  @Rule("L-6.4")
  @Test
  void aWaitingThreadOfTheSameClientGetsTheLockWhenItIsReleased() {
    for (boolean handOff : new boolean[] {true, false}) {
      DistributedLock lock =
          client(builder -> builder.localHandOff(handOff)).get(freshName(), lasting());
      for (int round = 0; round < 5; round++) {
        Lease lease = take(lock);
        Worker<Long> waiting = start(() -> lock.call(Lease::token));
        awaitWaiting(waiting);
        lease.close();
        assertThat(waiting.get(slack())).isGreaterThan(lease.token());
      }
    }
  }

  @Rule("L-6.4")
  @Test
  void aWaiterGetsTheLockWhenItsHolderExpires() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(client().get(name, fixed()));
    Worker<Lease> waiting = start(() -> other.get(name).lock());
    Lease next = waiting.get(lease.crashBound().plus(slack()));
    assertThat(lease.isHeld()).isFalse();
    next.close();
  }

  @Rule("L-6.5")
  @Test
  void anInterruptEndsAWait() {
    LockClient holder = client();
    String name = freshName();
    Lease lease = take(holder.get(name, lasting()));
    for (DistributedLock lock : List.of(client().get(name), holder.get(name, lasting()))) {
      for (boolean timed : new boolean[] {true, false}) {
        Worker<Boolean> waiting = start(() -> {
          if (timed) {
            return lock.tryLock(LONG_TTL).isPresent();
          }
          lock.lock().close();
          return true;
        });
        awaitWaiting(waiting);
        waiting.interrupt();
        assertThat(waiting.failure(slack())).isInstanceOf(InterruptedException.class);
      }
    }
    lease.close();
  }

  @Rule("L-6.5")
  @Test
  void anInterruptFromBeforeEndsAWaitEvenIfTheLockIsFree() {
    DistributedLock lock = client().get(freshName());
    for (boolean timed : new boolean[] {true, false}) {
      Worker<Boolean> interrupted = start(() -> {
        Thread.currentThread().interrupt();
        if (timed) {
          return lock.tryLock(LONG).isPresent();
        }
        lock.lock().close();
        return true;
      });
      assertThat(interrupted.failure(LONG)).isInstanceOf(InterruptedException.class);
      assertThat(lock.inspect()).as("who has the lock").isEmpty();
    }
  }

  @Rule("L-6.5")
  @Test
  void tryLockKeepsAnInterruptPending() {
    DistributedLock lock = client().get(freshName());
    Worker<Boolean> interrupted = start(() -> {
      Thread.currentThread().interrupt();
      Lease lease = take(lock);
      boolean flag = Thread.interrupted();
      lease.close();
      return flag;
    });
    assertThat(interrupted.get(LONG)).as("the interrupt is still pending").isTrue();
  }

  @Rule("L-6.6")
  @Test
  void whoGaveUpWaitingIsNotGrantedLater() {
    LockClient other = client();
    LockClient observer = client();
    String timedOut = freshName();
    String interrupted = freshName();
    LockClient holder = client();
    Lease first = take(holder.get(timedOut, lasting()));
    Lease second = take(holder.get(interrupted, lasting()));
    Worker<Optional<Lease>> waitingShortly = start(() -> other.get(timedOut).tryLock(quiet()));
    Worker<Lease> waitingLong = start(() -> other.get(interrupted).lock());
    awaitWaiting(waitingLong);
    waitingLong.interrupt();
    assertThat(waitingLong.failure(LONG)).isInstanceOf(InterruptedException.class);
    assertThat(waitingShortly.get(LONG)).isEmpty();
    pause(quiet()); // The client may leave the store's queue in the background.
    first.close();
    second.close();
    never(
        "a waiter that gave up is granted the lock",
        quiet().multipliedBy(2),
        () -> observer.get(timedOut).inspect().isPresent()
            || observer.get(interrupted).inspect().isPresent());
    take(observer.get(timedOut)).close();
    take(observer.get(interrupted)).close();
  }

  @Rule("L-6.7")
  @Heavy
  @Test
  void aGrantThatMeetsAnInterruptIsGivenBack() {
    LockClient holder = client();
    LockClient other = client();
    String name = freshName();
    for (int round = 0; round < 25; round++) {
      Lease lease = take(holder.get(name, lasting()));
      Worker<Boolean> waiting = start(() -> {
        try {
          other.get(name, lasting()).lock().close();
          return true;
        } catch (InterruptedException e) {
          return false;
        }
      });
      awaitWaiting(waiting);
      Worker<Boolean> releasing = startStep(lease::close);
      // From interrupts that come first to those that come too late.
      pause(Duration.ofMillis(round % 8));
      waiting.interrupt();
      assertThat(releasing.get(LONG)).isTrue();
      assertThat(waiting.get(LONG)).isNotNull();
      takeWhenFree(holder, name, lasting(), slack()).close();
    }
  }

  @Rule("L-6.8")
  @Test
  void threadsOfOneClientAreServedInTheOrderTheyAsked() {
    DistributedLock lock = client().get(freshName(), lasting());
    Lease lease = take(lock);
    List<Integer> served = Collections.synchronizedList(new ArrayList<>());
    List<Worker<?>> waiting = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      int place = i;
      Worker<?> worker = startStep(() -> lock.run(held -> served.add(place)));
      awaitWaiting(worker);
      waiting.add(worker);
    }
    lease.close();
    waiting.forEach(worker -> worker.get(LONG));
    assertThat(served).containsExactly(0, 1, 2, 3, 4);
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
    LockClient client = client(link);
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
      takeWhenFree(other, name, renewed(), ttl().plus(slack())).close();
    }
  }

  @Rule("L-6.9")
  @Requires(Capability.FAULTS)
  @Test
  void anAcquireThatArrivesLateNeverBlocksTheNameForLongerThanATtl() {
    LockClient other = client();
    Link link = link();
    LockClient client = client(link);
    take(client.get(freshName())).close();
    String name = freshName();
    link.hold(Link.Direction.REQUESTS);
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client.get(name).tryLock().isPresent());
    link.heal(); // The request arrives now, when nobody wants the lock any more.
    Lease lease = takeWhenFree(other, name, renewed(), ttl().plus(slack()));
    never("the late request takes the lock", quiet(), () -> !lease.isHeld());
    lease.verify();
    lease.close();
    eventually(
        "the name stays free of the late request",
        ttl().plus(slack()),
        () -> other.get(name).inspect().isEmpty());
  }

  @Rule("L-6.10")
  @Heavy
  @Test
  void handOffWithinAClientLeavesOtherClientsTheirTurn() {
    String name = freshName();
    LockClient busy = client();
    LockClient other = client();
    AtomicBoolean stop = new AtomicBoolean();
    List<Worker<?>> greedy = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      greedy.add(startStep(() -> {
        while (!stop.get()) {
          busy.get(name).run(lease -> pause(Duration.ofMillis(1)));
        }
      }));
    }
    Worker<Boolean> served = startStep(() -> {
      for (int i = 0; i < 3; i++) {
        other.get(name).lock().close();
      }
    });
    try {
      assertThat(served.get(LONG)).isTrue();
    } finally {
      stop.set(true);
    }
    greedy.forEach(worker -> worker.get(LONG));
  }

  @Rule("L-6.11")
  @Requires(Capability.FAULTS)
  @Test
  void whoStandsBehindAFailingThreadFailsToo() {
    Link link = link();
    LockClient client = client(link);
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
    LockClient client =
        client(link, builder -> builder.storeTimeout(LONG.dividedBy(2)).defaultOptions(lasting()));
    take(client.get(freshName())).close();
    DistributedLock lock = client.get(freshName());
    link.hold(Link.Direction.REPLIES);
    long before = link.requests();
    // Either of them may be the one that asks the store.
    Worker<Boolean> one = start(() -> lock.tryLock().isPresent());
    eventually("the request is on its way", LONG, () -> link.requests() > before);
    Worker<Boolean> other = start(() -> lock.tryLock().isPresent());
    pause();
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
    LockClient client = client(link);
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
    LockClient client = client(link, builder -> builder.localHandOff(false));
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
    takeWhenFree(client(), lock.name(), renewed(), slack().multipliedBy(2)).close();
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
        builder -> builder.defaultOptions(lasting()));
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
        store -> recorder[0] = new RecordingStore(store),
        builder -> builder.timeSource(time).defaultOptions(lasting()));
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
