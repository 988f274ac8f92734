package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.LEAVE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.WITHDRAW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

class InterruptTest extends EngineTest {

  @Test
  void aThreadThatComesInterruptedDoesNotAsk() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> lock("x").lock()).isInstanceOf(InterruptedException.class);
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> lock("x").tryLock(Duration.ZERO))
        .isInstanceOf(InterruptedException.class);

    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    assertThat(store.calls()).isEmpty();
  }

  @Test
  void tryLockIsNotInterruptibleAndKeepsTheFlag() {
    boolean[] flagDuringCall = new boolean[1];
    store.next(TRY_ACQUIRE, call -> {
      flagDuringCall[0] = Thread.currentThread().isInterrupted();
      return call.call();
    });
    Thread.currentThread().interrupt();
    Lease lease = held("x");

    assertThat(Thread.interrupted()).isTrue();
    assertThat(flagDuringCall[0]).isFalse();
    lease.close();
  }

  @Test
  void closingIsNotInterruptibleAndKeepsTheFlag() {
    Lease lease = held("x");
    boolean[] flagDuringCall = new boolean[1];
    store.next(RELEASE, call -> {
      flagDuringCall[0] = Thread.currentThread().isInterrupted();
      return call.call();
    });
    Thread.currentThread().interrupt();
    lease.close();

    assertThat(Thread.interrupted()).isTrue();
    assertThat(flagDuringCall[0]).isFalse();
  }

  @Test
  void anInterruptEndsAWaitInTheLocalLine() throws Exception {
    Lease lease = held("x");
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    waiter.interrupt();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    lease.close();
    held("x").close();
  }

  @Test
  void anInterruptEndsAWaitInTheStoresLineAndLeavesIt() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    waiter.interrupt();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    assertThat(store.count(LEAVE)).isOne();
    others.close();
    others("x").tryLock().orElseThrow().close();
  }

  @Test
  void anInterruptWinsOverAGrantThatArrivesAtThatMoment() throws Exception {
    Gate gate = store.holdNextAnswer(ACQUIRE_OR_QUEUE);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock());
    gate.awaitCall();
    waiter.interrupt();
    gate.open();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    assertThat(store.count(RELEASE)).isOne();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aGrantThatIsGivenBackThoughTheStoreFailsIsGivenBackLater() throws Exception {
    Gate gate = store.holdNextAnswer(ACQUIRE_OR_QUEUE);
    store.failNext(RELEASE);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock());
    gate.awaitCall();
    waiter.interrupt();
    gate.open();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    store.awaitCount(RELEASE, 2);
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  @Test
  void anInterruptedWaiterPassesOnWhatItWasHanded() throws Exception {
    Lease lease = held("x");
    Actor<Lease> interrupted = start("interrupted", () -> {
          Lease got = lock("x").lock();
          return got;
        })
        .awaitParked();
    Actor<Lease> next = start("next", () -> lock("x").lock()).awaitParked();
    interrupted.interrupt();
    lease.close();

    // Either the interrupt or the lease came first; the next gets it in any case.
    try {
      interrupted.result().close();
    } catch (InterruptedException e) {
      assertThat(interrupted.isDone()).isTrue();
    }
    assertThat(next.result().isHeld()).isTrue();
  }

  @Test
  void aRequestThatAnInterruptBrokeIsAnInterruptForItsThreadAndNothingForThoseBehind()
      throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock());
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> lock("x").lock()).awaitParked();
    waiter.interrupt();
    gate.openWith(StoreException.unanswered("the socket was closed by an interrupt", null));

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    assertThat(behind.result().isHeld()).isTrue();
    store.awaitCount(WITHDRAW, 1);
  }

  @Test
  void anUninterruptibleLockAsksAgainIfAnInterruptBrokeItsRequest() throws Exception {
    Gate gate = store.holdNext(ACQUIRE_OR_QUEUE);
    Lock lock = lock("x").asLock();
    Actor<Boolean> waiter = start("waiter", () -> lockedWithInterrupt(lock));
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> lock("x").lock()).awaitParked();
    waiter.interrupt();
    gate.openWith(StoreException.unanswered("the socket was closed by an interrupt", null));

    assertThat(waiter.result()).isTrue();
    assertThat(behind.result().isHeld()).isTrue();
  }

  @Test
  void aTryLockThatAnInterruptBrokeSaysNothingAboutTheStoreToThoseBehind() throws Exception {
    Gate gate = store.holdNext(TRY_ACQUIRE);
    Actor<Optional<Lease>> asking = start("asking", () -> lock("x").tryLock());
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> lock("x").lock()).awaitParked();
    asking.interrupt();
    gate.openWith(StoreException.unanswered("the socket was closed by an interrupt", null));

    assertThatThrownBy(asking::result).isInstanceOf(LockStoreException.class);
    assertThat(behind.result().isHeld()).isTrue();
  }

  @Test
  void anUninterruptibleLockWaitsOnInBothLinesAndKeepsTheFlag() throws Exception {
    Lease others = others("x").lock();
    Lock lock = lock("x").asLock();
    Actor<Boolean> first = start("first", () -> lockedWithInterrupt(lock)).awaitParked();
    Actor<Boolean> second = start("second", () -> lockedWithInterrupt(lock)).awaitParked();
    first.interrupt();
    second.interrupt();
    first.awaitParked();
    second.awaitParked();
    others.close();

    assertThat(first.result()).isTrue();
    assertThat(second.result()).isTrue();
  }

  /** Whether the thread found its interrupt again when it had the lock. */
  private static boolean lockedWithInterrupt(Lock lock) {
    lock.lock();
    try {
      return Thread.interrupted();
    } finally {
      lock.unlock();
    }
  }
}
