package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.EXTEND;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.ScriptedStore.Op;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Several names at once. */
class JointLockTest extends EngineTest {
  private static final LockOptions FIXED = LockOptions.fixed(TTL);
  private static final LockOptions BY_LEASE = LockOptions.defaults().withOwnership(Ownership.LEASE);

  private JointLock all(String... names) {
    return client().all(List.of(names));
  }

  private JointLock all(LockOptions options, String... names) {
    return client().all(List.of(names), options);
  }

  private List<String> names(Op op) {
    return store.calls(op).stream().flatMap(call -> call.names().stream()).toList();
  }

  private void assertFree(String... names) {
    for (String name : names) {
      assertThat(store.holder(name)).as(name).isEmpty();
    }
  }

  /** In steps, so that leases are renewed. */
  private void passTheTtl() {
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
  }

  private void takeAway(String name) {
    assertThat(others(name).forceRelease(store.grant(name).number() << 10)).isTrue();
    store.events().lost(store.grant(name), LeaseLoss.Reason.TAKEN);
  }

  // Names

  @Test
  void namesAreTakenInOneOrderAndFreedInTheOther() {
    all("c", "a", "b", "a").tryLock().orElseThrow().close();

    assertThat(names(TRY_ACQUIRE)).containsExactly("a", "b", "c");
    assertThat(names(RELEASE)).containsExactly("c", "b", "a");
  }

  @Test
  void oneNameIsThatLock() {
    JointLease lease = client().all(List.of("a", "a")).tryLock().orElseThrow();

    assertThat(lease.names()).containsExactly("a");
    assertThat(lease.token("a")).isEqualTo(store.grant("a").number() << 10);
    assertThat(lock("a").isHeldByCurrentThread()).isTrue();
    lease.close();
    assertFree("a");
  }

  @Test
  void namesThatAreNotAllowedAreRefusedBeforeAnyRequest() {
    List<String> tooMany = IntStream.rangeClosed(0, 100).mapToObj(i -> "n" + i).toList();
    for (Collection<String> names : List.of(List.<String>of(), List.of("a", ""), tooMany)) {
      assertThatThrownBy(() -> client().all(names)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> client().all(names, FIXED))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> client().all(Arrays.asList("a", null)))
        .isInstanceOf(NullPointerException.class);
    assertThatThrownBy(() -> client().all(List.of("a", "b"), LockOptions.fixed(STORE_TIMEOUT)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> all("a", "b").with(LockOptions.fixed(STORE_TIMEOUT)))
        .isInstanceOf(IllegalArgumentException.class);

    assertThat(store.calls()).isEmpty();
    List<String> most = new ArrayList<>(tooMany.subList(0, 100));
    most.addAll(tooMany.subList(0, 100));
    client().all(most).tryLock().orElseThrow().close();
  }

  @Test
  void aChangeOfTheCallersListChangesNothing() {
    List<String> names = new ArrayList<>(List.of("a", "b"));
    JointLock lock = client().all(names);
    names.set(1, "c");

    assertThat(lock.names()).containsExactly("a", "b");
  }

  // All or nothing

  @Test
  void ofATakenNameNothingIsLeft() {
    Lease others = others("b").tryLock().orElseThrow();

    assertThat(all("a", "b", "c").tryLock()).isEmpty();
    assertFree("a", "c");
    assertThat(names(TRY_ACQUIRE)).containsExactly("a", "b");
    others.close();
  }

  @Test
  void aWaitLimitIsForAllNamesTogether() throws Exception {
    Lease first = others("a").tryLock().orElseThrow();
    Lease second = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter =
        start("waiter", () -> all("a", "b").lockWithin(Duration.ofSeconds(10))).awaitParked();
    pass(Duration.ofSeconds(6));
    first.close();
    waiter.awaitParked();
    pass(Duration.ofSeconds(3));
    waiter.awaitParked();
    assertThat(store.holder("a")).isPresent();
    pass(Duration.ofSeconds(1));

    assertThatThrownBy(waiter::result)
        .isInstanceOfSatisfying(LockTimeoutException.class, timeout -> {
          assertThat(timeout.lockName()).isEqualTo("b");
          assertThat(timeout.waited()).isEqualTo(Duration.ofSeconds(10));
        })
        .hasMessageContaining("held by");
    assertFree("a");
    second.close();
  }

  @Test
  void anInterruptGivesBackWhatThereIs() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter = start("waiter", () -> all("a", "b").lock()).awaitParked();
    assertThat(store.holder("a")).isPresent();
    waiter.interrupt();

    assertThatThrownBy(waiter::result).isInstanceOf(InterruptedException.class);
    assertFree("a");
    others.close();
  }

  @Test
  void aStoreThatFailsIsNotBusyAndNothingIsLeft() {
    store.next(TRY_ACQUIRE, call -> call.call());
    store.next(TRY_ACQUIRE, call -> call.call());
    store.failNext(TRY_ACQUIRE);

    assertThatThrownBy(() -> all("a", "b", "c").tryLock())
        .isInstanceOfSatisfying(
            LockStoreException.class, e -> assertThat(e.lockName()).isEqualTo("c"));
    assertThat(names(RELEASE)).containsExactly("b", "a");
    assertFree("a", "b", "c");
  }

  @Test
  void whatCanNotBeGivenBackIsGivenBackInTheBackground() {
    List<String> told = Collections.synchronizedList(new ArrayList<>());
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void released(Released event) {
        told.add(event.lockName() + " " + event.confirmed());
      }
    }));
    Lease others = others("c").tryLock().orElseThrow();
    store.failNext(RELEASE);

    assertThat(all("a", "b", "c").tryLock()).isEmpty();
    assertThat(told).containsExactly("b false", "a true");
    pass(Duration.ofSeconds(1));
    assertFree("a", "b");
    others.close();
  }

  @Test
  void anErrorOfTheStoreReachesTheCallerWhenAllIsGivenBack() {
    store.next(TRY_ACQUIRE, call -> call.call());
    store.next(TRY_ACQUIRE, call -> {
      throw new OutOfMemoryError("b");
    });
    store.next(RELEASE, call -> {
      throw new OutOfMemoryError("a");
    });

    assertThatThrownBy(() -> all("a", "b").tryLock())
        .isInstanceOf(OutOfMemoryError.class)
        .hasMessage("b");
    pass(Duration.ofSeconds(1));
    assertFree("a", "b");
  }

  @Test
  void nothingIsRenewedOfWhatWasGivenBack() {
    Lease others = others("b").tryLock().orElseThrow();
    assertThat(all("a", "b").tryLock()).isEmpty();
    pass(AT_RENEWAL);

    assertThat(names(RENEW)).isEmpty();
    others.close();
  }

  @Test
  void aClientThatClosesEndsTheWaitAndFreesAll() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter = start("waiter", () -> all("a", "b").lock()).awaitParked();
    time.runDuring(client()::close);

    assertThatThrownBy(waiter::result).isInstanceOf(LockClientClosedException.class);
    assertFree("a");
    others.close();
  }

  // Lost while waiting

  @Test
  void aNameThatIsLostWhileALaterOneIsWaitedForIsTakenAgain() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter =
        start("waiter", () -> all(FIXED, "a", "b").lock()).awaitParked();
    passTheTtl();
    assertFree("a");
    others.close();

    JointLease lease = waiter.result();
    assertThat(lease.isHeld()).isTrue();
    assertThat(store.grants("a")).as("grants of a").hasSize(2);
    assertThat(lease.token("a")).isEqualTo(store.grant("a").number() << 10);
    assertThat(store.grants("b")).as("grants of b").hasSize(1);
    lease.close();
    assertFree("a", "b");
  }

  @Test
  void nobodyWaitsForANameWhileHoldingALaterOne() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter =
        start("waiter", () -> all(FIXED, "a", "b").lock()).awaitParked();
    passTheTtl();
    Lease inBetween = others("a").tryLock().orElseThrow();
    others.close();
    waiter.awaitParked();
    settle();

    assertFree("b");
    inBetween.close();
    assertThat(waiter.result().isHeld()).isTrue();
  }

  @Test
  void aNameThatIsLostWhenNoTimeIsLeftIsNoLease() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter = start(
            "waiter", () -> all(FIXED, "a", "b").lockWithin(AT_RENEWAL.multipliedBy(3)))
        .awaitParked();
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    // The last answer grants it.
    store.next(Op.POLL, call -> {
      others.close();
      return call.call();
    });
    pass(AT_RENEWAL);

    assertThatThrownBy(waiter::result)
        .isInstanceOfSatisfying(
            LockStoreException.class, e -> assertThat(e.lockName()).isEqualTo("a"));
    assertFree("a", "b");
  }

  // The lease

  @Test
  void eachNameHasItsToken() {
    held("b").close();
    JointLease lease = all("a", "b").tryLock().orElseThrow();
    long ofA = store.grant("a").number() << 10;
    long ofB = store.grant("b").number() << 10;

    assertThat(lease.token("a")).isEqualTo(ofA).isNotEqualTo(ofB);
    assertThat(lease.token("b")).isEqualTo(ofB);
    assertThatThrownBy(() -> lease.token("c")).isInstanceOf(IllegalArgumentException.class);
    assertThat(lease).hasToString("JointLease[a, token " + ofA + "; b, token " + ofB + "; HELD]");
    lease.close();
    assertThat(lease.token("b")).isEqualTo(ofB);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Test
  void oneLossIsTheLossOfAllAndToldOnce() {
    JointLease lease = all("a", "b", "c").tryLock().orElseThrow();
    List<String> told = Collections.synchronizedList(new ArrayList<>());
    lease.onLost(loss -> told.add(loss.name() + " " + loss.token() + " " + loss.reason()));
    takeAway("b");
    settle();

    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(lease.remaining()).isZero();
    takeAway("c");
    settle();
    lease.onLost(loss -> told.add("late " + loss.name()));
    settle();
    assertThat(told).hasSize(2).startsWith("b " + lease.token("b") + " TAKEN");
    assertThat(told.get(1)).as("of one of the two, whose threads race").isIn("late b", "late c");
    assertThat(store.holder("a")).as("a is taken until the close").isPresent();
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(lease::ensureHeld, lease::verify, lease::detach)) {
      assertThatThrownBy(call)
          .isInstanceOfSatisfying(
              LockLostException.class, e -> assertThat(e.lockName()).isEqualTo("b"));
    }
    assertThat(names(VERIFY)).isEmpty();
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    assertFree("a", "b", "c");
    lease.close();
  }

  @Test
  void aCloseFreesAllWhateverIsThrown() {
    JointLease lease = all("a", "b", "c").tryLock().orElseThrow();
    store.next(RELEASE, call -> {
      throw new OutOfMemoryError("c");
    });
    store.failNext(RELEASE);

    assertThatThrownBy(lease::close).isInstanceOf(OutOfMemoryError.class);
    assertFree("a");
    pass(Duration.ofSeconds(1));
    assertFree("b", "c");
  }

  @Test
  void allNamesAreRenewed() {
    JointLease lease = all("a", "b").tryLock().orElseThrow();
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);

    assertThat(lease.isHeld()).isTrue();
    assertThat(names(RENEW)).contains("a", "b");
    lease.close();
    int renewed = store.count(RENEW);
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isEqualTo(renewed);
  }

  @Test
  void theTimeLeftIsTheLeast() throws Exception {
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter =
        start("waiter", () -> all(FIXED, "a", "b").lock()).awaitParked();
    pass(Duration.ofSeconds(10));
    others.close();
    JointLease lease = waiter.result();

    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(10));
    assertThat(lease.crashBound()).isEqualTo(TTL);
    lease.extend(TTL);
    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE);
    assertThat(names(EXTEND)).containsExactly("a", "b");
    lease.verify();
    assertThat(names(VERIFY)).containsExactly("a", "b");
    lease.close();
    assertThatThrownBy(lease::verify).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> lease.extend(TTL)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aRenewedLeaseIsNotExtended() {
    JointLease lease = all("a", "b").tryLock().orElseThrow();

    assertThatThrownBy(() -> lease.extend(TTL)).isInstanceOf(IllegalStateException.class);
    assertThat(names(EXTEND)).isEmpty();
    lease.close();
  }

  @Test
  void aJumpOfTheWallClockIsSettledForEachName() {
    JointLease lease = all("a", "b").tryLock().orElseThrow();
    time.jumpWallClock(Duration.ofHours(1));

    assertThat(lease.isHeld()).isFalse();
    lease.ensureHeld();
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Test
  void maxHoldCountsFromTheFirstGrant() throws Exception {
    LockOptions capped = LockOptions.defaults().withMaxHold(Duration.ofSeconds(20));
    Lease others = others("b").tryLock().orElseThrow();
    Actor<JointLease> waiter =
        start("waiter", () -> all(capped, "a", "b").lock()).awaitParked();
    pass(Duration.ofSeconds(8));
    others.close();
    JointLease lease = waiter.result();
    pass(Duration.ofSeconds(11));
    assertThat(lease.isHeld()).isTrue();
    pass(Duration.ofSeconds(1));

    assertThat(lease.isHeld()).isFalse();
    assertThatThrownBy(lease::close).isInstanceOfSatisfying(LockLostException.class, e -> {
      assertThat(e.lockName()).isEqualTo("a");
      assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.MAX_HOLD);
    });
    pass(Duration.ofSeconds(1));
    assertFree("a", "b");
  }

  @Test
  void minHoldKeepsEachName() {
    all(LockOptions.defaults().withMinHold(Duration.ofSeconds(10)), "a", "b")
        .tryLock()
        .orElseThrow()
        .close();

    assertThat(store.holder("a").orElseThrow().released()).isTrue();
    assertThat(store.holder("b").orElseThrow().released()).isTrue();
    pass(Duration.ofSeconds(10));
    assertFree("a", "b");
  }

  /** L-12.3: a minimum hold is that of a lease, and there was none. */
  @Test
  void ofATakenNameNoMinimumHoldIsLeft() {
    Lease others = others("b").tryLock().orElseThrow();
    LockOptions held = LockOptions.defaults().withMinHold(Duration.ofSeconds(10));

    assertThat(all(held, "a", "b").tryLock()).isEmpty();
    assertFree("a");
    others.close();
  }

  @Test
  void anExtensionCanSetAMinimumHoldOfEachName() {
    JointLease lease = all(FIXED, "a", "b").tryLock().orElseThrow();
    lease.extend(TTL, Duration.ofSeconds(10));
    lease.close();

    assertThat(store.holder("a").orElseThrow().released()).isTrue();
    assertThat(store.holder("b").orElseThrow().released()).isTrue();
  }

  @Test
  void aDroppedLeaseIsNotRenewed() {
    List<String> leaked = Collections.synchronizedList(new ArrayList<>());
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void leaked(LeaseEvent event) {
        leaked.add(event.lockName());
      }
    }));
    take("a", "b");
    System.gc();
    pass(AT_RENEWAL);
    Eventually.await("both to be found", () -> {
      System.gc();
      pass(Duration.ofMillis(1));
      return leaked.size() == 2;
    });
    passTheTtl();

    assertThat(leaked).containsExactlyInAnyOrder("a", "b");
    assertFree("a", "b");
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private void take(String... names) {
    assertThat(all(names).tryLock().orElseThrow().isHeld()).isTrue();
  }

  // Owners

  @Test
  void aThreadReentersAllNames() {
    JointLease outer = all("a", "b").tryLock().orElseThrow();
    JointLease nested = all("b", "a").tryLock().orElseThrow();
    assertThat(nested.token("a")).isEqualTo(outer.token("a"));
    outer.close();
    assertThat(nested.isHeld()).isTrue();
    assertThat(names(RELEASE)).isEmpty();
    nested.close();

    assertThat(names(TRY_ACQUIRE)).containsExactly("a", "b");
    assertFree("a", "b");
  }

  @Test
  void aThreadThatHasALaterNameDoesNotWaitForAnEarlierOne() {
    Lease later = held("b");
    int requests = store.calls().size();

    assertThatThrownBy(() -> all("a", "b").lock())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("'a'");
    assertThatThrownBy(() -> all("a", "b").tryLock(Duration.ofSeconds(1)))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> all("a", "b").asLock().lock())
        .isInstanceOf(IllegalStateException.class);
    assertThat(store.calls()).hasSize(requests);
    // Without waiting there is no harm.
    all("a", "b").tryLock().orElseThrow().close();
    later.close();
  }

  @Test
  void aThreadThatLostANameIsToldBeforeAnyRequest() {
    Lease lost = held("b");
    takeAway("b");
    int requests = store.calls().size();

    assertThatThrownBy(() -> all("a", "b").lock()).isInstanceOf(LockLostException.class);
    assertThat(store.calls()).hasSize(requests);
    assertThatThrownBy(() -> all("a", "b").tryLock()).isInstanceOf(LockLostException.class);
    assertFree("a");
    assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aLeaseThatIsItsOwnOwnerIsClosedByAnyThread() throws Exception {
    JointLease lease = all(BY_LEASE, "a", "b").tryLock().orElseThrow();

    assertThat(all(BY_LEASE, "a", "b").tryLock()).isEmpty();
    start("other", () -> {
          lease.close();
          return true;
        })
        .result();
    assertFree("a", "b");
  }

  @Test
  void allNamesAreDetachedOrNone() throws Exception {
    JointLease lease = all("a", "b").tryLock().orElseThrow();
    Lease nested = held("b");
    assertThatThrownBy(lease::detach).isInstanceOf(IllegalStateException.class);
    assertThat(lock("a").isHeldByCurrentThread()).isTrue();
    nested.close();
    assertThatThrownBy(() -> start("other", lease::detach).result())
        .isInstanceOf(IllegalStateException.class);

    assertThat(lease.detach()).isSameAs(lease);
    assertThat(lock("a").isHeldByCurrentThread()).isFalse();
    assertThat(lock("b").isHeldByCurrentThread()).isFalse();
    lease.close();
  }

  @Test
  @SuppressWarnings("LockNotBeforeTry")
  void asLockIsOwnedByItsThread() throws Exception {
    Lock lock = all("a", "b").asLock();
    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    lock.lock();
    assertThat(lock.tryLock()).isTrue();
    lock.unlock();
    assertThat(start("other", lock::tryLock).result()).isFalse();
    assertThat(all("a", "b").isHeldByCurrentThread()).isTrue();
    lock.unlock();
    assertFree("a", "b");

    lock("a").asLock().lock();
    assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    lock("a").asLock().unlock();
    assertThatThrownBy(() -> all(BY_LEASE, "a", "b").asLock())
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  @SuppressWarnings("LockNotBeforeTry")
  void unlockFreesTheRestOfWhatWasLost() {
    Lock lock = all("a", "b", "c").asLock();
    lock.lock();
    takeAway("b");

    assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    assertFree("a", "b", "c");
  }

  // Of the lock

  @Test
  void holdersAreThoseOfTheNamesThatAreTaken() {
    assertThat(all("a", "b", "c").holders()).isEmpty();
    Lease second = others("b").tryLock().orElseThrow();
    Lease third = others("c").tryLock().orElseThrow();

    List<LockHolder> holders = all("a", "c", "b").holders();
    assertThat(holders).extracting(LockHolder::name).containsExactly("b", "c");
    assertThat(holders)
        .extracting(LockHolder::token)
        .containsExactly(second.token(), third.token());
    second.close();
    third.close();
  }

  @Test
  void anActionRunsUnderAllNamesAndFreesThemHoweverItEnds() throws Exception {
    long token = all("a", "b").call(lease -> lease.token("b"));
    assertThat(token).isEqualTo(store.grant("b").number() << 10);
    assertThatThrownBy(() -> all("a", "b").tryRun(lease -> {
          throw new IllegalArgumentException("of the action");
        }))
        .hasMessage("of the action");
    assertFree("a", "b");
  }

  @Test
  void threadsOfOneClientThatAskInAnyOrderAllGetTheirTurn() throws Exception {
    JointLease all = all("a", "b", "c").tryLock().orElseThrow();
    List<Actor<Long>> waiters = new ArrayList<>();
    for (List<String> names :
        List.of(List.of("c", "a"), List.of("b", "c"), List.of("b", "a"), List.of("c", "b", "a"))) {
      waiters.add(start(
              "waiter", () -> client().all(names).call(lease -> lease.token(names.get(0))))
          .awaitParked());
    }
    all.close();

    for (Actor<Long> waiter : waiters) {
      assertThat(waiter.result()).isPositive();
    }
    assertFree("a", "b", "c");
  }

  @Test
  void aRefusalOfTheStoreInTheMidstOfAnExtensionEndsNothing() {
    JointLease lease = all(FIXED, "a", "b").tryLock().orElseThrow();
    store.next(EXTEND, call -> call.call());
    store.next(EXTEND, call -> {
      throw StoreException.refused("down", null);
    });
    pass(Duration.ofSeconds(10));

    assertThatThrownBy(() -> lease.extend(TTL)).isInstanceOf(LockStoreException.class);
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.remaining()).isEqualTo(UNTIL_DEADLINE.minusSeconds(10));
    lease.close();
  }
}
