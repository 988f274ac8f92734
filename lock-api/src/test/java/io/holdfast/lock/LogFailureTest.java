package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.TappedTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A log that throws, since its disk is full, say: what the line was about is done all the same. */
class LogFailureTest extends EngineTest {
  /** The loggers whose lines could not be written. */
  private final List<String> failed = new CopyOnWriteArrayList<>();

  private final TappedTime tapped = new TappedTime(time);
  private final List<String> events = new CopyOnWriteArrayList<>();
  private EngineLog log;

  @BeforeEach
  void fillTheDisk() {
    log = new EngineLog(Level.WARN, line -> {
      failed.add(line.getLoggerName());
      throw new IllegalStateException("the disk is full");
    });
    client(builder -> builder.timeSource(tapped).addListener(new LockListener() {
      @Override
      public void lost(Lost event) {
        events.add("lost " + event.lockName());
      }

      @Override
      public void leaked(LeaseEvent event) {
        events.add("leaked " + event.lockName());
      }
    }));
  }

  @AfterEach
  void makeRoom() {
    log.close();
  }

  private long lines(String logger) {
    return failed.stream().filter(name -> name.endsWith("." + logger)).count();
  }

  private void awaitLine(String logger) {
    Eventually.await("a line of " + logger, () -> lines(logger) > 0);
  }

  /** L-6.6. */
  @Test
  void aWaitIsNotBrokenOffAndLeavesNothing() throws Exception {
    LockOptions own = LockOptions.defaults().withOwnership(Ownership.LEASE);
    AtomicReference<Lease> first = new AtomicReference<>();
    Actor<Optional<Lease>> waiter = start("waiter", () -> {
          first.set(held("x", own));
          return lock("x", own).tryLock(Duration.ofSeconds(1));
        })
        .awaitParked();
    awaitLine("Attempt");
    time.advance(Duration.ofSeconds(1));
    assertThat(waiter.result()).isEmpty();
    first.get().close();

    assertThat(store.holder("x")).isEmpty();
    assertThat(EngineProbe.kept(client())).isZero();
  }

  /** L-8.4. */
  @Test
  void aLossIsToldToItsListeners() {
    Lease lease = held("x");
    lease.onLost(loss -> events.add("told of " + loss.name()));
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);
    awaitLine("Settlement");
    Eventually.await("both to be told", () -> events.size() == 2);

    assertThat(events).containsExactlyInAnyOrder("lost x", "told of x");
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  /** L-5.5. */
  @Test
  void theKeeperGoesOn() {
    Lease renewed = held("renewed");
    Lease ending = held("ending", LockOptions.fixed(STORE_TIMEOUT.plusSeconds(1)));
    pass(STORE_TIMEOUT.plusSeconds(1));
    awaitLine("Settlement");
    assertThat(ending.isHeld()).isFalse();
    long before = lines("Keeper");
    tapped.tap(EngineProbe.keeper(client()), (call, nth) -> {
      if (call == TappedTime.Call.NANOS && nth == 1) {
        throw new OutOfMemoryError("Java heap space");
      }
    });
    time.advance(AT_RENEWAL);
    Eventually.await("the keeper's line", () -> lines("Keeper") > before);
    pass(Duration.ofMillis(200));

    assertThat(store.count(RENEW)).isOne();
    assertThat(renewed.state()).isEqualTo(LeaseState.HELD);
    renewed.close();
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private void dropOne() {
    Lease unused = held("x");
  }

  /** L-10.8. */
  @Test
  void aLeakIsNoLongerRenewed() {
    dropOne();
    Eventually.await("the leak to be found", () -> {
      System.gc();
      time.advance(Duration.ofMillis(1));
      settle();
      return events.contains("leaked x");
    });
    awaitLine("Settlement");
    pass(AT_RENEWAL);
    pass(UNTIL_DEADLINE);

    assertThat(store.count(RENEW)).isZero();
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
  }

  /** L-7.3. */
  @Test
  void aReleaseThatFailedIsMadeUpFor() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    lease.close();
    assertThat(lines("Settlement")).isPositive();

    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  /** L-10.1. */
  @Test
  void aClientIsClosedThoughItCannotSayWhatIsLeft() {
    Lease lease = held("x");
    store.failNext(RELEASE);
    time.runDuring(client()::close);

    assertThat(lines("ClientClosing")).isPositive();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(store.count(io.holdfast.lock.simulation.ScriptedStore.Op.CLOSE)).isOne();
  }
}
