package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.Sneaky;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ListenerTest extends EngineTest {
  private final List<String> events = new CopyOnWriteArrayList<>();
  private final List<Thread> threads = new CopyOnWriteArrayList<>();

  private final class Recorder implements LockListener {
    private void add(String event) {
      threads.add(Thread.currentThread());
      events.add(event);
    }

    @Override
    public void acquired(Acquired event) {
      add("acquired " + event.lockName() + " " + event.source() + " "
          + event.waited().toMillis());
    }

    @Override
    public void notAcquired(NotAcquired event) {
      add("not acquired " + event.lockName() + " " + event.waited().toMillis()
          + event.failure().map(e -> " " + e.getClass().getSimpleName()).orElse(""));
    }

    @Override
    public void released(Released event) {
      add("released " + event.lockName() + " " + event.held().toMillis()
          + (event.confirmed() ? "" : " unconfirmed"));
    }

    @Override
    public void uncertain(LeaseEvent event) {
      add("uncertain " + event.lockName());
    }

    @Override
    public void confirmed(LeaseEvent event) {
      add("confirmed " + event.lockName());
    }

    @Override
    public void lost(Lost event) {
      add("lost " + event.lockName() + " " + event.loss().reason());
    }

    @Override
    public void leaked(LeaseEvent event) {
      add("leaked " + event.lockName());
    }
  }

  @BeforeEach
  void listen() {
    client(builder -> builder.addListener(new Recorder()));
  }

  private void assertEvents(String... expected) {
    Eventually.await("events", () -> events.size() >= expected.length);
    settle();
    assertThat(events).containsExactly(expected);
  }

  @Test
  void aCallersOwnOutcomesAreToldOnItsThread() throws Exception {
    store.delayNextAnswer(
        io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE, Duration.ofMillis(3));
    Lease lease = held("x");
    time.advance(Duration.ofMillis(40));
    lease.close();
    Lease others = others("x").lock();
    assertThat(lock("x").tryLock()).isEmpty();
    others.close();

    assertEvents("acquired x STORE 3", "released x 40", "not acquired x 0");
    assertThat(threads).containsOnly(Thread.currentThread());
  }

  @Test
  void everyWayToGoWithoutIsTold() throws Exception {
    Lease others = others("x").lock();
    Actor<?> timed =
        start("timed", () -> lock("x").tryLock(Duration.ofMillis(7))).awaitParked();
    time.advance(Duration.ofMillis(7));
    timed.result();
    Actor<?> interrupted = start("interrupted", () -> lock("x").lock()).awaitParked();
    interrupted.interrupt();
    assertThatThrownBy(interrupted::result).isInstanceOf(InterruptedException.class);
    others.close();
    store.failNext(io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE);
    assertThatThrownBy(() -> held("x")).isInstanceOf(LockStoreException.class);

    assertEvents(
        "not acquired x 7",
        "not acquired x 0 InterruptedException",
        "not acquired x 0 LockStoreException");
  }

  @Test
  void aNestedAcquisitionIsToldAndOnlyTheLastCloseIsARelease() {
    Lease outer = held("x");
    time.advance(Duration.ofMillis(30));
    Lease nested = held("x");
    outer.close();
    time.advance(Duration.ofMillis(12));
    nested.close();

    assertEvents("acquired x STORE 0", "acquired x REENTRANT 0", "released x 42");
  }

  @Test
  void aReleaseThatDidNotGetThroughIsToldAsUnconfirmed() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    lease.close();

    assertEvents("acquired x STORE 0", "released x 0 unconfirmed");
  }

  @Test
  void doubtAndItsEndAreToldOnceEach() {
    Lease lease = held("x");
    store.failNext(RENEW);
    store.failNext(RENEW);
    pass(AT_RENEWAL);
    pass(Duration.ofSeconds(3));
    pass(Duration.ofSeconds(3));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    assertThat(threads.get(1)).isNotSameAs(Thread.currentThread());
    lease.close();
  }

  @Test
  void aDoubtThatGrowsIsToldOnce() {
    Lease lease = held("x");
    store.breakDown();
    store.events().suspended(store.grant("x"));
    settle();
    time.jumpWallClock(Duration.ofHours(1));
    assertThat(lease.isHeld()).isFalse();
    settle();
    store.heal();
    pass(Duration.ofSeconds(3));
    assertThat(lease.isHeld()).isTrue();

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    lease.close();
  }

  @Test
  void aLossIsToldOnceAndIsNoRelease() {
    Lease lease = held("x");
    store.breakDown();
    pass(UNTIL_DEADLINE);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired x STORE 0", "lost x EXPIRED");
  }

  @Test
  void aLossThatTheReleaseFindsIsALossAndNoRelease() {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired x STORE 0", "lost x TAKEN");
  }

  @Test
  void everyOpenLeaseOfAClosedClientIsToldAsLost() {
    Lease a = held("a");
    time.runDuring(client()::close);
    assertThatThrownBy(a::close).isInstanceOf(LockLostException.class);

    assertEvents("acquired a STORE 0", "lost a CLIENT_CLOSED");
  }

  @Test
  void whatAListenerThrowsGoesNoFurther() throws Exception {
    LockClient client = opened(store
        .client()
        .clientName("test")
        .addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            LossTest.passQuietly(null);
          }

          @Override
          public void notAcquired(NotAcquired event) {
            throw new IllegalStateException("no");
          }

          @Override
          public void released(Released event) {
            throw new AssertionError("no");
          }
        })
        .addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            throw Sneaky.thrown(new java.io.IOException("no"));
          }
        })
        .addListener(new Recorder())
        .build());
    Lease lease = client.get("x").tryLock().orElseThrow();
    lease.close();

    assertThat(store.holder("x")).isEmpty();
    assertEvents("acquired x STORE 0", "released x 0");
  }

  @Test
  void aListenerThatHangsInTheBackgroundDelaysOnlyTheEventsBehindIt() {
    Gate gate = new Gate();
    LockClient client = opened(store
        .client()
        .clientName("test")
        .addListener(new LockListener() {
          @Override
          public void uncertain(LeaseEvent event) {
            LossTest.passQuietly(gate);
          }
        })
        .addListener(new Recorder())
        .build());
    Lease lease = client.get("x").tryLock().orElseThrow();
    store.failNext(RENEW);
    pass(AT_RENEWAL);
    gate.awaitCall();
    pass(Duration.ofSeconds(3));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(events).containsExactly("acquired x STORE 0");
    gate.open();

    assertEvents("acquired x STORE 0", "uncertain x", "confirmed x");
    lease.close();
  }
}
