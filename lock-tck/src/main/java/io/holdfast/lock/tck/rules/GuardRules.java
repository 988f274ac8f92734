package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Chapter 8, second part: writes that are made only while a lease is valid. */
public abstract class GuardRules extends RuleTest {

  /** Called by JUnit. */
  protected GuardRules() {}

  @Rule("L-8.9")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void aGuardedWriteAppliesWhileItsLeaseStands() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    String log = newLog(writes);
    Lease lease = take(client().get(freshName()));
    writes.append(log, lease, "first");
    writes.append(log, lease, "second");
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .containsExactly("first", "second");
    assertThat(lease.isHeld()).isTrue();
    lease.close();
  }

  @Rule("L-8.9")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void aStaleHoldersWriteIsRefused() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    LockClient other = client();
    String log = newLog(writes);
    String name = freshName();
    Lease stale = take(client().get(name, lasting()));
    writes.append(log, stale, "while held");
    // The holder's own clock shows nothing wrong: only the store knows.
    assertThat(other.get(name).forceRelease(stale.token())).isTrue();
    Lease next = take(other.get(name, lasting()));
    writes.append(log, next, "by the next");
    assertThatExceptionOfType(LockLostException.class)
        .as("a guarded write by a lease that was taken away")
        .isThrownBy(() -> writes.append(log, stale, "stale"));
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .containsExactly("while held", "by the next");
    assertThatExceptionOfType(LockLostException.class).isThrownBy(stale::close);
    next.verify();
    next.close();
  }

  @Rule("L-8.9")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void anExpiredHoldersWriteIsRefused() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    LockClient other = client();
    String log = newLog(writes);
    String name = freshName();
    Lease stale = take(timedClient().get(name, fixed()));
    Lease next = takeWhenFree(other, name, stale.crashBound().plus(slack()));
    assertThatExceptionOfType(LockLostException.class)
        .as("a guarded write by a lease that expired")
        .isThrownBy(() -> writes.append(log, stale, "stale"));
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .isEmpty();
    next.close();
  }

  @Rule("L-8.10")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void checkAndWriteAreOneStep() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    LockClient other = client();
    String log = newLog(writes);
    String name = freshName();
    Lease slow = take(timedClient().get(name, fixed()));
    Slot<Lease> successor = new Slot<>();
    Worker<Lease> waiting = start(() -> takeDespiteFailures(other, name, LONG));
    boolean accepted;
    try {
      writes.append(log, slow, "slow", () -> {
        // Waits for longer than the TTL, as if frozen, until the next holder has written.
        long start = System.nanoTime();
        while (!waiting.isDone() && since(start).compareTo(ttl().plus(quiet())) < 0) {
          pauseBetweenLooks(since(start));
        }
        if (waiting.isDone()) {
          Lease next = waiting.get(LONG);
          successor.set(next);
          writes.append(log, next, "successor");
        }
      });
      accepted = true;
    } catch (LockLostException e) {
      accepted = false;
    }
    Lease next = waiting.get(LONG.multipliedBy(2));
    if (!successor.isSet()) {
      writes.append(log, next, "successor");
    }
    next.close();
    assertThat(writes.read(log))
        .as("Unsafe: the writes, where the lease ran out between check and write")
        .isEqualTo(accepted ? List.of("slow", "successor") : List.of("successor"));
    assertThatExceptionOfType(LockLostException.class).isThrownBy(slow::close);
  }

  @Rule("L-8.11")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void aLeaseAndItsGuardedWriteDoNotEndAtOnce() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    LockClient other = client();
    String log = newLog(writes);
    String name = freshName();
    Lease lease = take(client().get(name, lasting()));
    Slot<Boolean> refusedToClose = new Slot<>();
    boolean accepted;
    try {
      writes.append(log, lease, "entry", () -> {
        try {
          lease.close();
          refusedToClose.set(false);
        } catch (IllegalStateException e) {
          refusedToClose.set(true);
        }
        if (refusedToClose.get()) {
          assertThat(other.get(name).inspect()).as("held under the open guard").isPresent();
        }
      });
      accepted = true;
    } catch (LockLostException | IllegalStateException e) {
      accepted = false;
    }
    assertThat(refusedToClose.isSet()).as("the write was tried").isTrue();
    if (!refusedToClose.get()) {
      assertThat(accepted).as("a guarded write after its lease was closed").isFalse();
    }
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .isEqualTo(accepted ? List.of("entry") : List.of());
    // Whichever closed first, nothing keeps the lock now.
    takeWhenFree(other, name, slack()).close();
  }

  @Rule("L-8.12")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void aGuardedLeaseIsNotHandedOnWithinItsClient() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    String log = newLog(writes);
    DistributedLock lock = client().get(freshName(), lasting());
    for (int round = 0; round < 5; round++) {
      Lease lease = take(lock);
      Worker<Long> waiting = start(() -> lock.call(Lease::token));
      awaitWaiting(waiting);
      writes.append(log, lease, "round-" + round);
      lease.close();
      long next = waiting.get(LONG);
      assertThat(next >>> 10).as("number of the next grant").isGreaterThan(lease.token() >>> 10);
      assertThatExceptionOfType(LockLostException.class)
          .as("a guarded write of the closed lease")
          .isThrownBy(() -> throwLost(writes, log, lease));
    }
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .hasSize(5);
  }

  /** Appends under a closed lease. An {@link IllegalStateException} counts as a refusal too. */
  private static void throwLost(GuardedWrites writes, String log, Lease closed) throws Exception {
    try {
      writes.append(log, closed, "stale");
    } catch (IllegalStateException e) {
      throw new LockLostException(
          closed.name(), closed.token(), io.holdfast.lock.LeaseLoss.Reason.TAKEN);
    }
  }

  @Rule("L-8.13")
  @Requires(Capability.GUARDED_WRITES)
  @Test
  void aGuardRefusesAForeignLease() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    String log = newLog(writes);
    Lease mock = (Lease) Proxy.newProxyInstance(
        Lease.class.getClassLoader(),
        new Class<?>[] {Lease.class},
        (proxy, method, arguments) -> switch (method.getName()) {
          case "name" -> "mock";
          case "token" -> Long.MAX_VALUE;
          case "isHeld" -> true;
          default -> null;
        });
    assertThatIllegalArgumentException()
        .as("a guarded write by a lease that no client gave")
        .isThrownBy(() -> writes.append(log, mock, "mock"));
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .isEmpty();
  }
}
