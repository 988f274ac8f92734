package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Leases that nobody has any more and nobody closed. */
class LeakTest extends EngineTest {
  private final List<String> events = new CopyOnWriteArrayList<>();

  @BeforeEach
  void listen() {
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void leaked(LeaseEvent event) {
        events.add("leaked " + event.lockName() + " " + event.token());
      }

      @Override
      public void lost(Lost event) {
        events.add("lost " + event.lockName() + " " + event.loss().reason());
      }
    }));
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private long dropOne(String name) {
    return held(name).token();
  }

  private void awaitLeak() {
    Eventually.await("the leak to be found", () -> {
      System.gc();
      time.advance(java.time.Duration.ofMillis(1));
      settle();
      return !events.isEmpty();
    });
  }

  @Test
  void aDroppedLeaseIsToldIsNoLongerRenewedAndEndsWithItsTtl() throws Exception {
    long token = dropOne("x");
    System.gc();
    pass(AT_RENEWAL);
    awaitLeak();
    int renewals = store.count(RENEW);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);

    assertThat(waiter.result().isHeld()).isTrue();
    assertThat(store.calls(RENEW).stream()
            .skip(renewals)
            .filter(
                call -> call.claims().equals(List.of(store.grants("x").get(0).claim()))))
        .isEmpty();
    Eventually.await("both events", () -> events.size() == 2);
    assertThat(events).containsExactly("leaked x " + token, "lost x EXPIRED");
  }

  @Test
  void aClosedLeaseIsNoLeak() {
    for (int i = 0; i < 100; i++) {
      held("x").close();
    }
    System.gc();
    pass(AT_RENEWAL);
    System.gc();
    pass(AT_RENEWAL);

    assertThat(events).isEmpty();
  }

  @Test
  void aDroppedNestedHandleIsToldAndTheOuterLeaseGoesOn() {
    Lease outer = held("x");
    dropOne("x");
    System.gc();
    pass(AT_RENEWAL);
    awaitLeak();

    assertThat(outer.isHeld()).isTrue();
    assertThat(events).containsExactly("leaked x " + outer.token());
    outer.close();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aThreadThatDroppedItsLeaseWaitsLikeAnyOther() throws Exception {
    dropOne("x");
    System.gc();
    pass(AT_RENEWAL);
    awaitLeak();

    assertThat(lock("x").tryLock()).isEmpty();
    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
  }

  @Test
  @SuppressWarnings("LockNotBeforeTry") // A test that fails leaves no lock of anybody's.
  void aLockTakenThroughTheJavaViewIsHeldByItsThreadAndNoLeak() {
    lock("x").asLock().lock();
    System.gc();
    pass(AT_RENEWAL);
    System.gc();
    pass(AT_RENEWAL);

    assertThat(events).isEmpty();
    assertThat(lock("x").isHeldByCurrentThread()).isTrue();
    lock("x").asLock().unlock();
  }

  /** In a frame of its own, too. */
  private void dropOneWithAListenerThatMentionsIt() {
    Lease lease = held("x");
    lease.onLost(loss -> events.add("told of " + lease.name()));
  }

  /** The usual listener does. */
  @Test
  void aLeaseWhoseListenerMentionsItIsFoundToo() {
    dropOneWithAListenerThatMentionsIt();
    awaitLeak();
    assertThat(events).containsExactly("leaked x 1024");
    pass(AT_RENEWAL);
    pass(UNTIL_DEADLINE);

    assertThat(store.count(RENEW)).isZero();
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  /** L-10.8: it can't be unlocked any more. */
  @Test
  @SuppressWarnings("LockNotBeforeTry") // It is never unlocked.
  void aLockThatAThreadTookThroughTheJavaViewAndKeptWhenItDiedIsToldAndEnds() throws Exception {
    Thread thread = new Thread(() -> {
      lock("x").asLock().lock();
      lock("x").asLock().lock();
    });
    thread.start();
    thread.join();
    long token = store.grant("x").number() << 10;
    settle();
    Eventually.await("the leak to be found", () -> events.size() == 2);
    int renewals = store.count(RENEW);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    pass(AT_RENEWAL);
    pass(UNTIL_DEADLINE);

    assertThat(store.count(RENEW)).isEqualTo(renewals);
    assertThat(waiter.result().isHeld()).isTrue();
    Eventually.await("the loss", () -> events.size() == 3);
    assertThat(events).containsExactly("leaked x " + token, "leaked x " + token, "lost x EXPIRED");
  }
}
