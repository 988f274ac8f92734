package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Chapter 7: giving the lock back. */
public abstract class ReleaseRules extends RuleTest {

  /** Called by JUnit. */
  protected ReleaseRules() {}

  @Rule("L-7.1")
  @Test
  void closingTwiceChangesNothing() {
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    Lease outer = take(lock);
    Lease inner = take(lock);
    inner.close();
    inner.close();
    assertTaken(other, lock.name(), "the outer handle is open");
    outer.close();
    outer.close();
    Lease next = take(other.get(lock.name()));
    outer.close();
    inner.close();
    assertThat(next.isHeld()).isTrue();
    next.verify();
    assertTaken(client(), lock.name(), "held by the next client");
    next.close();
  }

  @Rule("L-7.1")
  @Test
  void anyThreadMayClose() {
    DistributedLock lock = client().get(freshName());
    Lease lease = take(lock);
    startStep(lease::close).get(LONG);
    assertThat(lock.isHeldByCurrentThread()).isFalse();
    take(client().get(lock.name())).close();
  }

  @Rule("L-7.2")
  @Test
  void closingALostLeaseTellsAndLeavesTheNextHolderAlone() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(timedClient().get(name, fixed()));
    Lease next = takeWhenFree(other, name, lease.crashBound().plus(slack()));
    assertThatExceptionOfType(LockLostException.class)
        .as("close() of a lease that was lost")
        .isThrownBy(lease::close)
        .satisfies(e -> assertThat(e.token()).isEqualTo(lease.token()))
        .satisfies(e -> assertThat(e.lockName()).isEqualTo(name));
    next.verify();
    assertTaken(client(), name, "held by the next client");
    next.close();
  }

  @Rule("L-7.2")
  @Requires(Capability.TAP)
  @Test
  void releasingAGrantThatIsOverLeavesItsSuccessorAlone() throws StoreException {
    LockStore store = store();
    String name = freshName();
    Grant first = grant(store, claim(name, ttl()));
    Claim claim = claim(name, LONG_TTL);
    Grant successor = successor(store, first, claim);
    assertThat(store.release(first, Duration.ZERO))
        .as("the release of a grant that has a successor")
        .isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.verify(successor)).as("verify() of the successor").isPresent();
    assertThat(store.inspect(claim.key()).orElseThrow().number()).isEqualTo(successor.number());
    assertThat(store.release(successor, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(store.release(successor, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @Rule("L-7.3")
  @Requires(Capability.FAULTS)
  @Test
  void aReleaseThatCannotBeSentIsMadeUpFor() {
    String name = freshName();
    LockClient other = client();
    Link link = link();
    List<Boolean> confirmed = Collections.synchronizedList(new ArrayList<>());
    LockClient client = client(
        link,
        builder -> timed(builder).addListener(new LockListener() {
          @Override
          public void released(Released event) {
            if (event.lockName().equals(name)) {
              confirmed.add(event.confirmed());
            }
          }
        }));
    Lease lease = take(client.get(name, lasting()));
    link.refuse();
    long start = System.nanoTime();
    lease.close(); // does not throw: the work was exclusive
    assertThat(since(start)).isLessThan(timing().storeTimeout().plus(slack()));
    assertThat(lease.isHeld()).isFalse();
    eventually("the listener is told", slack(), () -> !confirmed.isEmpty());
    assertThat(confirmed).as("confirmed() of the release").containsExactly(false);
    assertTaken(other, name, "the store was not told");
    link.heal();
    takeWhenFree(other, name, slack().multipliedBy(3)).close();
  }

  @Rule("L-7.4")
  @Requires(Capability.FAULTS)
  @Test
  void aReleaseWhoseAnswerIsLostIsARelease() {
    String name = freshName();
    Link link = link();
    LockClient other = client();
    LockClient client = client(link, this::timed);
    take(client.get(freshName())).close();
    Lease lease = take(client.get(name, lasting()));
    Worker<Lease> waiting = start(() -> other.get(name, lasting()).lock());
    awaitWaiting(waiting);
    link.dropReply(1);
    // Resent, and then finds the next holder: still no loss.
    assertThatCode(lease::close).as("close() whose answer was lost").doesNotThrowAnyException();
    link.heal();
    Lease next = waiting.get(slack().multipliedBy(2));
    never(
        "the resent release hits the next holder", quiet(), () -> !isHolder(other.get(name), next));
    next.close();
  }

  @Rule("L-7.5")
  @Test
  void minHoldKeepsTheNameTakenAfterAnEarlyClose() {
    String name = freshName();
    LockClient holder = client();
    LockClient other = client();
    long beforeAcquire = System.nanoTime();
    Lease lease = take(holder.get(name, lasting().withMinHold(ttl())));
    lease.close();
    LockHolder mark = other.get(name).inspect().orElseThrow();
    assertThat(mark.isReleased()).as("only minHold keeps it").isTrue();
    assertThat(holder.get(name).tryLock()).as("tryLock() by the same client").isEmpty();
    Worker<Lease> waiting = start(() -> other.get(name).lock());
    Lease next = waiting.get(ttl().plus(slack()));
    assertThat(since(beforeAcquire))
        .as("from the acquire with minHold to the next grant")
        .isGreaterThanOrEqualTo(ttl());
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
  }

  @Rule("L-7.5")
  @Test
  void minHoldCostsNothingOnceItIsOver() {
    String name = freshName();
    Lease lease = take(client().get(name, lasting().withMinHold(quiet())));
    pause(quiet());
    lease.close();
    take(client().get(name)).close();
  }

  @Rule("L-7.5")
  @Test
  void forceReleaseFreesANameThatOnlyMinHoldKeeps() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(client().get(name, lasting().withMinHold(LONG_TTL)));
    lease.close();
    LockHolder mark = other.get(name).inspect().orElseThrow();
    assertThat(other.get(name).forceRelease(mark.token())).isTrue();
    take(other.get(name)).close();
  }

  @Rule("L-7.6")
  @Requires(Capability.CHILD_PROCESSES)
  @Test
  void minHoldOutlivesItsProcess() {
    String name = freshName();
    LockClient other = client();
    Duration minHold = ttl().multipliedBy(2);
    ChildProcess child = timedChild();
    long beforeAcquire = System.nanoTime();
    List<String> granted =
        child.ask(LONG, "lock", name, "renewed", ttl().toMillis(), minHold.toMillis(), 0);
    assertThat(granted.get(0)).isEqualTo("granted");
    assertThat(child.ask(LONG, "close")).containsExactly("closed");
    assertThat(child.ask(LONG, "exit")).containsExactly("bye");
    child.awaitEnd(LONG);
    Lease next = takeWhenFree(other, name, minHold.plus(slack()));
    assertThat(since(beforeAcquire))
        .as("from the acquire with minHold to the next grant")
        .isGreaterThanOrEqualTo(minHold);
    next.close();
  }

  @Rule("L-7.7")
  @Test
  void runReleasesHoweverTheActionEnds() throws Exception {
    DistributedLock lock = client().get(freshName());
    LockClient other = client();
    AtomicInteger ran = new AtomicInteger();
    lock.run(lease -> ran.incrementAndGet());
    take(other.get(lock.name())).close();
    assertThat(lock.<Long, RuntimeException>call(Lease::token)).isPositive();
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> lock.run(lease -> {
          throw new IOException("from the action");
        }))
        .withMessage("from the action");
    assertThat(isFree(other, lock.name())).as("free after an exception").isTrue();
    assertThat(lock.tryRun(lease -> ran.incrementAndGet())).isTrue();
    assertThat(lock.tryRun(quiet(), lease -> ran.incrementAndGet())).isTrue();
    assertThat(lock.tryCall(Lease::name)).contains(lock.name());
    assertThat(lock.<String, RuntimeException>tryCall(quiet(), Lease::name)).contains(lock.name());
    assertThatExceptionOfType(NullPointerException.class)
        .isThrownBy(() -> lock.tryCall(lease -> nothing()).isPresent());
    Lease elsewhere = take(other.get(lock.name()));
    assertThat(ran.get()).isEqualTo(3);
    assertThat(lock.tryRun(lease -> ran.incrementAndGet()))
        .as("tryRun() when busy")
        .isFalse();
    assertThat(lock.tryRun(Duration.ofMillis(50), lease -> ran.incrementAndGet()))
        .isFalse();
    assertThat(lock.tryCall(lease -> ran.incrementAndGet()))
        .as("tryCall() when busy")
        .isEmpty();
    assertThat(ran.get()).as("actions that ran").isEqualTo(3);
    elsewhere.close();
  }

  @SuppressWarnings("NullAway") // to see what an action without NullAway does
  private static String nothing() {
    return null;
  }

  @Rule("L-7.7")
  @Test
  void runTellsOfALossThatTheActionDidNotNotice() {
    DistributedLock lock = timedClient().get(freshName());
    LockClient other = client();
    assertThatExceptionOfType(LockLostException.class)
        .as("run() whose lease was lost meanwhile")
        .isThrownBy(() -> lock.run(lease -> {
          assertThat(other.get(lock.name()).forceRelease(lease.token())).isTrue();
          eventually("lost", ttl().plus(slack()), () -> !lease.isHeld());
        }));
    take(other.get(lock.name())).close();
  }
}
