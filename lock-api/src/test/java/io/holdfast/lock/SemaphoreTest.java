package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Semaphores. */
class SemaphoreTest extends EngineTest {
  private static final LockOptions FIXED = LockOptions.fixed(TTL);

  private DistributedSemaphore two() {
    return client().semaphore("s", 2);
  }

  private SemaphoreClient anotherClient() {
    return opened(new ScriptedStore(time, server).client().clientName("another").build());
  }

  private static PermitLease take(DistributedSemaphore semaphore) {
    return semaphore.tryLock().orElseThrow();
  }

  // Permits

  @Test
  void aReleaseAfterTheFirstFreesNothing() {
    PermitLease first = take(two());
    PermitLease second = take(two());
    first.close();
    PermitLease third = take(two());
    first.close();

    assertThat(store.count(RELEASE)).isEqualTo(1);
    assertThat(two().tryLock()).isEmpty();
    second.close();
    third.close();
  }

  @Test
  void nothingIsLeftOfASemaphoreThatWasUsed() {
    take(two()).close();
    PermitLease lease = take(two());
    assertThat(two().forceRelease(lease.token())).isTrue();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    settle();

    assertThat(server.size()).isZero();
  }

  // The number

  @Test
  void anotherNumberIsRefusedWhilePermitsAreHeld() throws Exception {
    PermitLease lease = take(two());
    DistributedSemaphore three = anotherClient().semaphore("s", 3);

    assertThatThrownBy(three::tryLock)
        .isInstanceOfSatisfying(PermitsMismatchException.class, e -> {
          assertThat(e.asked()).isEqualTo(3);
          assertThat(e.stored()).isEqualTo(2);
          assertThat(e.lockName()).isEqualTo("s");
        })
        .hasMessageContaining("3 permits")
        .hasMessageContaining("has 2");
    assertThatThrownBy(three::lock).isInstanceOf(PermitsMismatchException.class);
    assertThat(two().holders()).hasSize(1);
    lease.close();
    take(three).close();
  }

  @Test
  void anotherNumberIsRefusedUntilTheCrashedHoldersTimeIsOver() {
    PermitLease crashed = take(client().semaphore("s", 2, FIXED));
    DistributedSemaphore three = anotherClient().semaphore("s", 3);

    assertThatThrownBy(three::tryLock).isInstanceOf(PermitsMismatchException.class);
    pass(TTL);
    take(three).close();
    assertThatThrownBy(crashed::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aNumberOutOfRangeIsRefusedBeforeAnyRequest() {
    for (int permits : new int[] {0, -1, Claim.PERMITS_MAX + 1}) {
      assertThatThrownBy(() -> client().semaphore("s", permits))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1 to 1000")
          .hasMessageContaining("not " + permits);
    }
    assertThatThrownBy(() -> client().semaphore("", 1))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> client().semaphore("s", 1, LockOptions.fixed(STORE_TIMEOUT)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(store.calls()).isEmpty();
  }

  @Test
  void aPermitThatIsNoneIsNoGrant() {
    store.permits(grant -> 2);

    assertThatThrownBy(() -> two().tryLock())
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("permit 2 of 2");
    assertThat(two().holders()).isEmpty();
  }

  // Waiting

  @Test
  void nobodyOvertakesWhoWaits() throws Exception {
    PermitLease first = take(two());
    PermitLease second = take(two());
    Actor<PermitLease> waiter = start("waiter", () -> two().lock());
    store.awaitCount(ACQUIRE_OR_QUEUE, 1);
    waiter.awaitParked();
    // The one in line does not hear of the permit before another asks for it.
    first.close();

    List<Lease> got = new ArrayList<>();
    anotherClient().semaphore("s", 2).tryLock().ifPresent(got::add);
    assertThat(waiter.result().permit()).isEqualTo(first.permit());
    assertThat(got).isEmpty();
    second.close();
  }

  // Renewal and loss

  @Test
  void eachLeaseIsRenewedAndLostByItself() throws Exception {
    List<LeaseLoss> told = Collections.synchronizedList(new ArrayList<>());
    PermitLease first = take(two());
    PermitLease second = take(two());
    first.onLost(told::add);
    second.onLost(told::add);
    Grant firsts = store.grants("s").get(0);
    pass(AT_RENEWAL);

    assertThat(store.calls(RENEW).stream().mapToInt(call -> call.names().size()).sum())
        .isEqualTo(2);
    assertThat(anotherClient().semaphore("s", 2).forceRelease(firsts.number() << 10))
        .isTrue();
    store.events().lost(firsts, LeaseLoss.Reason.TAKEN);
    settle();
    assertThat(first.state()).isEqualTo(LeaseState.LOST);
    assertThat(second.isHeld()).isTrue();
    assertThat(told).singleElement().satisfies(loss -> {
      assertThat(loss.token()).isEqualTo(first.token());
      assertThat(loss.name()).isEqualTo("s");
    });
    // The permit is free, and the thread with a lost lease may have it.
    PermitLease third = take(two());
    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    second.close();
    third.close();
  }

  @Test
  void closingTheClientGivesAllPermitsBack() throws Exception {
    DistributedSemaphore others = anotherClient().semaphore("s", 2);
    PermitLease first = take(two());
    PermitLease second = take(two());
    Actor<Throwable> waiter = start("waiter", () -> {
      try (Lease third = two().lock()) {
        return new AssertionError("got " + third);
      } catch (LockClientClosedException e) {
        return e;
      }
    });
    store.awaitCount(ACQUIRE_OR_QUEUE, 1);
    waiter.awaitParked();
    time.runDuring(client()::close);

    assertThat(waiter.result()).isInstanceOf(LockClientClosedException.class);
    assertThat(List.of(first.state(), second.state()))
        .containsExactly(LeaseState.LOST, LeaseState.LOST);
    assertThat(others.holders()).isEmpty();
    take(others).close();
  }

  // Owners

  @Test
  void aLeaseBelongsToNoThread() throws Exception {
    PermitLease lease = take(two());

    assertThat(lease.detach()).isSameAs(lease);
    PermitLease carried = start("other", lease::detach).result();
    carried.close();
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(two().holders()).isEmpty();
  }

  @Test
  void holdersAreInTheOrderOfTheirPermits() {
    PermitLease first = take(two());
    PermitLease second = take(two());

    assertThat(two().holders()).extracting(PermitHolder::permit).containsExactly(0, 1);
    assertThat(two().holders())
        .extracting(PermitHolder::token)
        .containsExactly(first.token(), second.token());
    first.close();
    assertThat(two().holders()).extracting(PermitHolder::permit).containsExactly(1);
    second.close();
  }

  @Test
  void aListOfLocksHasNoSemaphores() {
    PermitLease lease = take(two());

    assertThat(client().list("s", 10)).isEmpty();
    lease.close();
  }
}
