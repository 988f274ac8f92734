package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.simulation.SimulatedTime;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Two clients on machines of their own, and a server, whose clocks go wrong no further than is
 * assumed: there are never two holders (L-2.1).
 */
class TwoMachinesTest extends EngineTest {
  private static final Duration ALLOWANCE = Duration.ofMillis(600);

  private final SimulatedTime timeOfA = new SimulatedTime();
  private final SimulatedTime timeOfB = new SimulatedTime();

  private DistributedLock ofA(LockOptions options) {
    return clientOn(timeOfA, "a").get("x", options);
  }

  private DistributedLock ofB(LockOptions options) {
    return clientOn(timeOfB, "b").get("x", options);
  }

  private LockClient clientOn(SimulatedTime machine, String name) {
    ScriptedStore itsStore = new ScriptedStore(time, server);
    return opened(itsStore.client().clientName(name).timeSource(machine).build(), machine);
  }

  private void passEverywhere(Duration duration) {
    settle();
    time.advance(duration);
    timeOfA.advance(duration);
    timeOfB.advance(duration);
    settle();
  }

  private static void assertNotTwoHolders(Lease first, Optional<Lease> second) {
    assertThat(second).isPresent();
    assertThat(second.get().isHeld()).isTrue();
    assertThat(first.isHeld()).isFalse();
    assertThat(first.remaining()).isZero();
  }

  /** L-4.7. */
  @Test
  void aStepOfTheStoresClockIsCoveredHoweverOftenTheHolderAsked() {
    LockOptions options = LockOptions.fixed(TTL);
    Lease first = ofA(options).tryLock().orElseThrow();
    DistributedLock other = ofB(options);
    for (int second = 0; second < 29; second++) {
      passEverywhere(Duration.ofSeconds(1));
      first.verify();
    }
    passEverywhere(Duration.ofMillis(100));
    time.advance(Duration.ofMillis(100));
    passEverywhere(Duration.ofMillis(805));

    assertNotTwoHolders(first, other.tryLock());
  }

  /** L-4.7, L-9.5: the doubt is settled by a verification, which nobody but the engine asks for. */
  @Test
  void aStepOfTheStoresClockIsCoveredThoughTheClientsClockMadeAStepBefore() {
    LockOptions options = LockOptions.fixed(TTL);
    Lease first = ofA(options).tryLock().orElseThrow();
    DistributedLock other = ofB(options);
    passEverywhere(Duration.ofSeconds(29));
    timeOfA.jumpWallClock(Duration.ofMillis(400));
    assertThat(first.isHeld()).isFalse();
    settle();
    assertThat(first.isHeld()).isTrue();
    passEverywhere(Duration.ofMillis(100));
    time.advance(Duration.ofMillis(100));
    passEverywhere(Duration.ofMillis(805));

    assertNotTwoHolders(first, other.tryLock());
  }

  /** L-9.5: the wall clock is right again when the machine wakes up, and tells of the sleep. */
  @Test
  void aSleepIsNoticedThoughTheWallClockWasSetBackBefore() {
    LockOptions options = LockOptions.fixed(Duration.ofHours(1));
    Lease first = ofA(options).tryLock().orElseThrow();
    DistributedLock other = ofB(options);
    passEverywhere(Duration.ofMinutes(1));
    timeOfA.jumpWallClock(Duration.ofMinutes(-10));
    passEverywhere(Duration.ofSeconds(2));
    sleepA(Duration.ofMinutes(8));
    assertThat(first.isHeld()).isFalse();
    settle();
    assertThat(first.isHeld()).isTrue();
    passEverywhere(Duration.ofMinutes(51));

    assertNotTwoHolders(first, other.tryLock());
  }

  /** L-9.5: the holder saw the step back, and nobody else looked before the sleep. */
  @Test
  void aSleepIsNoticedIfOnlyTheHolderSawTheWallClockSetBack() {
    LockOptions options = LockOptions.fixed(Duration.ofHours(1));
    Lease first = ofA(options).tryLock().orElseThrow();
    passEverywhere(Duration.ofMinutes(1));
    timeOfA.jumpWallClock(Duration.ofMinutes(-10));
    assertThat(first.isHeld()).isTrue();
    sleepA(Duration.ofMinutes(8));

    assertThat(first.isHeld()).isFalse();
  }

  /** A machine's monotonic clock stands still while it sleeps. */
  private void sleepA(Duration duration) {
    timeOfA.jumpWallClock(duration);
    time.advance(duration);
    timeOfB.advance(duration);
  }

  /** L-4.4: without this the tests above would show nothing. */
  @Test
  void aStepOfTheStoresClockBeyondTheAllowanceIsNotCovered() {
    LockOptions options = LockOptions.fixed(TTL);
    Lease first = ofA(options).tryLock().orElseThrow();
    DistributedLock other = ofB(options);
    passEverywhere(TTL.minus(ALLOWANCE).minusMillis(1));
    time.advance(ALLOWANCE.plusMillis(1));

    assertThat(first.isHeld()).isTrue();
    assertThat(other.tryLock()).isPresent();
  }
}
