package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.simulation.ScriptedStore.Op;
import io.holdfast.lock.simulation.SimulatedTime;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A machine that is suspended while its store goes on (L-4.2, L-9.5). Its wall clock shows that,
 * and by then the deadline is not what the monotonic clock says.
 */
class SuspensionTest extends EngineTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration MINUTE = Duration.ofMinutes(1);

  /** Half of the allowance is 36 s. */
  private static final Duration SHOWS = Duration.ofSeconds(40);

  private static final Duration SHOWS_NOT = Duration.ofSeconds(30);

  private final SimulatedTime storesTime = new SimulatedTime();
  private final ScriptedStore farStore = new ScriptedStore(storesTime, server);
  private LockClient client;

  @BeforeEach
  void openClient() {
    client = opened(farStore.client().timeSource(time).build());
  }

  private Lease heldForAnHour() {
    return client.get("x", LockOptions.fixed(HOUR)).tryLock().orElseThrow();
  }

  private void sleep(Duration duration) {
    settle();
    storesTime.advance(duration);
    time.jumpWallClock(duration);
  }

  private void bothPass(Duration duration) {
    storesTime.advance(duration);
    pass(duration);
  }

  /** The lease's time is over at the store, and no question in between is answered. */
  private void passToTheStoresEnd() {
    farStore.breakDown();
    Duration left = farStore.holder("x").orElseThrow().remaining();
    bothPass(left);
    assertThat(farStore.holder("x")).isEmpty();
  }

  @Test
  void aWallClockThatIsSetBackAfterASuspensionDoesNotHideIt() {
    Lease lease = heldForAnHour();
    sleep(SHOWS);
    bothPass(Duration.ofSeconds(1));
    time.jumpWallClock(SHOWS.negated());

    assertThat(lease.isHeld()).isFalse();
    lease.close();
  }

  @Test
  void aWallClockThatIsSetBackDuringTheRequestHidesNoLaterSuspension() {
    farStore.next(Op.TRY_ACQUIRE, call -> {
      time.jumpWallClock(MINUTE.negated());
      settle();
      return call.call();
    });
    Lease lease = heldForAnHour();
    sleep(SHOWS);

    assertThat(lease.isHeld()).isFalse();
    lease.close();
  }

  /** The client has no lease that it looks after yet. */
  @Test
  void aWallClockThatIsSetBackDuringTheRequestHidesNoSuspensionDuringItEither() {
    farStore.next(Op.TRY_ACQUIRE, call -> {
      Object answer = call.call();
      settle();
      time.jumpWallClock(HOUR.negated());
      passTwoSeconds();
      storesTime.advance(SHOWS);
      time.jumpWallClock(SHOWS);
      return answer;
    });
    Lease lease = heldForAnHour();

    assertThat(farStore.count(Op.VERIFY)).isOne();
    assertThat(lease.remaining()).isLessThan(HOUR.minus(SHOWS));
    lease.close();
  }

  /** Nothing makes the keeper look but what it waits for. */
  private void passTwoSeconds() {
    storesTime.advance(Duration.ofSeconds(2));
    time.advance(Duration.ofSeconds(2));
    Eventually.await("the keeper to rest", () -> time.isParked(EngineProbe.keeper(client)));
  }

  @Test
  void manyShortSuspensionsAddUpThoughTheWallClockIsSetBackAfterEach() {
    Lease lease = heldForAnHour();
    for (int i = 0; i < 2; i++) {
      sleep(SHOWS_NOT);
      assertThat(lease.isHeld()).isEqualTo(i == 0);
      bothPass(Duration.ofSeconds(1));
      time.jumpWallClock(SHOWS_NOT.negated());
      bothPass(Duration.ofSeconds(1));
    }
    lease.close();
  }

  @Test
  void aVerificationDoesNotForgetTheTimeThatASuspensionTook() {
    Lease lease = heldForAnHour();
    for (int i = 0; i < 2; i++) {
      sleep(SHOWS_NOT);
      lease.verify();
    }
    sleep(SHOWS_NOT);
    passToTheStoresEnd();

    assertThat(lease.isHeld()).isFalse();
  }

  @Test
  void aVerificationThatIsAnsweredLateDoesNotForgetItEither() {
    Lease lease = heldForAnHour();
    sleep(MINUTE.multipliedBy(20));
    Gate gate = farStore.holdNextAnswer(Op.VERIFY);
    assertThat(lease.isHeld()).isFalse();
    gate.awaitCall();
    Duration nearlyWhatIsLeft = MINUTE.multipliedBy(19);
    storesTime.advance(nearlyWhatIsLeft);
    time.advance(nearlyWhatIsLeft);
    farStore.breakDown();
    gate.open();
    settle();
    passToTheStoresEnd();

    assertThat(lease.isHeld()).isFalse();
  }

  @Test
  void anExtensionDoesNotBringBackADeadlineFromBeforeASuspension() {
    Lease lease = heldForAnHour();
    sleep(MINUTE.multipliedBy(20));
    lease.extend(MINUTE);
    passToTheStoresEnd();

    assertThat(lease.isHeld()).isFalse();
  }

  @Test
  void aWallClockThatIsSetForwardTakesNothingOffWhatTheStoreConfirms() {
    Lease lease = heldForAnHour();
    time.jumpWallClock(MINUTE.multipliedBy(50));
    lease.verify();

    assertThat(lease.remaining()).isGreaterThan(MINUTE.multipliedBy(58));
    lease.close();
  }
}
