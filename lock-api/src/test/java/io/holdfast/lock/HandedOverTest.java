package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.EXTEND;
import static io.holdfast.lock.simulation.ScriptedStore.Op.POLL;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A store that tells a waiter of its grant, without being asked. */
class HandedOverTest extends EngineTest {
  private static final Duration VALID_FOR = Duration.ofSeconds(3);

  /** Less is taken off for the clocks. */
  private static final Duration MARGIN = Duration.ofMillis(60);

  private static final Duration LITTLE = Duration.ofMillis(400);
  private static final Duration CONFIRMED_WITHIN = Duration.ofMillis(60);

  @BeforeEach
  void tellOfHandOvers() {
    store.tellOfHandOvers(VALID_FOR);
  }

  @Test
  void theLeaseStartsWithoutAQuestionAndCountsFromTheLastOne() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults()).result();

    assertThat(store.count(POLL)).isZero();
    assertThat(lease.remaining()).isEqualTo(VALID_FOR.minus(MARGIN).minus(LITTLE));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void itIsConfirmedSoonForItsWholeTtl() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults()).result();
    pass(CONFIRMED_WITHIN);

    assertThat(store.count(RENEW)).isOne();
    assertThat(lease.remaining()).isGreaterThan(TTL.minusSeconds(1));
    lease.close();
  }

  @Test
  void soonIsNotAtOnceThoughTheLastQuestionIsLongAgo() throws Exception {
    Lease lease = handedOverAfter(VALID_FOR.dividedBy(2).minusMillis(100), LockOptions.defaults())
        .result();
    settle();
    assertThat(store.count(RENEW)).isZero();
    pass(CONFIRMED_WITHIN);

    assertThat(store.count(POLL)).isZero();
    assertThat(store.count(RENEW)).isOne();
    lease.close();
  }

  /** A guard that keeps a grant from being renewed has it confirmed first, for its whole TTL. */
  @Test
  void aGuardHasItConfirmedBeforeItKeepsItFromBeingRenewed() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults()).result();
    try (LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class)) {
      guard.suspendRenewal();
      assertThat(lease.remaining()).isGreaterThan(TTL.minusSeconds(1));
      guard.suspendRenewal();
    }

    assertThat(store.count(EXTEND)).isOne();
    lease.close();
  }

  @Test
  void aShortSectionNeedsNoConfirmation() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults()).result();
    lease.close();
    pass(CONFIRMED_WITHIN);

    assertThat(store.count(RELEASE)).isOne();
    assertThat(store.count(RENEW)).isZero();
  }

  @Test
  void ifNobodyConfirmsItItEndsThatLongAfterTheQuestion() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults()).result();
    store.breakDown();
    pass(VALID_FOR.minus(MARGIN).minus(LITTLE).minusMillis(1));
    assertThat(lease.isHeld()).isTrue();
    pass(Duration.ofMillis(1));

    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Test
  void ifHalfOfItIsOverTheStoreIsAsked() throws Exception {
    Lease lease =
        handedOverAfter(VALID_FOR.dividedBy(2), LockOptions.defaults()).result();

    assertThat(store.count(POLL)).isOne();
    assertThat(lease.remaining()).isGreaterThan(TTL.minusSeconds(1));
    lease.close();
  }

  @Test
  void halfOfTheStoreTimeoutIsEnoughForIt() throws Exception {
    startsOnlyWithMoreThan(STORE_TIMEOUT.dividedBy(2));
  }

  @Test
  void withAShortStoreTimeoutTwoSecondsAreEnoughSoThatAPauseDoesNotCostIt() throws Exception {
    client(builder -> builder.storeTimeout(Duration.ofMillis(100)));
    startsOnlyWithMoreThan(Duration.ofSeconds(2));
  }

  private void startsOnlyWithMoreThan(Duration enough) throws Exception {
    Duration validFor = Duration.ofSeconds(10);
    store.tellOfHandOvers(validFor);
    Duration lastMoment =
        validFor.minus(validFor.dividedBy(50)).minus(enough); // Some is taken off for the clocks.
    Lease lease =
        handedOverAfter(lastMoment.minusMillis(1), LockOptions.defaults()).result();
    assertThat(store.count(POLL)).isZero();
    lease.close();

    handedOverAfter(lastMoment, LockOptions.defaults()).result().close();
    assertThat(store.count(POLL)).isOne();
  }

  @Test
  void ifTheWallClockRanAheadSinceTheQuestionTheStoreIsAsked() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = waiter(LockOptions.defaults());
    time.jumpWallClock(Duration.ofSeconds(2));
    others.close();

    waiter.result().close();
    assertThat(store.count(POLL)).isOne();
  }

  /** L-9.5. */
  @Test
  void soItIsIfTheWallClockWasSetBackASecondBefore() throws Exception {
    Lease others = others("x").lock();
    Actor<Lease> waiter = waiter(LockOptions.defaults());
    settle();
    time.jumpWallClock(Duration.ofSeconds(-10));
    time.advance(Duration.ofMillis(1_100));
    Eventually.await("the keeper to rest", () -> time.isParked(EngineProbe.keeper(client())));
    time.jumpWallClock(Duration.ofSeconds(2));
    others.close();

    waiter.result().close();
    assertThat(store.count(POLL)).isOne();
  }

  @Test
  void aFixedLeaseIsToHaveItsWholeTtl() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.fixed(TTL)).result();

    assertThat(store.count(POLL)).isOne();
    assertThat(lease.remaining()).isGreaterThan(TTL.minusSeconds(1));
    lease.close();
  }

  @Test
  void aLeaseWithAMaximumHoldIsToHaveAllOfThat() throws Exception {
    Lease lease = handedOverAfter(LITTLE, LockOptions.defaults().withMaxHold(Duration.ofSeconds(2)))
        .result();

    assertThat(store.count(POLL)).isOne();
    assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(2));
    lease.close();
  }

  private Actor<Lease> handedOverAfter(Duration age, LockOptions options)
      throws InterruptedException {
    Lease others = others("x").lock();
    Actor<Lease> waiter = waiter(options);
    advance(age);
    others.close();
    return waiter;
  }

  private Actor<Lease> waiter(LockOptions options) throws InterruptedException {
    return start("waiter", () -> lock("x", options).lock()).awaitParked();
  }
}
