package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.JointLease;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.tck.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Chapter 12: several names at once. */
public abstract class JointRules extends RuleTest {
  private static final int NAMES_MAX = 100;
  private static final int ROUNDS = 20;

  /** Called by JUnit. */
  protected JointRules() {}

  /** Returns the names a and b, in the order in which they are taken. */
  private List<String> twoNames() {
    String name = freshName();
    return List.of(name + "-a", name + "-b");
  }

  private static List<String> reversed(List<String> names) {
    return List.of(names.get(1), names.get(0));
  }

  @Rule("L-12.1")
  @Test
  void namesThatCanNotBeTakenAreRefused() {
    LockClient client = client();
    List<String> tooMany = new ArrayList<>();
    for (int i = 0; i <= NAMES_MAX; i++) {
      tooMany.add(freshName());
    }
    for (List<String> names : List.of(List.<String>of(), List.of("a", ""), tooMany)) {
      assertThatIllegalArgumentException()
          .as("all() of %d names", names.size())
          .isThrownBy(() -> client.all(names).names());
    }
    List<String> twice = List.of(tooMany.get(0), tooMany.get(1), tooMany.get(0));
    JointLease lease = take(client.all(twice));
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Rule("L-12.2")
  @Test
  void aJointLeaseExcludesTheLocksOfEachOfItsNames() {
    LockClient other = client();
    List<String> names = twoNames();
    JointLease lease = take(client().all(names));
    for (String name : names) {
      assertTaken(other, name, "a joint lease has it");
      assertThat(other.all(List.of(name, freshName())).tryLock())
          .as("another joint lock of the same name")
          .isEmpty();
    }
    lease.close();
    for (String name : names) {
      assertThat(isFree(other, name)).as("free after the close").isTrue();
    }
  }

  @Rule("L-12.2")
  @Test
  void callersThatNameTheLocksInAnyOrderAllGetTheirTurn() {
    List<String> names = twoNames();
    List<Worker<Integer>> workers = new ArrayList<>();
    for (List<String> order : List.of(names, reversed(names))) {
      LockClient client = client();
      workers.add(start(() -> {
        for (int round = 0; round < ROUNDS; round++) {
          client.all(order).tryLock(LONG).orElseThrow().close();
        }
        return ROUNDS;
      }));
    }
    for (Worker<Integer> worker : workers) {
      assertThat(worker.get(LONG.multipliedBy(2))).isEqualTo(ROUNDS);
    }
  }

  @Rule("L-12.3")
  @Test
  void aCallWithoutALeaseLeavesNothingTaken() throws InterruptedException {
    LockClient client = client();
    LockClient other = client();
    List<String> names = twoNames();
    Lease second = take(other.get(names.get(1), lasting()));
    assertThat(client.all(reversed(names)).tryLock()).as("one is taken").isEmpty();
    assertThat(isFree(other, names.get(0)))
        .as("the first is free, after tryLock()")
        .isTrue();
    long start = System.nanoTime();
    assertThatExceptionOfType(LockTimeoutException.class)
        .isThrownBy(() -> client.all(names).lockWithin(quiet()).close())
        .satisfies(e -> assertThat(e.lockName()).isEqualTo(names.get(1)));
    assertThat(since(start)).isGreaterThanOrEqualTo(quiet());
    assertThat(isFree(other, names.get(0)))
        .as("the first is free, after the time")
        .isTrue();
    Worker<JointLease> waiting = start(() -> client.all(names).lock());
    awaitWaiting(waiting);
    waiting.interrupt();
    assertThat(waiting.failure(LONG)).isInstanceOf(InterruptedException.class);
    assertThat(isFree(other, names.get(0)))
        .as("the first is free, after an interrupt")
        .isTrue();
    second.close();
  }

  @Rule("L-12.3")
  @Test
  void aWaitLimitIsForAllNamesTogether() {
    LockClient other = client();
    List<String> names = twoNames();
    Lease first = take(other.get(names.get(0), lasting()));
    Lease second = take(other.get(names.get(1), lasting()));
    // So long that a second wait of the same time is more than what an answer may take.
    Duration late = timing().storeTimeout().multipliedBy(2).plus(slack());
    Duration limit = late.multipliedBy(3).dividedBy(2);
    Duration mostOfIt = limit.multipliedBy(9).dividedBy(10);
    LockClient client = timedClient();
    long start = System.nanoTime();
    Worker<Duration> waiting = start(() -> {
      assertThat(client.all(names).tryLock(limit)).isEmpty();
      return since(start);
    });
    eventually("most of the time is over", limit, () -> since(start).compareTo(mostOfIt) > 0);
    first.close();
    assertThat(waiting.get(LONG))
        .as("time in tryLock(%s)", limit)
        .isGreaterThanOrEqualTo(limit)
        .isLessThan(limit.plus(late));
    second.close();
  }

  @Rule("L-12.4")
  @Test
  void theLossOfOneIsTheLossOfAll() {
    LockClient other = client();
    List<String> names = twoNames();
    List<LeaseLoss> told = Collections.synchronizedList(new ArrayList<>());
    JointLease lease = take(client().all(names));
    lease.onLost(told::add);
    assertThat(other.get(names.get(1)).forceRelease(lease.token(names.get(1)))).isTrue();
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() of a joint lease, one of whose names was taken away")
        .isThrownBy(lease::verify)
        .satisfies(e -> assertThat(e.lockName()).isEqualTo(names.get(1)));
    assertThat(lease.isHeld()).as("isHeld() after the loss of one").isFalse();
    eventually("the listener is told", slack(), () -> !told.isEmpty());
    assertThat(told.get(0).name()).isEqualTo(names.get(1));
    assertThat(told.get(0).token()).isEqualTo(lease.token(names.get(1)));
    assertTaken(other, names.get(0), "the lease is not closed");
    assertThatExceptionOfType(LockLostException.class)
        .as("close() after the loss of one")
        .isThrownBy(lease::close);
    assertThat(isFree(other, names.get(0)))
        .as("the other is free after close()")
        .isTrue();
    never("told again", quiet(), () -> told.size() != 1);
  }

  @Rule("L-12.5")
  @Test
  void eachNameHasItsToken() {
    LockClient client = client();
    List<String> names = twoNames();
    Lease earlier = take(client.get(names.get(1)));
    earlier.close();
    JointLease lease = take(client.all(names));
    for (String name : names) {
      assertThat(lease.token(name) >>> 10)
          .as("token(%s)", name)
          .isEqualTo(client.get(name).inspect().orElseThrow().token() >>> 10);
    }
    assertThat(lease.token(names.get(1))).isGreaterThan(earlier.token());
    assertThatIllegalArgumentException().isThrownBy(() -> lease.token("another"));
    lease.close();
  }

  @Rule("L-12.6")
  @Test
  void jointLocksAreReenteredByName() throws InterruptedException {
    LockClient client = client();
    LockClient other = client();
    List<String> names = twoNames();
    try (Lease first = client.get(names.get(0)).lock();
        JointLease all = client.all(names).lock();
        JointLease again = client.all(reversed(names)).lock();
        Lease second = client.get(names.get(1)).lock()) {
      assertThat(all.token(names.get(0))).isEqualTo(first.token());
      assertThat(again.token(names.get(1))).isEqualTo(second.token());
    }
    for (String name : names) {
      assertThat(isFree(other, name)).as("free after the last close").isTrue();
    }
    try (Lease second = client.get(names.get(1)).lock()) {
      assertThatIllegalStateException()
          .as("lock() of an earlier name by the owner of a later one")
          .isThrownBy(() -> client.all(names).lock().close());
      assertThat(second.isHeld()).isTrue();
      assertThat(isFree(other, names.get(0))).isTrue();
    }
  }

  @Rule("L-12.7")
  @Test
  void theTimeLeftIsTheLeast() {
    LockClient client = timedClient();
    LockClient other = client();
    List<String> names = twoNames();
    Lease second = take(other.get(names.get(1), lasting()));
    Worker<JointLease> waiting = start(() -> client.all(names, fixed()).lock());
    awaitWaiting(waiting);
    long start = System.nanoTime();
    Duration aged = ttl().dividedBy(4);
    eventually("the first one ages", LONG, () -> since(start).compareTo(aged) > 0);
    second.close();
    JointLease lease = waiting.get(LONG);
    assertThat(lease.remaining())
        .as("remaining(), where one name was granted %s before the other", aged)
        .isLessThan(ttl().minus(aged));
    Duration left = lease.remaining();
    lease.extend(ttl());
    assertThat(lease.remaining()).as("after extend()").isGreaterThan(left);
    lease.verify();
    lease.close();
  }
}
