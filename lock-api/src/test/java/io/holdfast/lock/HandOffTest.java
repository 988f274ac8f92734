package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class HandOffTest extends EngineTest {
  private static final LockOptions DEFAULTS = LockOptions.defaults();

  private Actor<Lease> waiter(LockOptions options) {
    return start("waiter", () -> lock("x", options).lock()).awaitParked();
  }

  private static void assertHandedOn(Lease before, Lease after) {
    assertThat(after.token()).isEqualTo(before.token() + 1);
  }

  private static void assertGivenBack(Lease before, Lease after) {
    assertThat(after.token() >>> 10).isGreaterThan(before.token() >>> 10);
  }

  @Test
  void aLeaseIsHandedOnWithoutARoundTripWithAHigherTokenAndTheDeadlineOfItsGrant()
      throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    time.advance(Duration.ofMillis(50));
    first.close();
    Lease second = waiter.result();

    assertHandedOn(first, second);
    assertThat(second.isHeld()).isTrue();
    assertThat(second.remaining()).isEqualTo(UNTIL_DEADLINE.minusMillis(50));
    assertThat(first.isHeld()).isFalse();
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(store.calls()).extracting(call -> call.op()).containsExactly(TRY_ACQUIRE);
    second.close();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void tokensRiseOverHandOffsAndGrants() throws Exception {
    List<Long> tokens = Collections.synchronizedList(new ArrayList<>());
    Lease first = held("x");
    tokens.add(first.token());
    List<Actor<Boolean>> waiters = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      waiters.add(start("waiter " + i, () -> {
            try (Lease lease = lock("x").lock()) {
              time.advance(Duration.ofMillis(9));
              return tokens.add(lease.token());
            }
          })
          .awaitParked());
    }
    first.close();
    for (Actor<Boolean> waiter : waiters) {
      assertThat(waiter.result()).isTrue();
    }

    assertThat(tokens).as("Unsafe: tokens").isSorted().doesNotHaveDuplicates().hasSize(51);
    // 100 ms in one grant, then the others get their turn.
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isBetween(3, 6);
  }

  @Test
  void aGrantIsHandedOnForATenthOfASecondAndThenGivenBack() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    time.advance(Duration.ofMillis(100));
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aWaiterOfAnotherClientGetsItsTurnThoughLocalOnesWait() throws Exception {
    Lease lease = held("x");
    Actor<Lease> other = start("other", () -> others("x").lock()).awaitParked();
    Actor<Lease> local = waiter(DEFAULTS);
    time.advance(Duration.ofMillis(100));
    lease.close();

    Lease others = other.result();
    assertThat(local.isDone()).isFalse();
    others.close();
    assertThat(local.result().token()).isGreaterThan(others.token());
  }

  @Test
  void oneGrantHasAtMost1023HandOffs() throws Exception {
    Lease lease = held("x");
    long grant = lease.token() >>> 10;
    List<Actor<Long>> waiters = new ArrayList<>();
    for (int i = 0; i < 1_030; i++) {
      waiters.add(start("waiter", () -> {
            try (Lease waited = lock("x").lock()) {
              return waited.token();
            }
          })
          .awaitParked());
    }
    lease.close();
    List<Long> tokens = new ArrayList<>();
    for (Actor<Long> waiter : waiters) {
      tokens.add(waiter.result());
    }

    assertThat(tokens).as("Unsafe: tokens").isSorted().doesNotHaveDuplicates();
    assertThat(tokens.stream().filter(token -> token >>> 10 == grant).count()).isEqualTo(1_023);
  }

  @Test
  void aClientThatIsToldNotToNeverHandsOn() throws Exception {
    client(builder -> builder.localHandOff(false));
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aClaimWithOtherOptionsIsNotHandedALease() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(LockOptions.renewed(Duration.ofSeconds(20)));
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void fixedAndBoundedLeasesAreNotHandedOn() throws Exception {
    for (LockOptions options :
        List.of(LockOptions.fixed(TTL), DEFAULTS.withMaxHold(Duration.ofHours(1)))) {
      Lease first = held("x", options);
      Actor<Lease> waiter = waiter(options);
      first.close();
      Lease second = waiter.result();

      assertGivenBack(first, second);
      second.close();
    }
  }

  @Test
  void aDetachedLeaseIsNotHandedOn() throws Exception {
    Lease first = held("x").detach();
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseThatAnotherThreadClosesIsNotHandedOn() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    start("closer", () -> {
          first.close();
          return true;
        })
        .result();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseThatIsItsOwnOwnerIsHandedOnByWhoeverClosesIt() throws Exception {
    LockOptions options = DEFAULTS.withOwnership(Ownership.LEASE);
    Lease first = held("x", options);
    Actor<Lease> waiter = waiter(options);
    start("closer", () -> {
          first.close();
          return true;
        })
        .result();

    assertHandedOn(first, waiter.result());
  }

  @Test
  void aLeaseThatWasEverGuardedIsNotHandedOn() throws Exception {
    Lease first = held("x");
    LeaseGuard.open(first, Grant.class).close();
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseWhoseRenewalWentUnansweredIsNotHandedOn() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    store.failNext(io.holdfast.lock.simulation.ScriptedStore.Op.RENEW);
    store.events().suspended(store.grant("x"));
    settle();
    assertThat(first.state()).isEqualTo(LeaseState.UNCERTAIN);
    first.close();

    assertGivenBack(first, waiter.result());
  }

  @Test
  void aLeaseThatWasLostIsNotHandedOn() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    assertThat(others("x").forceRelease(first.token())).isTrue();
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    assertGivenBack(first, waiter.result());
  }

  @Test
  void theLossOfAGrantEndsTheLeaseOfWhoeverHasItByThen() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();
    Lease second = waiter.result();
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);

    assertThat(second.state()).isEqualTo(LeaseState.LOST);
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    first.close();
  }

  @Test
  void anAdministratorReachesTheHolderBehindAHandOff() throws Exception {
    Lease first = held("x");
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();
    Lease second = waiter.result();

    assertThat(others("x").inspect().orElseThrow().token()).isEqualTo(first.token());
    assertThat(others("x").forceRelease(second.token())).isTrue();
    assertThat(store.holder("x")).isEmpty();
  }

  @Test
  void theListenerLearnsWhereALeaseCameFrom() throws Exception {
    List<Source> sources = Collections.synchronizedList(new ArrayList<>());
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void acquired(Acquired event) {
        sources.add(event.source());
      }
    }));
    Lease first = held("x");
    held("x").close();
    Actor<Lease> waiter = waiter(DEFAULTS);
    first.close();
    waiter.result().close();

    assertThat(sources).containsExactly(Source.STORE, Source.REENTRANT, Source.LOCAL_HAND_OFF);
    Eventually.await("the release", () -> store.count(RELEASE) == 1);
  }
}
