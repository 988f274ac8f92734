package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Chapter 4: the length of a lease. */
public abstract class TtlRules extends RuleTest {

  /** Called by JUnit. */
  protected TtlRules() {}

  @Rule("L-4.1")
  @Test
  void aLeaseThatNothingRenewsEnds() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(timedClient().get(name, fixed()));
    Duration bound = lease.crashBound().plus(slack());
    Lease next = takeWhenFree(other, name, bound);
    assertThat(lease.isHeld()).isFalse();
    next.close();
  }

  @Rule("L-4.1")
  @Requires(Capability.TAP)
  @Test
  void aGrantWhoseHolderIsGoneEnds() throws StoreException {
    LockStore store = store();
    LockClient other = client();
    String name = freshName();
    Grant grant = grant(store, claim(name, ttl())); // and nobody will release it
    takeWhenFree(other, name, grant.crashBound(ttl()).plus(slack())).close();
    assertThat(store.verify(grant)).isEmpty();
  }

  @Rule("L-4.2")
  @Test
  void noLeaseIsGivenAwayBeforeItsHolderHasGivenItUp() {
    String name = freshName();
    LockClient holder = timedClient();
    LockClient other = client();
    Lease lease = take(holder.get(name, fixed()));
    long asked = System.nanoTime();
    Duration believed = lease.remaining();
    Optional<Lease> next = Optional.empty();
    while (next.isEmpty()) {
      assertThat(since(asked)).isLessThan(LONG);
      next = other.get(name).tryLock();
      Duration granted = since(asked);
      if (next.isPresent()) {
        assertThat(lease.isHeld())
            .as("the first lease while another client has one")
            .isFalse();
        assertThat(granted).as("time to the next grant").isGreaterThanOrEqualTo(believed);
      } else {
        pauseBetweenLooks(believed.minus(granted));
      }
    }
    next.orElseThrow().close();
  }

  @Rule("L-4.2")
  @Requires(Capability.TAP)
  @Test
  void theStoreKeepsAGrantForAsLongAsItSaid() throws StoreException {
    LockStore store = store();
    String name = freshName();
    long beforeAcquire = System.nanoTime();
    Grant grant = grant(store, claim(name, ttl()));
    assertThat(grant.validFor()).isPositive().isLessThanOrEqualTo(ttl());
    assertThat(grant.crashBound(ttl())).isGreaterThanOrEqualTo(grant.validFor());
    Claim next = claim(name, ttl());
    while (store.tryAcquire(next).isEmpty()) {
      assertThat(since(beforeAcquire)).isLessThan(LONG);
      pauseBetweenLooks(grant.validFor().minus(since(beforeAcquire)));
    }
    assertThat(since(beforeAcquire))
        .as("from before the first acquire to the next grant")
        .isGreaterThanOrEqualTo(grant.validFor());
  }

  @Rule("L-4.3")
  @Requires(Capability.FAULTS)
  @Test
  void theDeadlineCountsFromBeforeTheRequestWasSent() {
    Link link = link();
    LockClient client = client(link, this::timed);
    String name = freshName();
    // The first use of a name may take more round trips, which would take too long with the delay.
    take(client.get(name)).close();
    // An answer may take several round trips.
    Duration delay = timing().storeTimeout().dividedBy(6);
    link.delay(Link.Direction.REPLIES, delay);
    Lease lease = take(client.get(name, fixed()));
    assertThat(lease.remaining())
        .as("remaining() of a lease whose grant travelled for %s", delay)
        .isPositive()
        .isLessThanOrEqualTo(ttl().minus(delay));
    link.heal();
    lease.close();
  }

  @Rule("L-4.3")
  @Requires(Capability.FAULTS)
  @Test
  void aRenewedDeadlineCountsFromBeforeTheRenewalWasSent() {
    Link link = link();
    LockClient client = client(link, this::timed);
    // An answer may take several round trips, and should come well before the store timeout.
    Duration delay = timing().storeTimeout().dividedBy(10);
    String name = freshName();
    take(client.get(name)).close(); // Connecting, and the first use of a name, take longer.
    link.delay(Link.Direction.REPLIES, delay);
    Lease lease = take(client.get(name));
    AtomicReference<Duration> last = new AtomicReference<>(lease.remaining());
    eventually("the lease is renewed", ttl(), () -> {
      Duration now = lease.remaining();
      return now.compareTo(last.getAndSet(now)) > 0;
    });
    never(
        "remaining() is above the TTL less what the answer to the renewal took",
        ttl(),
        () -> lease.remaining().compareTo(ttl().minus(delay)) > 0);
    link.heal();
    lease.close();
  }

  @Rule("L-4.4")
  @Test
  void theHolderNeverBelievesLongerThanTheStore() {
    String name = freshName();
    Lease lease = take(timedClient().get(name));
    neverBelievesLongerThanTheStore(lease, client().get(name));
    lease.close();
  }

  @Rule("L-4.4")
  @Test
  void whoWaitedForALeaseNeverBelievesLongerThanTheStore() {
    String name = freshName();
    DistributedLock seen = client().get(name);
    LockClient waiter = timedClient();
    Lease first = take(client().get(name));
    Worker<Lease> waiting = start(() -> waiter.get(name).lock());
    awaitWaiting(waiting);
    first.close();
    Lease lease = waiting.get(LONG);
    neverBelievesLongerThanTheStore(lease, seen);
    lease.close();
  }

  private void neverBelievesLongerThanTheStore(Lease lease, DistributedLock seen) {
    never("the local deadline is after the store's", ttl(), () -> {
      long before = System.nanoTime();
      Duration local = lease.remaining();
      Duration atStore = seen.inspect().orElseThrow().remaining();
      // A renewal in between only moves the store's deadline further away.
      return local.compareTo(atStore.plus(since(before))) > 0;
    });
  }

  @Rule("L-4.5")
  @Test
  void fromItsDeadlineOnALeaseIsNotHeld() {
    long beforeAcquire = System.nanoTime();
    Lease lease = take(timedClient().get(freshName(), fixed()));
    assertThat(lease.remaining()).isPositive().isLessThanOrEqualTo(ttl());
    while (lease.isHeld()) {
      assertThat(since(beforeAcquire)).as("age of a lease that is held").isLessThan(LONG);
      pause(Duration.ofMillis(1));
    }
    assertThat(lease.remaining()).isZero();
    assertThat(lease.isHeld()).isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::ensureHeld);
    eventually("the state is LOST", slack(), () -> lease.state() == LeaseState.LOST);
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(lease::close)
        .satisfies(e -> assertThat(e.reason()).isEqualTo(LeaseLoss.Reason.EXPIRED))
        .satisfies(e -> assertThat(e.token()).isEqualTo(lease.token()));
  }

  @Rule("L-4.5")
  @Test
  void aLeaseIsNotHeldForLongerThanItsTtl() {
    Lease lease = take(timedClient().get(freshName(), fixed()));
    long afterAcquire = System.nanoTime();
    eventually("the TTL is over", LONG, () -> since(afterAcquire).compareTo(ttl()) >= 0);
    assertThat(lease.isHeld()).as("isHeld() when the TTL is over").isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Rule("L-4.6")
  @Test
  void maxHoldEndsALeaseThatIsRenewed() {
    String name = freshName();
    Duration maxHold = ttl().plus(ttl().dividedBy(2));
    LockClient other = client();
    long beforeAcquire = System.nanoTime();
    Lease lease = take(timedClient().get(name, renewed().withMaxHold(maxHold)));
    Slot<LeaseLoss> loss = new Slot<>();
    lease.onLost(loss::set);
    eventually("the lease is lost", maxHold.plus(slack()), () -> !lease.isHeld());
    assertThat(since(beforeAcquire)).as("age at its end").isGreaterThan(ttl());
    Lease next = takeWhenFree(other, name, ttl().plus(slack()));
    assertThat(since(beforeAcquire)).as("age at the next grant").isGreaterThan(ttl());
    eventually("onLost is told", slack(), loss::isSet);
    assertThat(loss.get().reason()).isEqualTo(LeaseLoss.Reason.MAX_HOLD);
    assertLost(LeaseLoss.Reason.MAX_HOLD, "close() after that", lease::close);
    next.close();
  }

  @Rule("L-4.6")
  @Test
  void maxHoldLeavesAShortLeaseAlone() {
    String name = freshName();
    Lease lease = take(timedClient().get(name, renewed().withMaxHold(LONG_TTL)));
    assertThat(lease.isHeld()).isTrue();
    lease.close();
    take(client().get(name)).close();
  }
}
