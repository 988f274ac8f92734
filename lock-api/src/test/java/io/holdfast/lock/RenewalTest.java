package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.Sneaky;
import io.holdfast.lock.simulation.TappedTime;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RenewalTest extends EngineTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void aLeaseIsRenewedWhenAThirdOfItsTtlIsOverAndNotBefore() {
    Lease lease = held("x");
    pass(BEFORE_RENEWAL);
    assertThat(store.count(RENEW)).isZero();
    pass(AT_RENEWAL.minus(BEFORE_RENEWAL));

    assertThat(store.count(RENEW)).isOne();
    lease.close();
  }

  @Test
  void aRenewedLeaseIsHeldForAsLongAsItsHolderLikes() {
    Lease lease = held("x");
    for (int i = 0; i < 50; i++) {
      pass(AT_RENEWAL);
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    }

    assertThat(store.count(RENEW)).isEqualTo(50);
    lease.close();
  }

  @Test
  void aFixedLeaseIsNeverRenewed() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW) + store.count(VERIFY)).isZero();
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Test
  void aThousandLeasesThatBeganOneByOneAreSoonRenewedInOneCallPerPeriod() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      leases.add(held("x" + i));
      time.advance(Duration.ofMillis(9));
    }
    for (int second = 0; second < 100; second++) {
      pass(SECOND);
    }
    int before = store.count(RENEW);
    int leasesBefore = renewedLeases();
    for (int second = 0; second < 100; second++) {
      pass(SECOND);
    }

    assertThat(leases).allMatch(Lease::isHeld);
    assertThat(renewedLeases() - leasesBefore).isGreaterThan(9_000);
    // Ten periods, that jitter makes shorter by a tenth at most.
    assertThat(store.count(RENEW) - before).isLessThanOrEqualTo(12);
    leases.forEach(Lease::close);
  }

  @Test
  void roundsThatAreHalfAPeriodApartBecomeOne() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      if (i == 100) {
        time.advance(TTL.dividedBy(6));
      }
      leases.add(held("x" + i));
    }
    passInSmallSteps(Duration.ofSeconds(30));
    int before = store.count(RENEW);
    passInSmallSteps(Duration.ofSeconds(60));

    assertThat(store.count(RENEW) - before).isLessThanOrEqualTo(8);
    leases.forEach(Lease::close);
  }

  private void passInSmallSteps(Duration duration) {
    Duration step = Duration.ofMillis(100);
    for (Duration passed = Duration.ZERO;
        passed.compareTo(duration) < 0;
        passed = passed.plus(step)) {
      pass(step);
    }
  }

  private int renewedLeases() {
    return store.calls(RENEW).stream().mapToInt(call -> call.claims().size()).sum();
  }

  @Test
  void aGroupThatHangsDelaysNoOther() {
    store.groups(grant -> grant.claim().key().name());
    Lease hanging = held("hanging");
    Lease other = held("other");
    store.always(RENEW, this::hangIfHanging);
    Gate gate = hangingGate;
    for (int i = 0; i < 10; i++) {
      pass(SECOND.multipliedBy(3));
    }

    assertThat(other.state()).isEqualTo(LeaseState.HELD);
    assertThat(hanging.state()).isEqualTo(LeaseState.LOST);
    gate.open();
    other.close();
  }

  private final Gate hangingGate = new Gate();

  private Object hangIfHanging(Callable<Object> call) throws Throwable {
    if (store.calls(RENEW).stream()
        .filter(c -> c.thread() == Thread.currentThread())
        .reduce((first, second) -> second)
        .orElseThrow()
        .names()
        .contains("hanging")) {
      hangingGate.pass();
    }
    return call.call();
  }

  @Test
  void aRenewalThatFailsMakesTheLeaseUncertainIsRepeatedAndHealsIt() {
    Lease lease = held("x");
    store.failNext(RENEW);
    pass(AT_RENEWAL);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.isHeld()).isTrue();
    pass(SECOND.multipliedBy(3));

    assertThat(store.count(RENEW)).isEqualTo(2);
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void aLeaseThatNobodyCanRenewIsUncertainUntilItsDeadlineAndThenLost() {
    Lease lease = held("x");
    store.breakDown();
    advance(AT_RENEWAL);
    settle();
    time.advance(UNTIL_DEADLINE.minus(AT_RENEWAL).minusNanos(1));
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    time.advance(Duration.ofNanos(1));

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED));
  }

  @Test
  void aRenewalThatFindsAnotherHolderEndsTheLease() {
    Lease lease = held("x");
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    pass(AT_RENEWAL);

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.TAKEN));
  }

  @Test
  void anAnswerAboutSomeOfAGroupIsTakenForEachByItself() {
    Lease a = held("a");
    Lease b = held("b");
    Lease c = held("c");
    store.next(RENEW, call -> {
      List<Renewal> results = new ArrayList<>();
      for (String name : store.calls(RENEW).get(0).names()) {
        results.add(
            switch (name) {
              case "a" -> new Renewal.Renewed(TTL);
              case "b" -> new Renewal.Lost();
              default -> new Renewal.Unknown(new IOException("no answer"));
            });
      }
      return results;
    });
    pass(AT_RENEWAL);

    assertThat(a.state()).isEqualTo(LeaseState.HELD);
    assertThat(b.state()).isEqualTo(LeaseState.LOST);
    assertThat(c.state()).isEqualTo(LeaseState.UNCERTAIN);
    a.close();
    c.close();
  }

  @Test
  void anAnswerOfTheWrongLengthIsNoAnswer() {
    Lease lease = held("x");
    store.next(RENEW, call -> List.of());
    pass(AT_RENEWAL);

    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    lease.close();
  }

  @Test
  void whatARenewalSaysAboutALeaseThatIsBeingReleasedIsIgnored() {
    AtomicInteger lost = new AtomicInteger();
    Lease lease = held("x");
    lease.onLost(loss -> lost.incrementAndGet());
    Gate gate = store.holdNext(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    lease.close();
    gate.open();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(lost).hasValue(0);
  }

  @Test
  void renewalStopsAtReleaseHoweverTheyRace() {
    for (int i = 0; i < 1_000; i++) {
      Lease lease = held("x");
      time.advance(AT_RENEWAL);
      lease.close();
    }
    settle();
    int renewals = store.count(RENEW);
    for (int i = 0; i < 10; i++) {
      pass(AT_RENEWAL);
    }

    assertThat(store.count(RENEW)).isEqualTo(renewals);
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void aSuspendedSessionMakesTheLeaseUncertainUntilARenewalAtOnceConfirmsIt() {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    store.events().suspended(store.grant("x"));
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.isHeld()).isTrue();
    gate.awaitCall();
    gate.open();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void aSuspendedSessionOfAFixedLeaseIsVerifiedAndNotExtended() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    time.advance(SECOND);
    store.events().suspended(store.grant("x"));
    Eventually.await("an answer", () -> lease.state() == LeaseState.HELD);

    assertThat(store.count(VERIFY)).isOne();
    assertThat(store.count(RENEW)).isZero();
    assertThat(lease.remaining()).isLessThan(TTL.minusSeconds(1));
    lease.close();
  }

  @Test
  void aThousandFixedLeasesThatOutlastTheirSessionAreVerifiedInOneCallPerPeriod() {
    store.validFor(claim -> TTL);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      leases.add(held("x" + i, LockOptions.fixed(TTL.multipliedBy(100))));
      time.advance(Duration.ofMillis(9));
    }
    for (int second = 0; second < 100; second++) {
      pass(SECOND);
    }
    int before = store.count(VERIFY);
    for (int second = 0; second < 100; second++) {
      pass(SECOND);
    }

    assertThat(leases).allMatch(Lease::isHeld);
    // Ten periods, that jitter makes shorter by a tenth at most.
    assertThat(store.count(VERIFY) - before).isBetween(8, 12);
    leases.forEach(Lease::close);
  }

  /** As one that answers about one at a time, or about as many as fit into a request. */
  @Test
  void aStoreThatVerifiesThreeAtATimeIsAskedAboutTheRest() {
    store.always(VERIFY, call -> {
      List<?> all = (List<?>) call.call();
      return all.subList(0, Math.min(3, all.size()));
    });
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      leases.add(held("x" + i, LockOptions.fixed(TTL)));
    }
    settle();
    time.jumpWallClock(SECOND);
    assertThat(leases.get(0).isHeld()).isFalse();
    pass(SECOND.multipliedBy(3));

    assertThat(leases).allMatch(Lease::isHeld);
    leases.forEach(Lease::close);
  }

  @Test
  void aVerificationThatAnswersAboutNoneIsNoAnswer() {
    Lease lease = held("x", LockOptions.fixed(TTL));
    store.next(VERIFY, call -> List.of());
    store.events().suspended(store.grant("x"));
    settle();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    pass(SECOND.multipliedBy(3));

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  @Test
  void aThousandFixedLeasesInDoubtAreVerifiedInFewCalls() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      leases.add(held("x" + i, LockOptions.fixed(TTL)));
    }
    settle();
    time.jumpWallClock(SECOND);
    assertThat(leases.get(0).isHeld()).isFalse();
    Eventually.await("all to be verified", () -> leases.stream().allMatch(Lease::isHeld));

    assertThat(store.count(VERIFY)).isLessThan(20);
    leases.forEach(Lease::close);
  }

  @Test
  void aStoreThatFailsToVerifyOneFixedLeaseIsNotAskedAboutTheRestOfItsGroupInVain() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      leases.add(held("x" + i, LockOptions.fixed(TTL)));
    }
    Gate gate = new Gate();
    store.always(VERIFY, call -> {
      gate.pass();
      throw StoreException.unanswered("timed out", null);
    });
    leases.forEach(lease -> store.events().suspended(store.grant(lease.name())));
    gate.open();
    settle();
    int asked = store.count(VERIFY);
    store.heal();
    pass(SECOND.multipliedBy(3));

    assertThat(asked).isLessThan(10);
    assertThat(leases).allMatch(lease -> lease.state() == LeaseState.HELD);
    leases.forEach(Lease::close);
  }

  @Test
  void aSessionThatIsLostEndsItsLeaseAtOnce() {
    Lease lease = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.SESSION_LOST);

    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(lease::close)
        .isInstanceOfSatisfying(
            LockLostException.class,
            e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.SESSION_LOST));
  }

  @Test
  void whatIsToldOfAGrantThatIsOverIsIgnored() {
    Lease first = held("x");
    first.close();
    Lease second = held("x");
    store.events().lost(storeGrantOfFirst(), LeaseLoss.Reason.SESSION_LOST);

    assertThat(second.state()).isEqualTo(LeaseState.HELD);
    second.close();
  }

  private io.holdfast.lock.spi.Grant storeGrantOfFirst() {
    return store.grants("x").get(0);
  }

  @Test
  void aClientWithNothingToDoDoesNothing() {
    held("x").close();
    pass(TTL);
    int looks = looks();
    time.advance(TTL.multipliedBy(1_000_000));
    long untilNanos = System.nanoTime() + 100_000_000;
    Eventually.await("a while", () -> System.nanoTime() - untilNanos > 0);

    assertThat(looks()).isEqualTo(looks);
  }

  @Test
  void leasesThatComeAndGoDoNotWakeTheKeeperEach() {
    held("x").close();
    settle();
    int looks = looks();
    for (int i = 0; i < 1_000; i++) {
      held("x").close();
      time.advance(Duration.ofMillis(1));
    }

    // Only for one that is due sooner than all before it, and for one that comes during a look.
    assertThat(looks() - looks).isLessThan(200);
  }

  @Test
  void whileAHundredLeasesAreBeingRenewedTheKeeperDoesNotLookForEach() {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      leases.add(held("x" + i));
    }
    Gate gate = store.holdNext(RENEW);
    pass(BEFORE_RENEWAL);
    while (store.count(RENEW) == 0) {
      pass(Duration.ofMillis(10));
    }
    int looks = looks();
    // Each is due in this time, had it not gone along.
    for (int i = 0; i < 100; i++) {
      time.advance(AT_RENEWAL.minus(BEFORE_RENEWAL).dividedBy(100));
      Eventually.await("the keeper to rest", () -> time.isParked(EngineProbe.keeper(client())));
    }

    assertThat(looks() - looks).isLessThan(10);
    gate.open();
    leases.forEach(Lease::close);
  }

  /** L-8.7. */
  @Test
  void anAnswerToAQuestionFromBeforeADoubtDoesNotSettleIt() {
    Lease lease = held("x");
    Gate before = store.holdNextAnswer(RENEW);
    advance(AT_RENEWAL);
    before.awaitCall();
    time.advance(Duration.ofMillis(1));
    store.events().suspended(store.grant("x"));
    Gate after = store.holdNext(RENEW);
    before.open();
    after.awaitCall();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.isHeld()).isTrue();
    after.open();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  /** Stores in other languages throw what they did not declare, too. */
  private static List<Throwable> whatAStoreMayThrow() {
    return List.of(
        new NoClassDefFoundError("gone"),
        new IllegalStateException("broken"),
        new IOException("a store in another language"));
  }

  /** L-5.5. */
  @ParameterizedTest
  @MethodSource("whatAStoreMayThrow")
  void whateverARenewalThrowsItIsRepeatedAtADistance(Throwable thrown) {
    Lease lease = held("x");
    store.always(RENEW, call -> {
      throw thrown;
    });
    pass(AT_RENEWAL);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(store.count(RENEW)).isOne();
    pass(SECOND.multipliedBy(3));
    assertThat(store.count(RENEW)).isEqualTo(2);
    store.heal();
    pass(SECOND.multipliedBy(3));

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  /** L-5.5. */
  @ParameterizedTest
  @MethodSource("whatAStoreMayThrow")
  void whateverAStoreThrowsThatIsAskedForAGroupCostsNoLease(Throwable thrown) {
    store.groups(grant -> {
      if (grant.claim().key().name().equals("odd")) {
        throw Sneaky.thrown(thrown);
      }
      return "one";
    });
    Lease odd = held("odd");
    Lease other = held("other");
    for (int i = 0; i < 4; i++) {
      pass(AT_RENEWAL);
    }

    assertThat(other.state()).isEqualTo(LeaseState.HELD);
    assertThat(odd.state()).isEqualTo(LeaseState.HELD);
    other.close();
    odd.close();
  }

  /** L-5.5: wherever the memory runs out for a moment, the lease is renewed a little later. */
  @Test
  void anErrorAnywhereInTheKeepersLookDelaysRenewalByATenthOfASecond() {
    TappedTime tapped = new TappedTime(time);
    client(builder -> builder.timeSource(tapped));
    Lease lease = held("x");
    Thread keeper = EngineProbe.keeper(client());
    for (int i = 1; i <= 12; i++) {
      int failing = i;
      int renewals = store.count(RENEW);
      settle();
      tapped.tap(keeper, (call, nth) -> {
        if (call == TappedTime.Call.NANOS && nth == failing) {
          throw new OutOfMemoryError("Java heap space");
        }
      });
      pass(AT_RENEWAL);
      tapped.untap(keeper);
      pass(Duration.ofMillis(200));
      assertThat(store.count(RENEW)).as("clock call %d fails", i).isGreaterThan(renewals);
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    }
    lease.close();
  }

  @Test
  void anInterruptOfTheKeeperIsForgotten() {
    Lease lease = held("x");
    settle();
    EngineProbe.keeper(client()).interrupt();
    settle();
    int looks = looks();
    long untilNanos = System.nanoTime() + 100_000_000;
    Eventually.await("a while", () -> System.nanoTime() - untilNanos > 0);
    assertThat(looks()).isEqualTo(looks);
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).isOne();
    lease.close();
  }
}
