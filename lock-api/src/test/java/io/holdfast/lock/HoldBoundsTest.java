package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.EXTEND;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Leases that last at least, or at most, so long. */
class HoldBoundsTest extends EngineTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final LockOptions AT_LEAST = LockOptions.defaults().withMinHold(MINUTE);
  private static final LockOptions AT_MOST = LockOptions.defaults().withMaxHold(MINUTE);

  @Test
  void aNameStaysTakenForItsMinimumHoldThoughItsLeaseWasClosed() {
    Lease lease = held("x", AT_LEAST);
    time.advance(Duration.ofSeconds(1));
    lease.close();
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(store.holder("x").orElseThrow().released()).isTrue();
    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(Duration.ofSeconds(59));
    assertThat(lock("x", AT_LEAST).tryLock()).isEmpty();
    time.advance(Duration.ofSeconds(59));

    assertThat(others("x").tryLock()).isPresent();
  }

  @Test
  void aHoldBeyondTheMinimumFreesTheNameAtClose() {
    Lease lease = held("x", AT_LEAST);
    for (int i = 0; i < 6; i++) {
      pass(AT_RENEWAL);
    }
    assertThat(store.count(RENEW)).isPositive();
    lease.close();

    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void theMinimumHoldStartsWithTheLeaseAndNotWithTheRequest() {
    store.delayNextAnswer(TRY_ACQUIRE, Duration.ofSeconds(3));
    Lease lease = held("x", AT_LEAST);
    lease.close();

    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(MINUTE);
  }

  @Test
  void aMinimumHoldIsKeptByAReleaseThatOnlyGetsThroughLater() {
    Lease lease = held("x", AT_LEAST);
    store.failNext(RELEASE);
    store.failNext(RELEASE);
    lease.close();
    store.awaitCount(RELEASE, 2);
    settle();
    pass(Duration.ofMillis(100));
    store.awaitCount(RELEASE, 3);

    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(MINUTE.minusMillis(100));
  }

  @Test
  void anExtensionCanSetAMinimumHold() {
    Lease lease = held("x", LockOptions.fixed(MINUTE));
    time.advance(Duration.ofSeconds(30));
    lease.extend(MINUTE, Duration.ofSeconds(40));
    time.advance(Duration.ofSeconds(10));
    lease.close();

    assertThat(store.holder("x").orElseThrow().released()).isTrue();
    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(Duration.ofSeconds(30));
  }

  @Test
  void aNestedLeaseLeavesTheMinimumHoldOfAnExtension() {
    Lease lease = held("x", LockOptions.fixed(MINUTE));
    lease.extend(MINUTE, Duration.ofSeconds(40));
    held("x", LockOptions.fixed(MINUTE)).close();
    lease.close();

    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(Duration.ofSeconds(40));
  }

  @Test
  void anExtensionNeverShortensTheMinimumHold() {
    Lease lease = held("x", LockOptions.fixed(MINUTE).withMinHold(MINUTE));
    time.advance(Duration.ofSeconds(10));
    lease.extend(MINUTE);
    lease.extend(MINUTE, Duration.ofSeconds(49));
    lease.close();

    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(Duration.ofSeconds(50));
  }

  @Test
  void aMinimumHoldBeyondTheExtensionIsRefusedBeforeAnyIo() {
    Lease lease = held("x", LockOptions.fixed(MINUTE));

    assertThatThrownBy(() -> lease.extend(MINUTE, MINUTE.plusSeconds(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("PT1M1S");
    assertThat(store.count(EXTEND)).isZero();
    lease.close();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void anExtensionWithoutAnAnswerLeavesTheMinimumHoldAsItWas() {
    Lease lease = held("x", LockOptions.fixed(MINUTE));
    store.failNext(EXTEND);
    assertThatThrownBy(() -> lease.extend(MINUTE, MINUTE)).isInstanceOf(LockStoreException.class);
    lease.close();

    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aLeaseWithAMinimumHoldIsNotHandedOn() throws Exception {
    Lease lease = held("x", AT_LEAST);
    Actor<Lease> waiter = start("waiter", () -> lock("x", AT_LEAST).lock()).awaitParked();
    lease.close();
    store.awaitCount(ACQUIRE_OR_QUEUE, 1);
    waiter.awaitParked();
    assertThat(waiter.isDone()).isFalse();
    time.advance(MINUTE.plusMillis(1));

    assertThat(waiter.result().token() >>> 10).isGreaterThan(lease.token() >>> 10);
  }

  @Test
  void aGrantThatNobodySawKeepsNoMinimumHold() throws Exception {
    var gate = store.holdNextAnswer(ACQUIRE_OR_QUEUE);
    Actor<Lease> waiter = start("waiter", () -> lock("x", AT_LEAST).lock());
    gate.awaitCall();
    waiter.interrupt();
    gate.open();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aLeaseIsLostAndFreedAtItsMaximumHold() throws Exception {
    Lease lease = held("x", AT_MOST);
    for (int i = 0; i < 5; i++) {
      pass(AT_RENEWAL);
    }
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.remaining()).isEqualTo(MINUTE.minus(AT_RENEWAL.multipliedBy(5)));
    pass(lease.remaining());

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    store.awaitCount(RELEASE, 1);
    assertThat(others("x").lockWithin(MINUTE).isHeld()).isTrue();
    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.MAX_HOLD));
  }

  @Test
  void aLeaseThatExpiredBeforeItsMaximumHoldExpired() {
    Lease lease = held("x", AT_MOST);
    store.breakDown();
    time.advance(UNTIL_DEADLINE);

    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED));
  }

  @Test
  void aMaximumHoldShorterThanTheRequestTookFailsInsteadOfAskingForEver() {
    LockOptions tiny = LockOptions.defaults().withMaxHold(Duration.ofMillis(1));
    store.delayNextAnswer(ACQUIRE_OR_QUEUE, Duration.ofMillis(1));

    assertThatThrownBy(() -> lock("x", tiny).lock())
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("maxHold");
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isOne();
    store.awaitCount(RELEASE, 1);
  }

  @Test
  void theLongestBoundsThereAreDoNotOverflow() {
    LockOptions longest = LockOptions.renewed(Duration.ofDays(365))
        .withMinHold(Duration.ofDays(365))
        .withMaxHold(Duration.ofSeconds(Long.MAX_VALUE));
    Lease lease = held("x", longest);
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.remaining()).isBetween(Duration.ofDays(357), Duration.ofDays(365));
    lease.close();

    assertThat(store.holder("x").orElseThrow().remaining()).isEqualTo(Duration.ofDays(365));
  }
}
