package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.SkewedTime;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Chapter 8, first part: tokens, and how a holder learns that it has lost the lock. */
public abstract class FencingRules extends RuleTest {

  /** Called by JUnit. */
  protected FencingRules() {}

  @Rule("L-8.1")
  @Test
  void tokensRiseWithEveryGrant() {
    String name = freshName();
    List<Long> tokens = new ArrayList<>();
    LockClient first = client();
    LockClient second = timedClient();
    for (int i = 0; i < 5; i++) {
      for (LockClient client : List.of(first, second)) {
        Lease lease = take(client.get(name));
        tokens.add(lease.token());
        lease.close();
      }
    }
    Lease forced = take(first.get(name));
    tokens.add(forced.token());
    assertThat(second.get(name).forceRelease(forced.token())).isTrue();
    Lease expiring = take(second.get(name, fixed()));
    tokens.add(expiring.token());
    LockClient third = client();
    Lease last = takeWhenFree(third, name, expiring.crashBound().plus(slack()));
    tokens.add(last.token());
    last.close();
    assertThat(tokens)
        .as("Unsafe: tokens in the order of the grants")
        .isSorted()
        .doesNotHaveDuplicates();
    assertThat(tokens).allMatch(token -> token > 0);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(forced::close);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(expiring::close);
  }

  @Rule("L-8.2")
  @Test
  void aHandOffWithinAClientRaisesTheToken() {
    AtomicInteger handOffs = new AtomicInteger();
    LockClient client = client(builder -> builder.addListener(new LockListener() {
      @Override
      public void acquired(Acquired event) {
        if (event.source() == Source.LOCAL_HAND_OFF) {
          handOffs.incrementAndGet();
        }
      }
    }));
    DistributedLock lock = client.get(freshName(), lasting());
    List<Long> tokens = Collections.synchronizedList(new ArrayList<>());
    for (int round = 0; round < 40 && handOffs.get() < 5; round++) {
      // All are queued before the first one releases; a slow machine may need a second round.
      CountDownLatch go = new CountDownLatch(1);
      int served = tokens.size();
      Worker<?> head = startStep(() -> lock.run(lease -> {
        tokens.add(lease.token());
        go.await();
      }));
      eventually("the first is inside", LONG, () -> tokens.size() > served);
      List<Worker<?>> waiting = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        waiting.add(startStep(() -> lock.run(lease -> tokens.add(lease.token()))));
      }
      waiting.forEach(RuleTest::awaitWaiting);
      go.countDown();
      waiting.forEach(worker -> worker.get(LONG));
      head.get(LONG);
    }
    assertThat(tokens)
        .as("Unsafe: tokens in the order in which threads of one client had the lock")
        .isSorted()
        .doesNotHaveDuplicates();
    assertThat(handOffs.get()).as("hand-offs within the client").isPositive();
  }

  @Rule("L-8.3")
  @Test
  void theTokenStaysReadableAfterTheEnd() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(client().get(name));
    long token = lease.token();
    lease.close();
    assertThat(lease.token()).as("token() of a closed lease").isEqualTo(token);
    assertThat(lease.name()).isEqualTo(name);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    Lease lost = take(client().get(name));
    assertThat(other.get(name).forceRelease(lost.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lost::verify);
    assertThat(lost.state()).isEqualTo(LeaseState.LOST);
    assertThat(lost.token()).isGreaterThan(token);
  }

  @Rule("L-8.4")
  @Test
  void aLossIsToldOnce() {
    List<LeaseLoss> first = Collections.synchronizedList(new ArrayList<>());
    List<LeaseLoss> second = Collections.synchronizedList(new ArrayList<>());
    List<LeaseLoss> listener = Collections.synchronizedList(new ArrayList<>());
    LockClient client = client(builder -> timed(builder).addListener(new LockListener() {
      @Override
      public void lost(Lost event) {
        listener.add(event.loss());
      }
    }));
    Lease lease = take(client.get(freshName(), fixed()));
    lease.onLost(first::add);
    lease.onLost(second::add);
    eventually("the deadline passes", ttl().plus(slack()), () -> !lease.isHeld());
    eventually(
        "all are told of the loss",
        slack(),
        () -> !first.isEmpty() && !second.isEmpty() && !listener.isEmpty());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    never(
        "told again",
        quiet(),
        () -> first.size() != 1 || second.size() != 1 || listener.size() != 1);
    assertThat(first.get(0).reason()).isEqualTo(LeaseLoss.Reason.EXPIRED);
    assertThat(first.get(0).token()).isEqualTo(lease.token());
    assertThat(first.get(0).name()).isEqualTo(lease.name());
  }

  @Rule("L-8.4")
  @Test
  void aReleaseIsNoLoss() {
    AtomicInteger told = new AtomicInteger();
    Lease lease = take(timedClient().get(freshName(), fixed()));
    lease.onLost(loss -> told.incrementAndGet());
    lease.close();
    lease.onLost(loss -> told.incrementAndGet());
    never("onLost is called after a release", ttl().plus(quiet()), () -> told.get() > 0);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Rule("L-8.5")
  @Test
  void aListenerThatComesLateIsToldAtOnce() {
    LockClient other = client();
    Lease lease = take(client().get(freshName()));
    assertThat(other.get(lease.name()).forceRelease(lease.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::verify);
    AtomicInteger told = new AtomicInteger();
    lease.onLost(loss -> told.incrementAndGet());
    eventually("the late listener is told", slack(), () -> told.get() == 1);
    never("told again", quiet(), () -> told.get() > 1);
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Rule("L-8.6")
  @Test
  void aSlowOrThrowingListenerDelaysNothing() {
    LockClient other = client();
    LockClient client = timedClient();
    CountDownLatch end = new CountDownLatch(1);
    closeLater(end::countDown);
    AtomicInteger told = new AtomicInteger();
    Lease survivor = take(client.get(freshName()));
    Lease lease = take(client.get(freshName()));
    lease.onLost(loss -> {
      throw new IllegalStateException("thrown by a listener of the kit, on purpose");
    });
    lease.onLost(loss -> {
      try {
        boolean unused = end.await(LONG.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    lease.onLost(loss -> told.incrementAndGet());
    assertThat(other.get(lease.name()).forceRelease(lease.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::verify);
    eventually("the listener behind the slow one is told", slack(), () -> told.get() == 1);
    never(
        "another lease of the client is no longer renewed",
        ttl().plus(quiet()),
        () -> !survivor.isHeld());
    survivor.close();
    end.countDown();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
  }

  @Rule("L-8.7")
  @Requires(Capability.FAULTS)
  @Test
  void anUnansweredRenewalMakesALeaseUncertainAndAnAnsweredOneHeld() {
    Link link = link();
    List<String> events = Collections.synchronizedList(new ArrayList<>());
    LockClient client = client(
        link,
        builder -> timed(builder).addListener(new LockListener() {
          @Override
          public void uncertain(LeaseEvent event) {
            events.add("uncertain");
          }

          @Override
          public void confirmed(LeaseEvent event) {
            events.add("confirmed");
          }
        }));
    Duration ttl = ttl().multipliedBy(3);
    Lease lease = take(client.get(freshName(), LockOptions.renewed(ttl)));
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    link.blackhole();
    eventually("the lease is uncertain", ttl, () -> lease.state() == LeaseState.UNCERTAIN);
    assertThat(lease.isHeld())
        .as("isHeld() of an uncertain lease before its deadline")
        .isTrue();
    link.heal();
    eventually("the lease is confirmed", ttl, () -> lease.state() == LeaseState.HELD);
    assertThat(lease.isHeld()).isTrue();
    eventually("the listener is told", slack(), () -> events.size() == 2);
    assertThat(events).containsExactly("uncertain", "confirmed");
    lease.close();
  }

  @Rule("L-8.7")
  @Requires(Capability.FAULTS)
  @Test
  void aLeaseThatCannotBeRenewedIsLostAtItsDeadline() {
    Link link = link();
    Lease lease = take(client(link, this::timed).get(freshName()));
    link.blackhole();
    long start = System.nanoTime();
    eventually("the lease is no longer held", ttl().plus(slack()), () -> !lease.isHeld());
    assertThat(since(start)).as("time held without an answer").isLessThan(ttl().plus(quiet()));
    eventually("the lease is lost", slack(), () -> lease.state() == LeaseState.LOST);
    link.heal();
    assertLost(LeaseLoss.Reason.EXPIRED, "close() after that", lease::close);
  }

  @Rule("L-8.8")
  @Test
  void verifyAsksTheStore() {
    LockClient other = client();
    Lease lease = take(client().get(freshName(), lasting()));
    lease.verify();
    assertThat(other.get(lease.name()).forceRelease(lease.token())).isTrue();
    assertLost(
        LeaseLoss.Reason.TAKEN,
        "verify() of a lease that the store no longer shows",
        lease::verify);
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    assertThat(lease.isHeld()).isFalse();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
  }

  @Rule("L-8.8")
  @Test
  void aClosedHandleCannotBeAsked() {
    Lease lease = take(client().get(freshName()));
    lease.close();
    assertThatIllegalStateException().isThrownBy(lease::verify);
    assertThatIllegalStateException().isThrownBy(lease::ensureHeld);
    assertThat(lease.isHeld()).isFalse();
    assertThat(lease.remaining()).isZero();
  }

  @Rule("L-8.8")
  @Requires(Capability.FAULTS)
  @Test
  void verifyWithoutAnAnswerIsNoAnswer() {
    Link link = link();
    Lease lease = take(client(link, this::timed).get(freshName(), lasting()));
    link.refuse();
    assertThatExceptionOfType(LockStoreException.class).isThrownBy(lease::verify);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.isHeld()).isTrue();
    link.heal();
    awaitCertainty(lease);
    lease.close();
  }

  @Rule("L-8.14")
  @Test
  void ensureHeldAsksTheStoreAboutALeaseInDoubt() {
    SkewedTime time = new SkewedTime();
    LockClient client = client(builder -> builder.timeSource(time));
    LockClient other = client();
    Lease lease = take(client.get(freshName(), lasting()));
    Lease taken = take(client.get(freshName(), lasting()));
    assertThat(other.get(taken.name()).forceRelease(taken.token())).isTrue();
    Lease next = take(other.get(taken.name()));
    time.setWallAhead(Duration.ofHours(1));
    assertThatCode(lease::ensureHeld)
        .as("ensureHeld() of a lease in doubt that stands at the store")
        .doesNotThrowAnyException();
    assertThat(lease.isHeld()).as("isHeld() after ensureHeld() returned").isTrue();
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    assertLost(
        LeaseLoss.Reason.TAKEN,
        "ensureHeld() of a lease that the store no longer shows",
        taken::ensureHeld);
    assertThat(taken.state()).isEqualTo(LeaseState.LOST);
    lease.close();
    assertThatExceptionOfType(LockLostException.class).isThrownBy(taken::close);
    next.verify();
    next.close();
  }

  @Rule("L-8.14")
  @Requires(Capability.FAULTS)
  @Test
  void ensureHeldWithoutAnAnswerAboutALeaseInDoubtIsNoAnswer() {
    SkewedTime time = new SkewedTime();
    Link link = link();
    LockClient client = client(link, builder -> timed(builder).timeSource(time));
    Lease lease = take(client.get(freshName(), lasting()));
    link.refuse();
    lease.ensureHeld(); // not in doubt: the store is not asked
    time.setWallAhead(Duration.ofHours(1));
    assertThatExceptionOfType(LockStoreException.class)
        .as("ensureHeld() of a lease in doubt without a way to the store")
        .isThrownBy(lease::ensureHeld);
    assertThat(lease.state()).isEqualTo(LeaseState.UNCERTAIN);
    assertThat(lease.isHeld()).isFalse();
    link.heal();
    eventuallyAnswered(slack().multipliedBy(2), lease::ensureHeld);
    assertThat(lease.isHeld()).isTrue();
    awaitCertainty(lease);
    lease.close();
  }

  /**
   * Asks until the lease is held for certain: a renewal that was sent before may fail only now, and
   * then takes one more answer.
   */
  private void awaitCertainty(Lease lease) {
    Duration limit = slack().multipliedBy(2);
    eventually("it is held for certain", limit, () -> {
      eventuallyAnswered(limit, lease::verify);
      return lease.state() == LeaseState.HELD;
    });
  }
}
