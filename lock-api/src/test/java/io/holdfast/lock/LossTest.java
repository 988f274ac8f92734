package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The listeners that are told of a loss, and how often. */
class LossTest extends EngineTest {
  private final List<LeaseLoss> told = new CopyOnWriteArrayList<>();

  private void lose(String name) {
    store.events().lost(store.grant(name), LeaseLoss.Reason.TAKEN);
  }

  @Test
  void aListenerIsToldOnceWithNameTokenAndReason() {
    Lease lease = held("x");
    lease.onLost(told::add);
    lose("x");
    lose("x");
    Eventually.await("the call", () -> !told.isEmpty());
    settle();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    settle();

    assertThat(told).hasSize(1);
    assertThat(told.get(0).name()).isEqualTo("x");
    assertThat(told.get(0).token()).isEqualTo(lease.token());
    assertThat(told.get(0).reason()).isEqualTo(LeaseLoss.Reason.TAKEN);
  }

  @Test
  void aListenerIsToldWhenTheDeadlinePassesThoughNobodyAsks() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    lease.onLost(told::add);
    pass(UNTIL_DEADLINE);

    Eventually.await("the call", () -> told.size() == 1);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aListenerThatComesAfterTheClientWasClosedIsToldToo() {
    Lease lease = held("x");
    time.runDuring(client()::close);
    lease.onLost(told::add);

    Eventually.await("the call", () -> told.size() == 1);
    assertThat(told.get(0).reason()).isEqualTo(LeaseLoss.Reason.CLIENT_CLOSED);
  }

  @Test
  void aListenerIsNeverToldAfterARelease() {
    Lease lease = held("x");
    lease.onLost(told::add);
    lease.close();
    lose("x");
    pass(TTL);
    lease.onLost(told::add);
    settle();

    assertThat(told).isEmpty();
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Test
  void aListenerOfANestedHandleThatWasClosedIsNotTold() {
    Lease outer = held("x");
    Lease nested = held("x");
    nested.onLost(told::add);
    nested.close();
    AtomicInteger outerTold = new AtomicInteger();
    outer.onLost(loss -> outerTold.incrementAndGet());
    lose("x");

    Eventually.await("the call", () -> outerTold.get() == 1);
    settle();
    assertThat(told).isEmpty();
    assertThatThrownBy(outer::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aReleaseThatFindsAnotherHolderIsALossForListenersToo() {
    Lease lease = held("x");
    lease.onLost(told::add);
    assertThat(others("x").forceRelease(lease.token())).isTrue();

    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.TAKEN));
    Eventually.await("the call", () -> told.size() == 1);
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Test
  void aReleaseAfterTheDeadlineIsALossAndEndsNobodyElsesLease() throws Exception {
    Lease lease = held("x", LockOptions.fixed(TTL));
    time.advance(TTL);
    Lease next = others("x").tryLock().orElseThrow();

    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    settle();
    assertThat(next.isHeld()).isTrue();
    next.verify();
    next.close();
  }

  @Test
  void aLossDuringTheReleaseIsToldOnce() throws Exception {
    for (int i = 0; i < 300; i++) {
      told.clear();
      Lease lease = held("x");
      lease.onLost(told::add);
      Actor<Boolean> losing = start("losing", () -> {
        lose("x");
        return true;
      });
      boolean lost;
      try {
        lease.close();
        lost = false;
      } catch (LockLostException e) {
        lost = true;
      }
      losing.result();
      settle();
      int expected = lost ? 1 : 0;
      Eventually.await("the call", () -> told.size() >= expected);
      settle();
      assertThat(told).hasSize(expected);
      assertThat(lease.state()).isEqualTo(lost ? LeaseState.LOST : LeaseState.RELEASED);
      // The store has not been told of a loss that was made up.
      assertThat(store.holder("x").isPresent())
          .isEqualTo(lost && others("x").forceRelease(lease.token()));
    }
  }

  @Test
  void aSlowListenerDelaysNeitherTheOthersNorTheEngine() {
    Lease slow = held("slow");
    Lease lease = held("x");
    Gate gate = new Gate();
    slow.onLost(loss -> passQuietly(gate));
    slow.onLost(told::add);
    lose("slow");
    gate.awaitCall();

    Eventually.await("the other listener", () -> told.size() == 1);
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isOne();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    gate.open();
    lease.close();
    assertThatThrownBy(slow::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aListenerThatThrowsDelaysNothing() {
    Lease lease = held("x");
    lease.onLost(loss -> {
      throw new IllegalStateException("no");
    });
    lease.onLost(loss -> {
      throw new AssertionError("no");
    });
    lease.onLost(told::add);
    lose("x");

    Eventually.await("the call", () -> told.size() == 1);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void anExecutorThatRunsCallbacksOnTheCallingThreadDelaysNothing() {
    client(builder -> builder.callbackExecutor(Runnable::run));
    Lease slow = held("slow");
    Lease lease = held("x");
    Gate gate = new Gate();
    slow.onLost(loss -> passQuietly(gate));
    slow.onLost(told::add);
    lose("slow");
    gate.awaitCall();

    Eventually.await("the other listener", () -> told.size() == 1);
    pass(AT_RENEWAL);
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(store.count(RENEW)).isOne();
    gate.open();
    lease.close();
    assertThatThrownBy(slow::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void anExecutorThatRefusesOrFailsDropsNoCallback() {
    AtomicInteger tasks = new AtomicInteger();
    client(builder -> builder.callbackExecutor(task -> {
      if (tasks.incrementAndGet() == 1) {
        throw new RejectedExecutionException("full");
      }
      throw new IllegalStateException("broken");
    }));
    Lease lease = held("x");
    lease.onLost(told::add);
    lease.onLost(told::add);
    lose("x");

    Eventually.await("the calls", () -> told.size() == 2);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    Eventually.await("the name", () -> lock("x").inspect().isPresent());
  }

  @Test
  void aLocalWaiterComesInWhenAThreadOfItsClientLosesTheLock() throws Exception {
    Lease lease = held("x", LockOptions.fixed(TTL));
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    time.advance(TTL.plus(Duration.ofMillis(1)));

    Lease next = waiter.result();
    assertThat(next.isHeld()).isTrue();
    assertThat(lease.isHeld()).isFalse();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    assertThat(next.isHeld()).isTrue();
  }

  @Test
  void anExpiredLeaseIsGivenBackSoThatOthersNeedNotWaitForTheRestOfItsTtl() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    pass(UNTIL_DEADLINE);

    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  static void passQuietly(Gate gate) {
    try {
      gate.pass();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** L-8.6. */
  @Test
  void aMassLossStartsFewThreads() {
    Gate gate = new Gate();
    // Kept: the listeners of a lease that nobody has are not called.
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 1_500; i++) {
      Lease lease = held("x" + i).detach();
      lease.onLost(loss -> {
        passQuietly(gate);
        told.add(loss);
      });
      leases.add(lease);
    }
    store.breakDown();
    advance(UNTIL_DEADLINE);
    Eventually.await("all to be lost", () -> EngineProbe.kept(client()) == 0);
    gate.awaitCall();
    long threads = Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("holdfast-"))
        .count();
    gate.open();

    assertThat(threads).isLessThan(50);
    Eventually.await("all to be told", () -> told.size() == leases.size());
  }

  private static final InheritableThreadLocal<String> TENANT = new InheritableThreadLocal<>();

  /** A request's tenant, say, must not show in what is done for another. */
  @Test
  void aListenerSeesNoThreadLocalsOfTheThreadThatHappenedToNeedItsThread() throws Exception {
    List<String> seen = new CopyOnWriteArrayList<>();
    for (String name : List.of("a", "b")) {
      start(name, () -> {
            TENANT.set(name);
            held(name).detach().onLost(loss -> seen.add(name + " sees " + TENANT.get()));
            lose(name);
            return true;
          })
          .result();
      Eventually.await("the call", () -> seen.size() == (name.equals("a") ? 1 : 2));
    }

    assertThat(seen).containsExactly("a sees null", "b sees null");
  }
}
