package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Chapter 5: renewal. */
public abstract class RenewalRules extends RuleTest {

  /** Called by JUnit. */
  protected RenewalRules() {}

  @Rule("L-5.1")
  @Test
  void aRenewedLeaseLivesAsLongAsItsProcess() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(timedClient().get(name));
    never(
        "the lease ends, or another client gets the lock",
        ttl().multipliedBy(3),
        () -> !lease.isHeld() || other.get(name).tryLock().isPresent());
    lease.verify();
    lease.close();
    take(other.get(name)).close();
  }

  @Rule("L-5.2")
  @Requires(Capability.TAP)
  @Test
  void anExpiredGrantIsNotRevived() throws StoreException {
    LockStore store = store();
    Claim claim = claim(freshName(), ttl());
    Grant grant = grant(store, claim);
    eventually(
        "the grant expires at the store",
        grant.crashBound(ttl()).plus(slack()),
        () -> store.inspect(claim.key()).isEmpty());
    assertThat(store.renew(List.of(grant)))
        .as("the renewal of an expired grant")
        .hasOnlyElementsOfType(Renewal.Lost.class);
    assertThat(store.inspect(claim.key())).as("the holder after it").isEmpty();
    assertThat(store.verify(grant)).as("verify() of the expired grant").isEmpty();
  }

  @Rule("L-5.2")
  @Requires(Capability.FAULTS)
  @Test
  void aRenewalThatArrivesLateRevivesNothing() {
    String name = freshName();
    LockClient other = client();
    Link link = link();
    Lease lease = take(client(link, this::timed).get(name));
    link.hold(Link.Direction.REQUESTS); // Requests from now on arrive when all is over.
    eventually(
        "the lock is free at the store",
        lease.crashBound().plus(slack()),
        () -> other.get(name).inspect().isEmpty());
    assertThat(lease.isHeld()).isFalse();
    link.heal();
    never(
        "a late renewal revives the lease",
        quiet(),
        () -> lease.isHeld() || other.get(name).inspect().isPresent());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    take(other.get(name)).close();
  }

  @Rule("L-5.3")
  @Requires(Capability.TAP)
  @Test
  void aRenewalNeverExtendsASuccessor() throws StoreException {
    LockStore store = store();
    String name = freshName();
    Grant first = grant(store, claim(name, ttl()));
    Claim claim = claim(name, ttl().multipliedBy(3));
    Grant successor = successor(store, first, claim);
    pause(quiet()); // so that an extension is longer than what is left
    Duration before = store.inspect(claim.key()).orElseThrow().remaining();
    assertThat(store.renew(List.of(first)))
        .as("the renewal of a grant that has a successor")
        .hasOnlyElementsOfType(Renewal.Lost.class);
    assertThat(store.inspect(claim.key()).orElseThrow().remaining())
        .as("the successor's time after a renewal by its predecessor")
        .isLessThanOrEqualTo(before);
    assertThat(store.verify(successor)).as("verify() of the successor").isPresent();
    store.release(successor, Duration.ZERO);
  }

  @Rule("L-5.4")
  @Requires(Capability.TAP)
  @Test
  void renewalStopsAtRelease() {
    RecordingStore[] recorder = new RecordingStore[1];
    LockClient client = tapped(store -> recorder[0] = new RecordingStore(store), this::timed);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      leases.add(take(client.get(freshName())));
    }
    // Close them one by one around the first renewal, so that some closes race with it.
    Duration step = ttl().dividedBy(2L * leases.size());
    pause(ttl().dividedBy(6));
    for (Lease lease : leases) {
      lease.close();
      pause(step);
    }
    pause(ttl().dividedBy(2));
    assertThat(recorder[0].renewals()).as("renewals of the leases").isPositive();
    assertThat(recorder[0].renewedAfterRelease())
        .as("grants that were renewed after their release")
        .isEmpty();
  }

  @Rule("L-5.4")
  @Test
  void nothingMovesTheEndOfAReleasedLease() {
    String name = freshName();
    LockClient other = client();
    Duration minHold = ttl().multipliedBy(2);
    Lease lease = take(timedClient().get(name, renewed().withMinHold(minHold)));
    lease.close();
    LockHolder mark = other.get(name).inspect().orElseThrow();
    long seen = System.nanoTime();
    never("the end of the minimum hold moves", ttl(), () -> {
      Duration before = mark.remaining().minus(since(seen));
      Duration now = other.get(name).inspect().orElseThrow().remaining();
      return now.compareTo(before.plus(quiet())) > 0;
    });
    Lease next = takeWhenFree(other, name, minHold.plus(slack()));
    next.close();
  }

  @Rule("L-5.5")
  @Requires(Capability.FAULTS)
  @Test
  void aFailedRenewalIsTriedAgain() {
    String name = freshName();
    LockClient other = client();
    Link link = link();
    LockClient client = client(link, this::timed);
    Duration ttl = ttl().multipliedBy(2);
    Lease lease = take(client.get(name, renewed().withTtl(ttl)));
    link.refuse();
    eventually("a renewal has failed", ttl, () -> lease.state() != LeaseState.HELD);
    link.heal();
    never("the lease ends although the store is back", ttl, () -> !lease.isHeld());
    lease.verify();
    assertTaken(other, name, "renewed after a failure");
    lease.close();
    Lease later = take(client.get(freshName()));
    never("renewal of later locks has stopped", ttl().plus(quiet()), () -> !later.isHeld());
    later.close();
  }

  @Rule("L-5.6")
  @Requires(Capability.TAP)
  @Test
  void leasesOfAClientAreRenewedTogether() {
    RecordingStore[] recorder = new RecordingStore[1];
    LockClient client = tapped(store -> recorder[0] = new RecordingStore(store), this::timed);
    long start = System.nanoTime();
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      leases.add(take(client.get(freshName())));
    }
    pause(ttl());
    // A lease is renewed when a third of its TTL is over.
    long periods = 1 + since(start).dividedBy(ttl().dividedBy(3));
    assertThat(recorder[0].renewals()).as("renewals").isGreaterThan(leases.size());
    assertThat(recorder[0].renewalCalls())
        .as("calls for %s renewals in %s periods", recorder[0].renewals(), periods)
        .isLessThanOrEqualTo(20 * periods * recorder[0].groups());
    leases.forEach(lease -> assertThat(lease.isHeld()).isTrue());
    leases.forEach(Lease::close);
  }

  @Rule("L-5.8")
  @Test
  void anExtendedLeaseIsHeldForItsNewTimeAndNotForEver() {
    LockClient other = client();
    DistributedLock lock = timedClient().get(freshName(), fixed());
    Lease lease = take(lock);
    Lease nested = take(lock);
    Duration extension = ttl().multipliedBy(2);
    long asked = System.nanoTime();
    nested.extend(extension);
    assertThat(lease.crashBound())
        .as("crashBound() of the extended lease, which has %s left", lease.remaining())
        .isGreaterThanOrEqualTo(lease.remaining());
    nested.close();
    never(
        "the extended lease ends, or another client gets the lock",
        nearly(extension).minus(since(asked)),
        () -> !lease.isHeld() || other.get(lock.name()).tryLock().isPresent());
    Lease next = takeWhenFree(other, lock.name(), lease.crashBound().plus(slack()));
    assertThat(lease.isHeld())
        .as("isHeld() of the extended lease while another client has the lock")
        .isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    next.close();
  }

  @Rule("L-5.8")
  @Test
  void anExtensionNeverShortens() {
    LockClient other = client();
    long asked = System.nanoTime();
    Lease lease = take(timedClient().get(freshName(), fixed()));
    lease.extend(timing().storeTimeout().multipliedBy(3).dividedBy(2)); // half a TTL at most
    never(
        "the lease ends sooner than without its extension",
        nearly(ttl()).minus(since(asked)),
        () -> !lease.isHeld() || other.get(lease.name()).tryLock().isPresent());
    takeWhenFree(other, lease.name(), lease.crashBound().plus(slack())).close();
  }

  /** Returns nine tenths: less the drift allowance, and a margin for a slow machine. */
  private static Duration nearly(Duration time) {
    return time.multipliedBy(9).dividedBy(10);
  }

  @Rule("L-5.8")
  @Requires(Capability.TAP)
  @Test
  void anExtensionRevivesNothingAndTouchesNoSuccessor() throws StoreException {
    LockStore store = store();
    String name = freshName();
    Grant first = grant(store, claim(name, ttl()));
    eventually(
        "the grant expires at the store",
        first.crashBound(ttl()).plus(slack()),
        () -> store.inspect(first.claim().key()).isEmpty());
    assertThat(store.extend(first, LONG_TTL))
        .as("the extension of an expired grant")
        .isEmpty();
    assertThat(store.inspect(first.claim().key())).as("the holder after it").isEmpty();

    Claim claim = claim(name, ttl().multipliedBy(3));
    Grant successor = grant(store, claim);
    pause(quiet()); // so that an extension is longer than what is left
    Duration before = store.inspect(claim.key()).orElseThrow().remaining();
    assertThat(store.extend(first, ttl().multipliedBy(3)))
        .as("the extension of a grant that has a successor")
        .isEmpty();
    assertThat(store.inspect(claim.key()).orElseThrow().remaining())
        .as("the successor's time after an extension by its predecessor")
        .isLessThanOrEqualTo(before);
    assertThat(store.verify(successor)).as("verify() of the successor").isPresent();
    store.release(successor, Duration.ZERO);
    assertThat(store.extend(successor, LONG_TTL))
        .as("the extension of a released grant")
        .isEmpty();
    assertThat(store.inspect(claim.key())).as("the holder after that").isEmpty();
  }

  @Rule("L-5.8")
  @Requires(Capability.TAP)
  @Test
  void anExtensionDoesNotMoveTheEndOfAMinimumHold() throws StoreException {
    LockStore store = store();
    Duration minHold = ttl().multipliedBy(2);
    Claim plain = claim(freshName(), LONG_TTL);
    Claim claim =
        new Claim(plain.key(), plain.mode(), plain.ownerId(), plain.ttl(), minHold, plain.holder());
    Grant grant = grant(store, claim);
    store.release(grant, minHold);
    Duration before = store.inspect(claim.key()).orElseThrow().remaining();
    assertThat(store.extend(grant, LONG_TTL))
        .as("the extension of a grant that only its minimum hold keeps")
        .isEmpty();
    StoredHolder after = store.inspect(claim.key()).orElseThrow();
    assertThat(after.released()).isTrue();
    assertThat(after.remaining())
        .as("the rest of the minimum hold after that")
        .isLessThanOrEqualTo(before);
    assertThat(store.forceRelease(claim.key(), after.number())).isTrue();
  }

  @Rule("L-5.8")
  @Test
  void extendingALeaseThatWasTakenOrIsOverTellsSoAndTouchesNobody() {
    LockClient client = timedClient();
    LockClient other = client();
    LockOptions fixedLong = LockOptions.fixed(LONG_TTL);
    Lease expiring = take(client.get(freshName(), fixed()));
    Lease freed = take(client.get(freshName(), fixedLong));
    Lease taken = take(client.get(freshName(), fixedLong));
    for (Lease lease : List.of(freed, taken)) {
      assertThat(other.get(lease.name()).forceRelease(lease.token())).isTrue();
    }
    assertLost(
        LeaseLoss.Reason.TAKEN,
        "extend() of a lease whose lock was freed by force",
        () -> freed.extend(LONG_TTL));
    assertThat(other.get(freed.name()).inspect()).as("the holder after that").isEmpty();

    Lease next = take(other.get(taken.name(), LockOptions.fixed(LONG_TTL.dividedBy(2))));
    Duration before = other.get(taken.name()).inspect().orElseThrow().remaining();
    assertThatExceptionOfType(LockLostException.class)
        .as("extend() of a lease whose lock another client has")
        .isThrownBy(() -> taken.extend(LONG_TTL));
    assertThat(other.get(taken.name()).inspect().orElseThrow().remaining())
        .as("the time of the next lease after that")
        .isLessThanOrEqualTo(before);
    next.verify();
    next.close();

    eventually("the lease ends", ttl().plus(slack()), () -> !expiring.isHeld());
    assertLost(
        LeaseLoss.Reason.EXPIRED,
        "extend() of a lease that is over",
        () -> expiring.extend(LONG_TTL));
    for (Lease lease : List.of(expiring, freed, taken)) {
      assertThat(lease.isHeld()).isFalse();
      assertThat(lease.state()).isEqualTo(LeaseState.LOST);
      assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    }
    takeWhenFree(other, expiring.name(), expiring.crashBound().plus(slack())).close();
  }

  @Rule("L-5.8")
  @Requires(Capability.FAULTS)
  @Test
  void anExtensionThatArrivesLateRevivesNothing() {
    LockClient other = client();
    Link link = link();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    Lease lease = take(client.get(freshName(), fixed()));
    link.hold(Link.Direction.REQUESTS); // Requests from now on arrive when all is over.
    Duration before = lease.remaining();
    assertThatExceptionOfType(LockStoreException.class)
        .as("extend() without an answer")
        .isThrownBy(() -> lease.extend(LONG_TTL));
    assertThat(lease.remaining())
        .as("remaining() after an extension without an answer")
        .isLessThan(before);
    eventually(
        "the lock is free at the store",
        lease.crashBound().plus(slack()),
        () -> other.get(lease.name()).inspect().isEmpty());
    assertThat(lease.isHeld()).isFalse();
    link.heal();
    never(
        "a late extension revives the lease",
        quiet(),
        () -> lease.isHeld() || other.get(lease.name()).inspect().isPresent());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    take(other.get(lease.name())).close();
  }

  @Rule("L-5.8")
  @Test
  void aRenewedLeaseCannotBeExtended() {
    Lease lease = take(timedClient().get(freshName()));
    assertThatIllegalStateException()
        .as("extend() of a renewed lease")
        .isThrownBy(() -> lease.extend(LONG_TTL));
    assertThat(lease.isHeld()).isTrue();
    assertThat(lease.remaining()).isLessThanOrEqualTo(ttl());
    lease.close();
  }

  @Rule("L-5.8")
  @Test
  void aClosedHandleCannotBeExtended() {
    LockClient other = client();
    DistributedLock lock = timedClient().get(freshName(), fixed());
    Lease lease = take(lock);
    Lease nested = take(lock);
    nested.close();
    assertThatIllegalStateException()
        .as("extend() of a closed handle of a lease that stands")
        .isThrownBy(() -> nested.extend(LONG_TTL));
    lease.close();
    assertThatIllegalStateException()
        .as("extend() of a released lease")
        .isThrownBy(() -> lease.extend(LONG_TTL));
    assertThat(other.get(lock.name()).inspect()).as("the holder after that").isEmpty();
  }

  @Rule("L-5.8")
  @Requires(Capability.FAULTS)
  @Test
  void anExtensionOutOfRangeIsRefusedWithoutARequest() {
    Link link = link();
    Lease lease = take(client(link, this::timed).get(freshName(), LockOptions.fixed(LONG_TTL)));
    link.refuse();
    for (Duration wrong : List.of(
        Duration.ZERO,
        Duration.ofSeconds(-1),
        timing().storeTimeout().minusMillis(1),
        timing().storeTimeout(),
        Duration.ofDays(365).plusMillis(1),
        Duration.ofSeconds(Long.MAX_VALUE))) {
      assertThatIllegalArgumentException()
          .as("extend(%s) without a way to the store", wrong)
          .isThrownBy(() -> lease.extend(wrong))
          .withMessageContaining(wrong.toString());
    }
    assertThat(lease.isHeld()).isTrue();
    link.heal();
    lease.close();
  }
}
