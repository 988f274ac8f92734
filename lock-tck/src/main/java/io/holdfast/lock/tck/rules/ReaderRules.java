package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.process.ChildProcess;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Chapter 14: the grants of readers at the store. */
public abstract class ReaderRules extends RuleTest {

  /** Called by JUnit. */
  protected ReaderRules() {}

  /** Returns the lock of this name in a client of its own. */
  private DistributedReadWriteLock lock(String name) {
    return ((ReadWriteClient) client()).readWrite(name, lasting());
  }

  private static Claim readClaim(String name, Duration ttl) {
    Claim mutex = claim(name, ttl);
    return new Claim(
        mutex.key(), Claim.SHARED, mutex.ownerId(), ttl, mutex.minHold(), mutex.holder());
  }

  @Rule("L-14.7")
  @Requires({Capability.READ_WRITE, Capability.CHILD_PROCESSES})
  @Test
  void aKilledProcessThatWaitedToWriteLetsTheReadersBehindItIn() {
    String name = freshName();
    ReadLease read = take(lock(name).read());
    DistributedReadWriteLock other = lock(name);
    ChildProcess child = timedChild();
    child.send("lock", name, "renewed", ttl().toMillis(), 0, LONG_TTL.toMillis());
    eventually("the child waits", LONG, () -> {
      Optional<ReadLease> beside = other.read().tryLock();
      beside.ifPresent(ReadLease::close);
      return beside.isEmpty();
    });
    Worker<ReadLease> behind = start(() -> other.read().lock());
    awaitWaiting(behind);
    child.kill();
    Duration bound = read.crashBound().compareTo(ttl()) < 0 ? ttl() : read.crashBound();
    Duration patience = bound.compareTo(LONG) < 0 ? bound : ttl();
    ReadLease second = behind.get(patience.plus(slack()));
    assertThat(List.of(read, second)).as("reads at a time").allMatch(ReadLease::isHeld);
    read.verify();
    read.close();
    second.close();
    take(other.write()).close();
  }

  @Rule("L-14.13")
  @Requires({Capability.READ_WRITE, Capability.TAP})
  @Test
  void aReaderWhoCrashedIsGoneAfterItsTimeAndNotBefore() throws StoreException {
    String name = freshName();
    LockClient client = timedClient();
    DistributedReadWriteLock kept = ((ReadWriteClient) client).readWrite(name, renewed());
    ReadLease living = take(kept.read());
    long start = System.nanoTime();
    Grant crashed = store().tryAcquire(readClaim(name, ttl())).orElseThrow();
    take(lock(name).read()).close();
    assertThat(kept.read().holders()).as("readers, the crashed one included").hasSize(2);
    eventually(
        "the crashed reader is gone",
        crashed.crashBound(ttl()).plus(slack()),
        () -> kept.read().holders().size() == 1);
    assertThat(since(start)).as("not before its time").isGreaterThanOrEqualTo(ttl());
    living.verify();
    living.close();
    take(kept.write()).close();
  }

  @Rule("L-14.13")
  @Requires({Capability.READ_WRITE, Capability.CHILD_PROCESSES})
  @Test
  void aKilledReaderIsGoneAfterItsCrashBoundAndNotBeforeAndNobodyElse() {
    String name = freshName();
    ChildProcess child = timedChild();
    List<String> granted = child.ask(LONG, "read", name, ttl().toMillis(), LONG.toMillis());
    assertThat(granted.get(0)).isEqualTo("granted");
    Duration crashBound = Duration.ofMillis(Long.parseLong(granted.get(3)));
    DistributedReadWriteLock lock = ((ReadWriteClient) timedClient()).readWrite(name, renewed());
    ReadLease living = take(lock.read());
    assertThat(lock.read().holders()).as("readers, the child included").hasSize(2);
    long asked = System.nanoTime();
    Duration remaining =
        Duration.ofMillis(Long.parseLong(child.ask(LONG, "held").get(2)));
    child.kill();
    long killed = System.nanoTime();
    eventually(
        "the killed reader is gone",
        crashBound.plus(slack()),
        () -> lock.read().holders().size() == 1);
    assertThat(since(asked))
        .as("time to its end, where the killed reader believed to have %s", remaining)
        .isGreaterThanOrEqualTo(remaining);
    assertThat(since(killed)).isLessThan(crashBound.plus(slack()));
    living.verify();
    assertTaken(lock(name).write(), "a write beside the reader that lives");
    living.close();
    take(lock(name).write()).close();
  }

  @Rule("L-14.13")
  @Requires({Capability.READ_WRITE, Capability.TAP})
  @Test
  void aReaderWhoLeavesShortensNobodyElsesTime() throws StoreException {
    String name = freshName();
    DistributedReadWriteLock lock = lock(name);
    ReadLease leaving = take(lock.read());
    long start = System.nanoTime();
    Grant crashed = store().tryAcquire(readClaim(name, ttl())).orElseThrow();
    leaving.close();
    Slot<Lease> writer = new Slot<>();
    eventually("a writer gets the lock", crashed.crashBound(ttl()).plus(slack()), () -> {
      lock.write().tryLock().ifPresent(writer::set);
      return writer.isSet();
    });
    assertThat(since(start))
        .as("time to a write, after the crash of a reader")
        .isGreaterThanOrEqualTo(ttl());
    writer.get().close();
  }

  @Rule("L-14.14")
  @Requires({Capability.READ_WRITE, Capability.TAP})
  @Test
  void aSecondReleaseLetsNoWriterIn() throws StoreException {
    String name = freshName();
    LockStore store = store();
    Grant first = store.tryAcquire(readClaim(name, LONG_TTL)).orElseThrow();
    Grant second = store.tryAcquire(readClaim(name, LONG_TTL)).orElseThrow();
    DistributedReadWriteLock others = lock(name);
    assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertTaken(others.write(), "a write after the first of two reads was released");
    assertThat(store.release(first, Duration.ZERO))
        .as("a second release of the same read")
        .isEqualTo(ReleaseOutcome.ALREADY_LOST);
    store.withdraw(first.claim());
    assertTaken(others.write(), "a write after a second release of another's read");
    assertThat(store.verify(second)).as("the other read").isPresent();
    assertThat(store.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    take(others.write()).close();
  }

  @Rule("L-14.15")
  @Requires({Capability.READ_WRITE, Capability.TAP})
  @Test
  void aRenewalRevivesNoReadThatIsOver() throws StoreException {
    String name = freshName();
    LockStore store = store();
    Grant read = store.tryAcquire(readClaim(name, ttl())).orElseThrow();
    Grant write = successor(store, read, claim(name, LONG_TTL));
    assertThat(store.renew(List.of(read)))
        .as("the renewal of a read after a write")
        .containsExactly(new Renewal.Lost());
    assertThat(store.extend(read, LONG_TTL)).as("its extension").isEmpty();
    assertThat(store.verify(read)).isEmpty();
    assertThat(store.release(read, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.verify(write)).isPresent();
    assertThat(store.release(write, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }
}
