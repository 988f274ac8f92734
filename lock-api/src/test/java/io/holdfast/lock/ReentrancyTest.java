package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ReentrancyTest extends EngineTest {
  private static final LockOptions BY_LEASE = LockOptions.defaults().withOwnership(Ownership.LEASE);

  @Test
  void aThreadReentersWithoutARoundTripAndSharesTheToken() throws Exception {
    Lease outer = held("x");
    Lease nested = held("x");
    Lease waited = lock("x").lock();
    Lease timed = lock("x").lockWithin(Duration.ZERO);

    assertThat(nested.token()).isEqualTo(outer.token());
    assertThat(waited.token()).isEqualTo(outer.token());
    assertThat(timed.token()).isEqualTo(outer.token());
    assertThat(store.calls()).hasSize(1);
    timed.close();
    waited.close();
    nested.close();
    assertThat(store.count(RELEASE)).isZero();
    outer.close();
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void theLastCloseFreesTheLockInWhateverOrder() {
    Lease outer = held("x");
    Lease nested = held("x");
    outer.close();
    assertThat(outer.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(outer.isHeld()).isFalse();
    assertThat(nested.isHeld()).isTrue();
    assertThat(store.holder("x")).isPresent();
    nested.close();

    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void closingTwiceDoesNotFreeAnOuterLease() {
    Lease outer = held("x");
    Lease nested = held("x");
    nested.close();
    nested.close();

    assertThat(outer.isHeld()).isTrue();
    outer.close();
    outer.close();
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void anotherThreadDoesNotReenter() throws Exception {
    Lease lease = held("x");

    assertThat(start("other", () -> lock("x").tryLock()).result()).isEmpty();
    assertThat(lock("x").isHeldByCurrentThread()).isTrue();
    assertThat(start("other", () -> lock("x").isHeldByCurrentThread()).result()).isFalse();
    lease.close();
    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
  }

  @Test
  void aNestedAcquireWithOtherOptionsIsMisuse() {
    Lease outer = held("x");

    assertThatThrownBy(() -> held("x", LockOptions.fixed(TTL)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("'x'");
    assertThatThrownBy(() -> held("x", BY_LEASE)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> lock("x", BY_LEASE).lock()).isInstanceOf(IllegalStateException.class);
    outer.close();
    held("x", LockOptions.fixed(TTL)).close();
  }

  @Test
  void afterALossTheThreadCannotReenterUntilItClosedTheLostLease() throws Exception {
    Lease lost = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockLostException.class);
    assertThatThrownBy(() -> lock("x").lock()).isInstanceOf(LockLostException.class);
    // Others may try; the store has not been told of the loss here.
    assertThat(start("other", () -> lock("x").tryLock()).result()).isEmpty();
    assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);

    assertThat(lock("x").tryLock()).isEmpty();
  }

  @Test
  void aThreadThatReentersAfterTheDeadlineIsToldOfTheLoss() {
    Lease outer = held("x", LockOptions.fixed(TTL));
    time.advance(UNTIL_DEADLINE);

    assertThatThrownBy(() -> held("x", LockOptions.fixed(TTL)))
        .isInstanceOf(LockLostException.class);
    assertThatThrownBy(outer::close).isInstanceOf(LockLostException.class);
    outer.close();
  }

  @Test
  void everyHandleOfALostLeaseSaysSoWhenItIsClosed() {
    Lease outer = held("x");
    Lease nested = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    assertThatThrownBy(nested::close).isInstanceOf(LockLostException.class);
    assertThatThrownBy(outer::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aLeaseThatIsItsOwnOwnerIsNeverReentered() throws Exception {
    Lease lease = held("x", BY_LEASE);

    assertThat(lock("x", BY_LEASE).tryLock()).isEmpty();
    assertThat(lock("x").tryLock()).isEmpty();
    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
    lease.close();
  }

  @Test
  void aThreadThatWaitsForALeaseOfItsOwnIsSaidToWaitForItself() throws Exception {
    String[] told = new String[1];
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void waitsForItself(LockEvent event) {
        told[0] = event.lockName() + " " + Thread.currentThread().getName();
      }
    }));
    Lease[] first = new Lease[1];
    Actor<Lease> waiter = start("waiter", () -> {
          first[0] = held("x", BY_LEASE);
          return lock("x", BY_LEASE).lock();
        })
        .awaitParked();

    assertThat(told[0]).isEqualTo("x waiter");
    first[0].close();
    assertThat(waiter.result().isHeld()).isTrue();
  }

  @Test
  void anyThreadMayCloseAnyLease() throws Exception {
    Lease lease = held("x");
    start("other", () -> {
          lease.close();
          return true;
        })
        .result();

    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aDetachedLeaseIsNotReenteredAndAnyThreadCarriesItOn() throws Exception {
    Lease lease = held("x").detach();

    assertThat(lease.isHeld()).isTrue();
    assertThat(lock("x").tryLock()).isEmpty();
    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
    Actor<Optional<Lease>> waiter =
        start("waiter", () -> lock("x").tryLock(Duration.ofSeconds(1))).awaitParked();
    start("other", () -> {
          lease.ensureHeld();
          lease.close();
          return true;
        })
        .result();
    assertThat(waiter.result()).isPresent();
  }

  @Test
  void detachIsForTheOwnerOfALeaseWithoutNestedHandles() throws Exception {
    Lease outer = held("x");
    Lease nested = held("x");

    assertThatThrownBy(outer::detach).isInstanceOf(IllegalStateException.class);
    nested.close();
    assertThatThrownBy(() -> start("other", outer::detach).result())
        .isInstanceOf(IllegalStateException.class);
    assertThat(outer.detach()).isSameAs(outer);
    assertThat(start("other", outer::detach).result()).isSameAs(outer);
    outer.close();
    assertThatThrownBy(outer::detach).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aLostLeaseCannotBeDetached() {
    Lease lease = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    assertThatThrownBy(lease::detach).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aThreadWhoseDetachedLeaseWasLostMayAskAgain() {
    Lease lease = held("x").detach();
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    held("x").close();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }
}
