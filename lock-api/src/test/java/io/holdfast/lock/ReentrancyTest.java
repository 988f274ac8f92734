package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import java.time.Duration;
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
