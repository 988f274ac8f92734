package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class GuardTest extends EngineTest {

  private static LeaseGuard<Grant> guard(Lease lease) {
    return LeaseGuard.open(lease, Grant.class);
  }

  @Test
  void aGuardKnowsTheGrantThatTheStoreShallStillShow() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);

    assertThat(guard.grant()).isSameAs(store.grant("x"));
    guard.close();
    lease.close();
  }

  @Test
  void aGuardOpensOnAnOpenAndValidLeaseOfThisStoreOnly() {
    interface OtherGrant extends Grant {}

    Lease lease = held("x");
    assertThatThrownBy(() -> LeaseGuard.open(lease, OtherGrant.class))
        .isInstanceOf(IllegalArgumentException.class);
    lease.close();
    assertThatThrownBy(() -> guard(lease)).isInstanceOf(IllegalStateException.class);
    Lease lost = held("y");
    store.events().lost(store.grant("y"), LeaseLoss.Reason.TAKEN);
    assertThatThrownBy(() -> guard(lost)).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void closingTheLeaseUnderAnOpenGuardThrowsAndReleasesWhenTheGuardEnds() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(store.count(RELEASE)).isZero();
    guard.close();

    store.awaitCount(RELEASE, 1);
    Eventually.await("the end", () -> lease.state() == LeaseState.RELEASED);
    assertThat(store.holder("x")).isEmpty();
    lease.close();
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void aLeaseThatWasClosedUnderAGuardIsNoLongerRenewedAndEndsWithItsTtl() throws Exception {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    pass(AT_RENEWAL);
    pass(UNTIL_DEADLINE.minus(AT_RENEWAL));

    assertThat(store.count(RENEW)).isZero();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(store.count(RELEASE)).isZero();
    guard.close();
    store.awaitCount(RELEASE, 1);
  }

  /** L-8.4: whoever closed it was only told that a guard is open. */
  @Test
  void aLossAfterACloseUnderAGuardIsToldToItsListener() {
    List<LeaseLoss.Reason> told = Collections.synchronizedList(new ArrayList<>());
    Lease lease = held("x");
    lease.onLost(loss -> told.add(loss.reason()));
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    assertThat(guard.lost().reason()).isEqualTo(LeaseLoss.Reason.TAKEN);

    Eventually.await("the listener", () -> !told.isEmpty());
    guard.close();
    settle();
    assertThat(told).containsExactly(LeaseLoss.Reason.TAKEN);
  }

  @Test
  void aLossThatTheReleaseAfterAGuardFindsIsToldAndLogged() {
    List<LeaseLoss.Reason> told = Collections.synchronizedList(new ArrayList<>());
    List<String> log = Collections.synchronizedList(new ArrayList<>());
    Lease lease = held("x");
    lease.onLost(loss -> told.add(loss.reason()));
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    EngineLog engine = new EngineLog(Level.WARN, line -> log.add(line.getFormattedMessage()));
    try (engine) {
      guard.close();
      Eventually.await("the listener", () -> !told.isEmpty());
    }

    assertThat(told).containsExactly(LeaseLoss.Reason.TAKEN);
    assertThat(log).anyMatch(line -> line.endsWith("was lost: TAKEN"));
  }

  @Test
  void whatIsLostUnderAGuardIsGivenBackWhenItsClientIsClosed() {
    Lease lease = held("x", LockOptions.renewed(TTL).withMaxHold(Duration.ofSeconds(10)));
    LeaseGuard<Grant> guard = guard(lease);
    pass(Duration.ofSeconds(10));
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(store.holder("x")).isPresent();
    client().close();

    assertThat(store.holder("x")).isEmpty();
    guard.close();
  }

  @Test
  void whatWasClosedAndLostUnderAGuardIsNamedIfItsClientIsClosedBefore() {
    List<String> log = Collections.synchronizedList(new ArrayList<>());
    Lease lease = held("x", LockOptions.renewed(TTL).withMaxHold(Duration.ofSeconds(10)));
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    pass(Duration.ofSeconds(10));
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    client().close();
    EngineLog engine = new EngineLog(Level.WARN, line -> log.add(line.getFormattedMessage()));
    try (engine) {
      guard.close();
    }

    assertThat(log)
        .containsExactly(
            "Lock 'x' may stay taken until its TTL is over, since its lock client is closed");
  }

  @Test
  void onlyTheLastOfSeveralGuardsReleases() {
    Lease lease = held("x");
    LeaseGuard<Grant> first = guard(lease);
    LeaseGuard<Grant> second = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    first.close();
    first.close();
    settle();
    assertThat(store.count(RELEASE)).isZero();
    second.close();

    store.awaitCount(RELEASE, 1);
  }

  @Test
  void aNestedHandleMayBeClosedUnderAGuard() {
    Lease outer = held("x");
    Lease nested = held("x");
    LeaseGuard<Grant> guard = guard(nested);
    nested.close();
    guard.close();

    assertThat(outer.isHeld()).isTrue();
    outer.close();
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void aLeaseThatWasClosedUnderAGuardIsNotReentered() throws Exception {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);

    assertThat(lock("x").isHeldByCurrentThread()).isFalse();
    assertThat(lock("x").tryLock()).isEmpty();
    guard.close();
    Eventually.await("the release", () -> store.holder("x").isEmpty());
    Lease next = lock("x").lock();
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
  }

  @Test
  void localWaitersComeInWhenTheGuardEnds() throws Exception {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
    waiter.awaitParked();
    guard.close();

    assertThat(waiter.result().token() >>> 10).isGreaterThan(lease.token() >>> 10);
  }

  @Test
  void renewalRestsWhileAGuardSuspendsItAndIsMadeUpForAfterwards() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    guard.suspendRenewal();
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isZero();
    guard.close();
    settle();

    assertThat(store.count(RENEW)).isOne();
    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE);
    lease.close();
  }

  @Test
  void aGuardThatDoesNotSuspendRenewalLeavesItGoing() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).isOne();
    guard.close();
    lease.close();
  }

  @Test
  void otherLeasesAreRenewedWhileAGuardSuspendsOne() {
    Lease guarded = held("guarded");
    Lease other = held("other");
    LeaseGuard<Grant> guard = guard(guarded);
    guard.suspendRenewal();
    pass(AT_RENEWAL);

    assertThat(store.calls(RENEW)).hasSize(1);
    assertThat(store.calls(RENEW).get(0).names()).containsExactly("other");
    guard.close();
    guarded.close();
    other.close();
  }

  /** L-5.1. */
  @Test
  void aLeaseThatFallsDueShortlyAfterOneThatCannotBeRenewedIsRenewedAllTheSame() {
    Lease guarded = held("guarded");
    LeaseGuard<Grant> guard = guard(guarded);
    assertThatThrownBy(guarded::close).isInstanceOf(IllegalStateException.class);
    pass(Duration.ofMillis(2_500));
    Lease other = held("other");
    pass(AT_RENEWAL.minusMillis(2_500));
    pass(Duration.ofMillis(2_500));

    assertThat(store.calls(RENEW)).hasSize(1);
    assertThat(store.calls(RENEW).get(0).names()).containsExactly("other");
    guard.close();
    other.close();
  }

  @Test
  void suspendingWaitsForARenewalThatIsUnderWayWhoeverElseWaits() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    List<Actor<Boolean>> suspending = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      suspending.add(start("suspending " + i, () -> {
            try (LeaseGuard<Grant> guard = guard(lease)) {
              guard.suspendRenewal();
              return true;
            }
          })
          .awaitParked());
    }
    gate.open();

    for (Actor<Boolean> one : suspending) {
      assertThat(one.result()).isTrue();
    }
    lease.close();
  }

  @Test
  void suspendingWaitsAtMostOneStoreTimeoutForARenewal() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    Actor<Boolean> suspending = start("suspending", () -> {
          guard(lease).suspendRenewal();
          return true;
        })
        .awaitParked();
    time.advance(STORE_TIMEOUT);

    assertThat(suspending.result()).isTrue();
    gate.open();
  }

  @Test
  void suspendingALeaseThatTurnsOutToBeLostSaysSo() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNextAnswer(RENEW);
    assertThat(others("x").forceRelease(lease.token())).isTrue();
    advance(AT_RENEWAL);
    gate.awaitCall();
    LeaseGuard<Grant> guard = guard(lease);
    Actor<Boolean> suspending = start("suspending", () -> {
          guard.suspendRenewal();
          return true;
        })
        .awaitParked();
    gate.open();

    assertThatThrownBy(suspending::result).isInstanceOf(LockLostException.class);
    guard.close();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aGuardWhoseStoreNoLongerShowsTheGrantLosesTheLease() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);

    assertThat(guard.lost().reason()).isEqualTo(LeaseLoss.Reason.TAKEN);
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThatThrownBy(guard::suspendRenewal).isInstanceOf(LockLostException.class);
    guard.close();
    assertThatThrownBy(guard::suspendRenewal).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aGuardEndsOnceHoweverManyThreadsCloseIt() throws Exception {
    for (int i = 0; i < 300; i++) {
      Lease lease = held("x");
      LeaseGuard<Grant> guard = guard(lease);
      Actor<Boolean> suspending = start("suspending", () -> {
        try {
          guard.suspendRenewal();
        } catch (IllegalStateException e) {
          return false;
        }
        return true;
      });
      guard.close();
      suspending.result();
      pass(AT_RENEWAL);
      assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE);
      lease.close();
    }
  }

  @Test
  void openingAGuardAndClosingTheLeaseExcludeEachOther() throws Exception {
    for (int i = 0; i < 500; i++) {
      Lease lease = lock("x").lock();
      Actor<LeaseGuard<Grant>> opening = start("opening", () -> guard(lease));
      boolean closed;
      try {
        lease.close();
        closed = true;
      } catch (IllegalStateException e) {
        closed = false;
      }
      boolean opened;
      try {
        LeaseGuard<Grant> guard = opening.result();
        opened = true;
        assertThat(store.holder("x")).isPresent();
        guard.close();
      } catch (IllegalStateException e) {
        opened = false;
      }
      assertThat(opened).isNotEqualTo(closed);
      Eventually.await("the release", () -> lease.state() == LeaseState.RELEASED);
    }
  }

  @Test
  void theReleaseUnderAGuardIsToldWithTheTimeOfTheHold() throws Exception {
    List<LockListener.Released> released = Collections.synchronizedList(new ArrayList<>());
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void released(Released event) {
        released.add(event);
      }
    }));
    Lease first = held("x");
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    time.advance(Duration.ofMillis(50));
    first.close();
    Lease second = waiter.result();
    LeaseGuard<Grant> guard = guard(second);
    time.advance(Duration.ofMillis(7));
    assertThatThrownBy(second::close).isInstanceOf(IllegalStateException.class);
    guard.close();

    Eventually.await("the release", () -> released.size() == 2);
    assertThat(released.get(1).token()).isEqualTo(second.token());
    assertThat(released.get(1).held()).isEqualTo(Duration.ofMillis(7));
  }

  @Test
  void aLeaseThatCannotBeRenewedBecauseOfAGuardDoesNotKeepTheEngineBusy() {
    Lease lease = held("x");
    LeaseGuard<Grant> guard = guard(lease);
    guard.suspendRenewal();
    pass(AT_RENEWAL);
    int looks = looks();
    long untilNanos = System.nanoTime() + 100_000_000;
    Eventually.await("a while", () -> System.nanoTime() - untilNanos > 0);

    assertThat(looks()).isEqualTo(looks);
    guard.close();
    lease.close();
  }

  @Test
  void theEndOfAGuardDoesNotMakeTheKeeperLook() {
    Lease lease = held("x");
    settle();
    int looks = looks();
    for (int i = 0; i < 50; i++) {
      guard(lease).close();
      long untilNanos = System.nanoTime() + 1_000_000;
      Eventually.await("a while", () -> System.nanoTime() - untilNanos > 0);
    }

    assertThat(looks()).isEqualTo(looks);
    lease.close();
  }

  @Test
  void aSecondSuspensionOfTheSameGuardWaitsForTheRenewalToo() throws Exception {
    Lease lease = held("x");
    Gate gate = store.holdNext(RENEW);
    advance(AT_RENEWAL);
    gate.awaitCall();
    LeaseGuard<Grant> guard = guard(lease);
    List<Actor<Boolean>> suspending = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      suspending.add(start("suspending " + i, () -> {
            guard.suspendRenewal();
            return true;
          })
          .awaitParked());
    }
    gate.open();

    for (Actor<Boolean> one : suspending) {
      assertThat(one.result()).isTrue();
    }
    guard.close();
    lease.close();
  }

  /** L-5.6: nobody is sent off early because of one that can't go. */
  @Test
  void aLeaseThatIsDueUnderAGuardSendsNoOthersOff() {
    store.groups(grant -> grant.claim().key().name().equals("apart") ? "apart" : "together");
    Lease guarded = held("guarded");
    LeaseGuard<Grant> guard = guard(guarded);
    guard.suspendRenewal();
    advance(Duration.ofSeconds(3));
    Lease same = held("same");
    Lease apart = held("apart");
    pass(AT_RENEWAL.minusSeconds(3));
    for (int i = 0; i < 20; i++) {
      pass(Duration.ofMillis(10));
    }
    assertThat(store.count(RENEW)).isZero();
    pass(Duration.ofSeconds(3));

    assertThat(store.calls(RENEW).stream().flatMap(call -> call.names().stream()))
        .containsExactlyInAnyOrder("same", "apart");
    guard.close();
    List.of(guarded, same, apart).forEach(Lease::close);
  }

  /** L-10.8: nobody has a handle any more, so nobody could ever end the renewal. */
  @Test
  void aLeaseWhoseReentryFailsUnderAGuardIsNoLongerRenewed() throws Exception {
    Gate verification = store.holdNext(VERIFY);
    AtomicReference<Lease> outer = new AtomicReference<>();
    AtomicReference<LeaseGuard<Grant>> guard = new AtomicReference<>();
    Actor<Optional<Lease>> reentering = start("reentering", () -> {
      outer.set(held("x"));
      guard.set(guard(outer.get()));
      settle();
      store.always(RENEW, call -> {
        throw StoreException.refused("not now", null);
      });
      time.jumpWallClock(Duration.ofHours(1));
      return lock("x").tryLock();
    });
    verification.awaitCall();
    outer.get().close();
    verification.openWith(StoreException.refused("not now", null));
    assertThatThrownBy(reentering::result).isInstanceOf(LockStoreException.class);
    store.heal();
    settle();
    int renewals = store.count(RENEW);
    for (int i = 0; i < 5; i++) {
      pass(AT_RENEWAL);
    }

    assertThat(store.count(RENEW)).isEqualTo(renewals);
    guard.get().close();
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    held("x").close();
  }
}
