package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.tck.Rule;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** Chapter 3: who owns a lease. */
public abstract class ReentrancyRules extends RuleTest {

  /** Called by JUnit. */
  protected ReentrancyRules() {}

  @Rule("L-3.1")
  @Test
  void theLastOfNestedClosesFreesTheLock() throws InterruptedException {
    String name = freshName();
    LockClient other = client();
    DistributedLock lock = client().get(name);
    Lease outer = take(lock);
    Lease middle = lock.lock();
    Lease inner = lock.tryLock(LONG).orElseThrow();
    inner.close();
    assertTaken(other, name, "two handles are open");
    outer.close(); // in any order
    assertTaken(other, name, "one handle is open");
    assertThat(middle.isHeld()).isTrue();
    assertThat(outer.isHeld()).as("isHeld() of a closed handle").isFalse();
    middle.close();
    take(other.get(name)).close();
  }

  @Rule("L-3.2")
  @Test
  void anotherThreadOfTheSameClientIsRefused() {
    DistributedLock lock = client().get(freshName());
    Lease lease = take(lock);
    assertThat(tryOnAnotherThread(lock)).as("tryLock() by another thread").isEmpty();
    Optional<Lease> waited = onAnotherThread(() -> lock.tryLock(quiet()));
    assertThat(waited).as("tryLock(Duration) by another thread").isEmpty();
    lease.close();
  }

  @Rule("L-3.3")
  @Test
  void nestedLeasesShareTheirToken() {
    DistributedLock lock = client().get(freshName());
    Lease outer = take(lock);
    Lease inner = take(lock);
    assertThat(inner.token()).as("token() of a nested lease").isEqualTo(outer.token());
    inner.close();
    outer.close();
  }

  @Rule("L-3.4")
  @Test
  void reentryAfterLossThrowsUntilTheLostLeaseIsClosed() {
    LockClient other = client();
    DistributedLock lock = client().get(freshName());
    Lease outer = take(lock);
    assertThat(other.get(lock.name()).forceRelease(outer.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(outer::verify);
    assertThatExceptionOfType(LockLostException.class)
        .as("tryLock() by the thread whose lease was lost")
        .isThrownBy(() -> lock.tryLock().isPresent());
    assertThatExceptionOfType(LockLostException.class)
        .as("lock() by the thread whose lease was lost")
        .isThrownBy(() -> lock.lock().close());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(outer::close);
    take(lock).close();
  }

  @Rule("L-3.5")
  @Test
  void aNestedAcquireWithOtherOptionsIsAnError() {
    DistributedLock lock = client().get(freshName());
    Lease outer = take(lock);
    DistributedLock fixed = lock.with(LockOptions.fixed(LONG_TTL));
    DistributedLock leaseOwned = lock.with(lock.options().withOwnership(Ownership.LEASE));
    assertThatIllegalStateException()
        .as("tryLock() with a fixed TTL, nested in a renewed lease")
        .isThrownBy(() -> fixed.tryLock().isPresent());
    assertThatIllegalStateException().isThrownBy(() -> fixed.tryLock(LONG).isPresent());
    assertThatIllegalStateException().isThrownBy(() -> leaseOwned.tryLock().isPresent());
    assertThatIllegalStateException().isThrownBy(() -> leaseOwned.lock().close());
    assertThat(outer.isHeld()).isTrue();
    Lease same = take(lock.with(lasting()));
    same.close();
    outer.close();
    take(fixed).close();
  }

  @Rule("L-3.6")
  @Test
  void aLeaseThatOwnsItselfIsNeverReentered() throws InterruptedException {
    AtomicInteger toldBefore = new AtomicInteger();
    LockClient client = client(builder -> builder.addListener(new LockListener() {
      @Override
      public void waitsForItself(LockEvent event) {
        toldBefore.incrementAndGet();
      }
    }));
    DistributedLock lock = client.get(freshName(), lasting().withOwnership(Ownership.LEASE));
    Lease lease = take(lock);
    assertThat(lock.isHeldByCurrentThread()).as("the lease has no owner thread").isFalse();
    assertThat(lock.tryLock()).as("tryLock() by the thread that acquired").isEmpty();
    assertThat(lock.tryLock(Duration.ofMillis(50))).isEmpty();
    assertThat(toldBefore.get()).as("waitsForItself events").isPositive();
    startStep(lease::close).get(LONG);
    Lease next = take(lock);
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
  }

  @Rule("L-3.7")
  @Test
  void aDetachedLeaseBelongsToNoThread() {
    DistributedLock lock = client().get(freshName());
    Lease lease = take(lock);
    assertThat(lease.detach()).isSameAs(lease);
    assertThat(lease.detach()).as("detached once more").isSameAs(lease);
    assertThat(lock.isHeldByCurrentThread())
        .as("isHeldByCurrentThread() after detach()")
        .isFalse();
    assertThat(lock.tryLock()).as("re-entry by the former owner").isEmpty();
    assertThat(lease.isHeld()).isTrue();
    startStep(lease::close).get(LONG);
    take(lock).close();
  }

  @Rule("L-3.7")
  @Test
  void onlyItsOwnerDetachesALeaseAndOnlyAnUnnestedOne() {
    DistributedLock lock = client().get(freshName());
    Lease outer = take(lock);
    Worker<Lease> stranger = start(outer::detach);
    assertThat(stranger.failure(LONG)).isInstanceOf(IllegalStateException.class);
    Lease inner = take(lock);
    assertThatIllegalStateException().isThrownBy(outer::detach);
    assertThatIllegalStateException().isThrownBy(inner::detach);
    assertThat(lock.isHeldByCurrentThread()).isTrue();
    inner.close();
    outer.close();
    assertThatIllegalStateException().isThrownBy(outer::detach);

    Lease leaseOwned = take(lock.with(lock.options().withOwnership(Ownership.LEASE)));
    assertThat(leaseOwned.detach()).isSameAs(leaseOwned);
    leaseOwned.close();
  }

  @Rule("L-3.8")
  @Test
  void aThreadKnowsWhetherItHoldsTheLock() {
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    assertThat(lock.isHeldByCurrentThread()).isFalse();
    Lease lease = take(lock);
    assertThat(lock.isHeldByCurrentThread()).isTrue();
    assertThat(onAnotherThread(lock::isHeldByCurrentThread))
        .as("on another thread")
        .isFalse();
    assertThat(other.get(lock.name()).isHeldByCurrentThread())
        .as("in another client")
        .isFalse();
    lease.close();
    assertThat(lock.isHeldByCurrentThread()).isFalse();
  }

  @SuppressWarnings("LockNotBeforeTry") // every step is looked at
  @Rule("L-3.9")
  @Test
  void asLockKeepsTheRulesOfJavaLocks() throws InterruptedException {
    LockClient other = client();
    DistributedLock lock = client().get(freshName());
    Lock java = lock.asLock();
    java.lock();
    assertThat(java.tryLock()).as("reentrant").isTrue();
    Worker<?> stranger = startStep(java::unlock);
    assertThat(stranger.failure(LONG)).isInstanceOf(IllegalMonitorStateException.class);
    java.unlock();
    assertTaken(other, lock.name(), "locked once more than unlocked");
    java.unlock();
    assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(java::unlock);
    Lease elsewhere = take(other.get(lock.name()));
    assertThat(java.tryLock()).isFalse();
    assertThat(java.tryLock(50, TimeUnit.MILLISECONDS)).isFalse();
    elsewhere.close();
    assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(java::newCondition);
    DistributedLock leaseOwned = lock.with(lock.options().withOwnership(Ownership.LEASE));
    assertThatIllegalStateException().isThrownBy(leaseOwned::asLock);
  }

  @SuppressWarnings("LockNotBeforeTry") // the flag is looked at in between
  @Rule("L-3.9")
  @Test
  void asLockIgnoresInterruptsAndKeepsTheFlag() {
    LockClient other = client();
    DistributedLock lock = client().get(freshName());
    Lease elsewhere = take(other.get(lock.name(), lasting()));
    Worker<Boolean> waiting = start(() -> {
      lock.asLock().lock();
      boolean flag = Thread.interrupted();
      lock.asLock().unlock();
      return flag;
    });
    awaitWaiting(waiting);
    waiting.interrupt();
    never("lock() ends by an interrupt", quiet(), waiting::isDone);
    elsewhere.close();
    assertThat(waiting.get(LONG))
        .as("the interrupt is still pending after lock()")
        .isTrue();
  }

  @SuppressWarnings("LockNotBeforeTry") // every step is looked at
  @Rule("L-3.9")
  @Test
  void asLockTellsOfTheLossAtUnlock() {
    LockClient other = client();
    DistributedLock lock = timedClient().get(freshName());
    Lock java = lock.asLock();
    java.lock();
    long token = other.get(lock.name()).inspect().orElseThrow().token();
    assertThat(other.get(lock.name()).forceRelease(token)).isTrue();
    eventually("the loss is noticed", ttl().plus(slack()), () -> !lock.isHeldByCurrentThread());
    assertThatExceptionOfType(LockLostException.class)
        .as("unlock() after a loss")
        .isThrownBy(java::unlock);
    take(lock).close();
  }
}
