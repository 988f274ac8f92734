package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.Grant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Events of a grant that the store tells before the client has the grant. */
class EarlyEventsTest extends EngineTest {
  private static final long TOKENS_OF_A_GRANT = 1_024;

  /** The ways by which a grant comes to the client. */
  private enum Way {
    ASKED_FOR,
    POLLED,
    HANDED_OVER
  }

  /** A thread that is given the lock, and before it learns of that, the store does this. */
  private Actor<Lease> acquiring(Way way, Consumer<Grant> early) throws InterruptedException {
    if (way == Way.ASKED_FOR) {
      store.beforeNextGrant(early);
      return start("asker", () -> lock("x").tryLock().orElse(null));
    }
    if (way == Way.HANDED_OVER) {
      store.tellOfHandOvers(TTL);
    }
    Lease others = others("x").lock();
    Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
    store.beforeNextGrant(early);
    others.close();
    return waiter;
  }

  private void tellLoss(Grant grant) {
    store.events().lost(grant, LeaseLoss.Reason.SESSION_LOST);
  }

  private void tellDoubt(Grant grant) {
    store.events().suspended(grant);
  }

  /** The grant ends at the server, and another client gets the lock. */
  private Lease takenByAnother(Grant grant) {
    assertThat(others("x").forceRelease(grant.number() * TOKENS_OF_A_GRANT)).isTrue();
    return others("x").tryLock().orElseThrow().detach();
  }

  @ParameterizedTest
  @EnumSource
  void whatIsLostBeforeItArrivesIsNotHandedOut(Way way) throws Exception {
    assertIsNotHandedOut(way, this::tellLoss);
  }

  @ParameterizedTest
  @EnumSource
  void whatIsLostBeforeItArrivesIsNotToldToListeners(Way way) throws Exception {
    List<String> told = new CopyOnWriteArrayList<>();
    client(builder -> builder.addListener(new LockListener() {
      @Override
      public void lost(Lost event) {
        told.add(event.lockName());
      }
    }));
    assertIsNotHandedOut(way, this::tellLoss);
    settle();
    Lease last = held("last");
    tellLoss(store.grant("last"));
    Eventually.await("the last loss to be told", () -> told.contains("last"));

    assertThat(told).containsExactly("last");
    assertThatThrownBy(last::close).isInstanceOf(LockLostException.class);
  }

  @ParameterizedTest
  @EnumSource
  void aLossAfterADoubtIsALoss(Way way) throws Exception {
    assertIsNotHandedOut(way, grant -> {
      tellDoubt(grant);
      tellLoss(grant);
    });
  }

  @ParameterizedTest
  @EnumSource
  void aDoubtAfterALossHidesNothing(Way way) throws Exception {
    assertIsNotHandedOut(way, grant -> {
      tellLoss(grant);
      tellDoubt(grant);
    });
  }

  private void assertIsNotHandedOut(Way way, Consumer<Grant> loss) throws Exception {
    CompletableFuture<Lease> taken = new CompletableFuture<>();
    Actor<Lease> actor = acquiring(way, grant -> {
      loss.accept(grant);
      taken.complete(takenByAnother(grant));
    });
    Lease anothers = taken.get(20, TimeUnit.SECONDS);

    if (way == Way.ASKED_FOR) {
      // It asked again.
      assertThat(actor.result()).isNull();
      assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
      anothers.close();
    } else {
      anothers.close();
      Lease lease = actor.result();
      assertThat(lease.token()).isGreaterThan(anothers.token());
      assertThat(lease.isHeld()).isTrue();
      lease.close();
    }
  }

  @Test
  void whatExpiredBeforeItArrivesIsAFailureOfACallThatDoesNotWait() {
    store.beforeNextGrant(grant -> store.events().lost(grant, LeaseLoss.Reason.EXPIRED));

    assertThatThrownBy(() -> lock("x").tryLock())
        .isInstanceOf(LockStoreException.class)
        .hasMessageContaining("longer than its TTL");
    // The store, asked again, would have called the lock taken.
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(1);
    Eventually.await("the lock is free", () -> others("x").tryLock().isPresent());
  }

  @ParameterizedTest
  @EnumSource
  void whatIsDoubtedBeforeItArrivesIsUncertainUntilTheStoreConfirmsIt(Way way) throws Exception {
    Gate gate = store.holdNext(RENEW);
    Lease lease = acquiring(way, this::tellDoubt).result();
    gate.awaitCall();
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    gate.open();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.close();
  }

  /** The grant of a session that ended is told of late, when the next one is on its way. */
  @Test
  void whatIsToldOfAnEarlierGrantDoesNotConcernTheNext() throws Exception {
    held("x").close();
    Grant earlier = store.grant("x");
    Lease lease = acquiring(Way.ASKED_FOR, grant -> {
          tellDoubt(earlier);
          tellLoss(earlier);
        })
        .result();
    settle();

    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertThat(store.count(RENEW)).isZero();
    lease.close();
  }
}
