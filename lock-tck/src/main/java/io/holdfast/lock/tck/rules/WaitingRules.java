package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Chapter 6: waiting for a lock, with and without success. */
public abstract class WaitingRules extends RuleTest {

  /** Called by JUnit. */
  protected WaitingRules() {}

  @Rule("L-6.1")
  @Test
  void tryLockDoesNotWait() {
    DistributedLock lock = client().get(freshName());
    LockClient other = timedClient();
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
    DistributedLock lock = timedClient().get(freshName());
    LockClient other = timedClient();
    Lease lease = take(lock);
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
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    Lease lease = take(lock.with(lasting()));
    assertThatExceptionOfType(LockTimeoutException.class)
        .isThrownBy(() -> other.get(lock.name()).lockWithin(quiet()).close())
        .satisfies(e -> assertThat(e.lockName()).isEqualTo(lock.name()))
        .satisfies(e -> assertThat(e.waited()).isGreaterThanOrEqualTo(quiet()));
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
    Lease lease = take(timedClient().get(name, fixed()));
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
      takeWhenFree(holder, name, slack()).close();
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
    assertThat(served)
        .as("the order in which the threads were served")
        .containsExactly(0, 1, 2, 3, 4);
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
}
