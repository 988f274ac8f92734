package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** {@link DistributedLock#asLock()}. */
@SuppressWarnings("LockNotBeforeTry") // What is between the two is what is tested.
class ThreadOwnedLockTest extends EngineTest {

  @Test
  void itLocksNestsAndUnlocks() throws Exception {
    Lock lock = lock("x").asLock();
    lock.lock();
    assertThat(lock.tryLock()).isTrue();
    lock.lockInterruptibly();
    assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
    lock.unlock();
    lock.unlock();
    lock.unlock();
    assertThat(store.count(RELEASE)).isZero();
    lock.unlock();

    assertThat(store.count(RELEASE)).isOne();
    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
  }

  @Test
  void allViewsOfANameAreOneLock() throws Exception {
    lock("x").asLock().lock();
    assertThat(lock("x").isHeldByCurrentThread()).isTrue();
    Lease nested = held("x");
    lock("x").asLock().unlock();

    assertThat(nested.isHeld()).isTrue();
    assertThatThrownBy(() -> lock("x").asLock().unlock())
        .isInstanceOf(IllegalMonitorStateException.class);
    nested.close();
  }

  @Test
  void unlockingAfterALossSaysSoForEachNesting() {
    Lock lock = lock("x").asLock();
    lock.lock();
    lock.lock();
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
  }

  @Test
  void aTimedWaitEndsInTime() throws Exception {
    Lease others = others("x").lock();
    Lock lock = lock("x").asLock();
    assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isFalse();
    assertThat(lock.tryLock(Long.MIN_VALUE, TimeUnit.DAYS)).isFalse();
    Actor<Boolean> waiter =
        start("waiter", () -> lock.tryLock(1_500, TimeUnit.MILLISECONDS)).awaitParked();
    time.advance(Duration.ofMillis(1_500));

    assertThat(waiter.result()).isFalse();
    others.close();
  }

  @Test
  void theLongestWaitOfAnyUnitDoesNotOverflow() throws Exception {
    for (TimeUnit unit : TimeUnit.values()) {
      Lock lock = lock("x").asLock();
      assertThat(lock.tryLock(Long.MAX_VALUE, unit)).isTrue();
      lock.unlock();
    }
  }
}
