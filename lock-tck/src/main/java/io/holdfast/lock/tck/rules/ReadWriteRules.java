package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Chapter 14: read-write locks. */
public abstract class ReadWriteRules extends RuleTest {
  private static final int WORKERS = 8;

  /**
   * The time after a request for a read lease in which others of its client may share it: L-14.7.
   */
  private static final Duration SHARED = Duration.ofMillis(10);

  private static final int ROUNDS = 25;

  /** For JUnit. */
  protected ReadWriteRules() {}

  private DistributedReadWriteLock lasting(LockClient client, String name) {
    return client.readWrite(name, lasting());
  }

  private static Claim readClaim(String name, Duration ttl) {
    Claim mutex = claim(name, ttl);
    return new Claim(
        new LockKey(LockKind.READ, name), mutex.ownerId(), ttl, mutex.minHold(), mutex.holder());
  }

  /** Takes the lock on a thread of its own, which then ends: the lease is still open. */
  private Lease takeElsewhere(DistributedLock lock) {
    return onAnotherThread(() -> take(lock));
  }

  private Worker<Lease> waiting(DistributedLock lock) {
    Worker<Lease> worker = start(lock::lock);
    awaitInLine(worker);
    return worker;
  }

  // ---- what it is

  @Rule("L-14.1")
  @Test
  void whatIsNoReadWriteLockIsRefused() {
    LockClient client = client();
    if (!fixture().capabilities().contains(Capability.READ_WRITE_LOCKS)) {
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .as("readWrite() on a store without read locks")
          .isThrownBy(() -> client.readWrite(freshName()).name())
          .withMessageContaining("get(name)");
      return;
    }
    assertThatIllegalArgumentException()
        .as("readWrite() without a name")
        .isThrownBy(() -> client.readWrite("").name());
    String name = freshName();
    assertThat(client.readWrite(name).name()).isEqualTo(name);
    assertThat(client.readWrite(name).read().name()).isEqualTo(name);
    assertThat(client.readWrite(name).write().name()).isEqualTo(name);
  }

  @Rule("L-14.1")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void theWriteLockIsTheLockOfThatName() {
    LockClient client = client();
    LockClient other = client();
    String name = freshName();
    Lease write = take(lasting(client, name).write());
    assertTaken(other, name, "the write lock is held");
    assertThat(other.get(name).inspect().orElseThrow().token()).isEqualTo(write.token());
    take(client.get(name, lasting())).close();
    write.close();
    Lease mutex = take(other.get(name, lasting()));
    assertThat(lasting(client, name).write().tryLock())
        .as("the write lock, while get(name) is held")
        .isEmpty();
    assertThat(lasting(client, name).read().tryLock())
        .as("the read lock, while get(name) is held")
        .isEmpty();
    mutex.close();
  }

  // ---- exclusion

  @Rule("L-14.2")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void manyReadOrOneWrites() {
    String name = freshName();
    DistributedReadWriteLock one = lasting(client(), name);
    DistributedReadWriteLock two = lasting(client(), name);
    DistributedReadWriteLock writer = lasting(client(), name);
    Lease first = take(one.read());
    Lease second = take(two.read());
    Lease third = takeElsewhere(two.read());
    assertThat(writer.write().tryLock()).as("a writer beside readers").isEmpty();
    first.close();
    second.close();
    assertThat(writer.write().tryLock()).as("a writer beside a reader").isEmpty();
    third.verify();
    third.close();
    Lease write = take(writer.write());
    assertThat(one.read().tryLock()).as("a reader beside a writer").isEmpty();
    assertThat(two.write().tryLock()).as("a writer beside a writer").isEmpty();
    write.close();
    take(one.read()).close();
  }

  @Rule("L-14.2")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Heavy
  @Test
  void noReaderIsInsideWithAWriter() {
    String name = freshName();
    List<DistributedReadWriteLock> locks = List.of(
        patientClient().readWrite(name),
        patientClient().readWrite(name),
        patientClient().readWrite(name));
    AtomicInteger reading = new AtomicInteger();
    AtomicInteger writing = new AtomicInteger();
    AtomicLong lastWrite = new AtomicLong();
    AtomicLong lastRead = new AtomicLong();
    List<Worker<Integer>> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      DistributedReadWriteLock lock = locks.get(i % locks.size());
      boolean writes = i % 4 == 0;
      workers.add(start(() -> {
        for (int round = 0; round < ROUNDS; round++) {
          try (Lease lease = writes ? lock.write().lock() : lock.read().lock()) {
            if (writes) {
              assertThat(writing.incrementAndGet()).as("writers inside").isEqualTo(1);
              assertThat(reading.get()).as("readers inside with a writer").isZero();
              assertThat(lease.token())
                  .as("a writer's token")
                  .isGreaterThan(Math.max(lastWrite.get(), lastRead.get()));
              lastWrite.set(lease.token());
              pause(Duration.ofMillis(1));
              writing.decrementAndGet();
            } else {
              reading.incrementAndGet();
              assertThat(writing.get()).as("writers inside with a reader").isZero();
              assertThat(lease.token()).as("a reader's token").isGreaterThan(lastWrite.get());
              lastRead.accumulateAndGet(lease.token(), Math::max);
              pause(Duration.ofMillis(1));
              reading.decrementAndGet();
            }
          }
        }
        return ROUNDS;
      }));
    }
    for (Worker<Integer> worker : workers) {
      assertThat(worker.get(LONG.multipliedBy(2))).isEqualTo(ROUNDS);
    }
  }

  @Rule("L-14.2")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void aReadersMinimumHoldKeepsWritersOutAndLetsReadersIn() {
    String name = freshName();
    DistributedReadWriteLock one = lasting(client(), name);
    DistributedReadWriteLock two = lasting(client(), name);
    long start = System.nanoTime();
    take(one.with(lasting().withMinHold(ttl())).read()).close();
    take(two.read()).close();
    Slot<Lease> write = new Slot<>();
    eventually("the reader's minimum hold is over", ttl().plus(slack()), () -> {
      two.write().tryLock().ifPresent(write::set);
      return write.isSet();
    });
    assertThat(since(start)).as("not before its time").isGreaterThanOrEqualTo(ttl());
    write.get().close();
  }

  // ---- order

  @Rule("L-14.3")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void aWaitingWriterKeepsLaterReadersOut() {
    String name = freshName();
    DistributedReadWriteLock one = lasting(client(), name);
    DistributedReadWriteLock two = lasting(client(), name);
    Lease reading = take(one.read());
    Worker<Lease> writer = waiting(lasting(client(), name).write());
    assertThat(two.read().tryLock())
        .as("a reader that comes after a waiting writer")
        .isEmpty();
    pause(SHARED); // Until then it may share what its client has.
    assertThat(tryOnAnotherThread(one.read()))
        .as("a reader of the client that reads, that comes after a waiting writer")
        .isEmpty();
    Worker<Lease> later = waiting(two.read());
    assertThat(writer.isDone()).as("the writer waits for the reader").isFalse();
    reading.close();
    Lease write = writer.get(LONG);
    never("a reader enters beside a writer", quiet(), later::isDone);
    write.close();
    later.get(LONG).close();
  }

  @Rule("L-14.3")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void readersThatFollowEachOtherInLineEnterTogether() {
    String name = freshName();
    Lease write = take(lasting(client(), name).write());
    List<Worker<Lease>> readers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      readers.add(waiting(lasting(client(), name).read()));
    }
    Worker<Lease> writer = waiting(lasting(client(), name).write());
    write.close();
    List<Lease> reading = new ArrayList<>();
    for (Worker<Lease> reader : readers) {
      reading.add(reader.get(LONG));
    }
    assertThat(reading).as("readers inside at the same time").allMatch(Lease::isHeld);
    for (Lease lease : reading) {
      never("a writer enters beside readers", quiet().dividedBy(4), writer::isDone);
      lease.close();
    }
    writer.get(LONG).close();
  }

  @Rule("L-14.3")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void aWriterInLineThatGivesUpLetsTheReadersBehindItIn() {
    String name = freshName();
    Lease reading = take(lasting(client(), name).read());
    Worker<Lease> writer = waiting(lasting(client(), name).write());
    Worker<Lease> behind = waiting(lasting(client(), name).read());
    writer.interrupt();
    assertThat(writer.failure(LONG)).isInstanceOf(InterruptedException.class);
    Lease also = behind.get(LONG);
    assertThat(reading.isHeld()).isTrue();
    also.close();
    reading.close();
    take(lasting(client(), name).write()).close();
  }

  @Rule("L-14.3")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void aWriterGetsItsTurnAmongReadersThatNeverPause() throws InterruptedException {
    String name = freshName();
    List<DistributedReadWriteLock> locks =
        List.of(patientClient().readWrite(name), patientClient().readWrite(name));
    CountDownLatch reading = new CountDownLatch(WORKERS);
    CountDownLatch written = new CountDownLatch(1);
    List<Worker<Boolean>> readers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      DistributedLock read = locks.get(i % 2).read();
      int turn = i;
      readers.add(start(() -> {
        while (written.getCount() > 0) {
          read.run(lease -> {
            reading.countDown();
            pause(Duration.ofMillis(3 + turn));
          });
        }
        return true;
      }));
    }
    assertThat(reading.await(LONG.toSeconds(), TimeUnit.SECONDS))
        .as("all have read")
        .isTrue();
    Optional<Lease> write = patientClient().readWrite(name).write().tryLock(LONG);
    written.countDown();
    assertThat(write).as("a writer's turn among readers").isPresent();
    write.orElseThrow().close();
    for (Worker<Boolean> reader : readers) {
      assertThat(reader.get(LONG)).isTrue();
    }
  }

  // ---- crashes and late requests

  @Rule("L-14.4")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.TAP})
  @Test
  void aCrashedReaderKeepsWritersOutForItsOwnCrashBound() throws StoreException {
    String name = freshName();
    LockStore store = store();
    DistributedReadWriteLock others = client().readWrite(name, renewed());
    DistributedReadWriteLock writer = lasting(client(), name);
    long start = System.nanoTime();
    Grant crashed = store.tryAcquire(readClaim(name, ttl())).orElseThrow();
    Lease kept = take(others.read());
    assertThat(writer.read().holders()).as("readers").hasSize(2);
    eventually(
        "the crashed reader's time is over, though others are renewed",
        crashed.crashBound().plus(slack()),
        () -> writer.read().holders().size() == 1);
    assertThat(since(start)).as("not before its time").isGreaterThanOrEqualTo(ttl());
    kept.verify();
    assertThat(writer.write().tryLock()).as("beside the reader that is alive").isEmpty();
    kept.close();
    take(writer.write()).close();
  }

  @Rule("L-14.5")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.TAP})
  @Test
  void aSecondReleaseFreesNoOtherReader() throws StoreException {
    String name = freshName();
    LockStore store = store();
    Grant first = store.tryAcquire(readClaim(name, LONG_TTL)).orElseThrow();
    Grant second = store.tryAcquire(readClaim(name, LONG_TTL)).orElseThrow();
    Lease third = take(lasting(client(), name).read());
    DistributedLock write = lasting(client(), name).write();
    assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    for (int again = 0; again < 3; again++) {
      assertThat(store.release(first, Duration.ZERO))
          .as("a second release of the same grant")
          .isEqualTo(ReleaseOutcome.ALREADY_LOST);
      store.withdraw(first.claim());
    }
    assertThat(store.verify(second)).as("another reader's grant").isPresent();
    assertThat(write.tryLock()).as("a writer, after a release that came twice").isEmpty();
    store.withdraw(second.claim());
    assertThat(store.verify(second)).as("the grant of a withdrawn claim").isEmpty();
    third.verify();
    assertThat(write.tryLock()).as("a writer beside the last reader").isEmpty();
    third.close();
    third.close();
    take(write).close();
  }

  @Rule("L-14.6")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void tokensRiseOverReadersAndWriters() {
    String name = freshName();
    List<DistributedReadWriteLock> locks =
        List.of(lasting(client(), name), lasting(client(), name));
    long last = 0;
    for (int round = 0; round < 5; round++) {
      Lease write = take(locks.get(round % 2).write());
      assertThat(write.token()).as("a writer's token").isGreaterThan(last);
      write.close();
      Lease one = take(locks.get(0).read());
      Lease two = take(locks.get(1).read());
      assertThat(one.token()).as("a reader's token").isGreaterThan(write.token());
      assertThat(two.token()).as("a later reader's token").isGreaterThan(one.token());
      last = two.token();
      two.close();
      one.close();
    }
  }

  // ---- readers of one client

  @Rule("L-14.7")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.FAULTS})
  @Test
  void readersOfOneClientShareWhatOneOfThemGot() {
    Link link = link();
    DistributedLock read = lasting(client(link), freshName()).read();
    take(read).close();
    CyclicBarrier together = new CyclicBarrier(WORKERS);
    long before = link.requests();
    link.hold(Link.Direction.REPLIES); // One asks; the others come while there is no answer.
    List<Worker<Boolean>> readers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      readers.add(start(() -> {
        try (Lease lease = read.lock()) {
          int unused = together.await(LONG.toSeconds(), TimeUnit.SECONDS);
          return lease.isHeld();
        }
      }));
    }
    awaitAllButOneInLine(readers);
    link.heal();
    for (Worker<Boolean> reader : readers) {
      assertThat(reader.get(LONG)).as("whether the reader held its lease").isTrue();
    }
    assertThat(link.requests() - before)
        .as("requests for %s read leases that were asked for together", WORKERS)
        .isLessThan(WORKERS);
  }

  @Rule("L-14.7")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void theLastReaderThatClosesFreesTheLock() {
    String name = freshName();
    DistributedReadWriteLock lock = lasting(client(), name);
    DistributedLock write = lasting(client(), name).write();
    for (int round = 0; round < 10; round++) {
      Lease first = take(lock.read());
      Lease second = takeElsewhere(lock.read());
      first.close();
      assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
      assertThat(second.isHeld()).as("the other reader's lease").isTrue();
      assertThat(write.tryLock()).as("a writer beside the last reader").isEmpty();
      first.close();
      second.verify();
      second.close();
      take(write).close();
    }
  }

  @Rule("L-14.7")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void eachReaderIsToldThatWhatTheyShareIsLost() {
    String name = freshName();
    DistributedReadWriteLock lock = lasting(client(), name);
    DistributedReadWriteLock admin = lasting(client(), name);
    Lease first = take(lock.read());
    Lease second = takeElsewhere(lock.read());
    AtomicInteger told = new AtomicInteger();
    first.onLost(loss -> told.incrementAndGet());
    second.onLost(loss -> told.incrementAndGet());
    for (LockHolder holder : admin.read().holders()) {
      assertThat(admin.read().forceRelease(holder.token())).isTrue();
    }
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() after forceRelease()")
        .isThrownBy(first::verify);
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() of the other reader after forceRelease()")
        .isThrownBy(second::verify);
    eventually("both are told", LONG, () -> told.get() == 2);
    assertLost(LeaseLoss.Reason.TAKEN, "close() of the first", first::close);
    assertLost(LeaseLoss.Reason.TAKEN, "close() of the second", second::close);
    take(admin.write()).close();
  }

  @Rule("L-14.7")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void aWriterOfTheSameClientComesBeforeLaterReaders() {
    String name = freshName();
    DistributedReadWriteLock lock = lasting(client(), name);
    Lease reading = take(lock.read());
    Worker<Lease> writer = waiting(lock.write());
    assertThat(tryOnAnotherThread(lock.read()))
        .as("a reader that comes after a waiting writer of its client")
        .isEmpty();
    reading.close();
    Lease write = writer.get(LONG);
    assertThat(lock.read().tryLock())
        .as("a reader beside a writer of its client")
        .isEmpty();
    write.close();
    take(lock.read()).close();
  }

  // ---- re-entry

  @Rule("L-14.8")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.FAULTS})
  @Test
  void aReaderReadsAgainWhoeverWaits() throws InterruptedException {
    String name = freshName();
    Link link = link();
    DistributedLock read = lasting(client(link), name).read();
    Lease outer = take(read);
    Worker<Lease> writer = waiting(lasting(client(), name).write());
    long before = link.requests();
    Lease inner = read.tryLock().orElseThrow(() -> new AssertionError("a reader that reads again"));
    Lease innermost = read.lock();
    assertThat(link.requests() - before).as("requests for reading again").isZero();
    assertThat(inner.token()).isEqualTo(outer.token());
    assertThat(read.isHeldByCurrentThread()).isTrue();
    outer.close();
    inner.close();
    never("the writer enters beside a nested reader", quiet(), writer::isDone);
    assertThat(innermost.isHeld()).isTrue();
    innermost.close();
    assertThat(read.isHeldByCurrentThread()).isFalse();
    writer.get(LONG).close();
  }

  @Rule("L-14.8")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.FAULTS})
  @Test
  void aWriterMayReadAndStaysAloneMeanwhile() {
    String name = freshName();
    Link link = link();
    DistributedReadWriteLock lock = lasting(client(link), name);
    DistributedReadWriteLock other = lasting(client(), name);
    Lease write = take(lock.write());
    long before = link.requests();
    Lease read = take(lock.read());
    assertThat(link.requests() - before)
        .as("requests for reading under one's own write")
        .isZero();
    assertThat(read.token()).isEqualTo(write.token());
    assertThat(lock.read().isHeldByCurrentThread()).isTrue();
    write.close();
    assertThat(read.isHeld()).isTrue();
    read.verify();
    assertThat(other.read().tryLock())
        .as("a reader, while a reader within a writer is left")
        .isEmpty();
    assertThat(other.write().tryLock()).as("a writer beside it").isEmpty();
    read.close();
    assertThat(lock.read().isHeldByCurrentThread()).isFalse();
    take(other.read()).close();
    take(other.write()).close();
  }

  @Rule("L-14.9")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.FAULTS})
  @Test
  void aReaderThatAsksForTheWriteLockIsRefused() {
    String name = freshName();
    Link link = link();
    LockClient client = client(link);
    DistributedReadWriteLock lock = lasting(client, name);
    Lease read = take(lock.read());
    long before = link.requests();
    DistributedLock write = lock.write();
    assertNoUpgrade(() -> write.tryLock().isPresent());
    assertNoUpgrade(() -> write.tryLock(quiet()).isPresent());
    assertNoUpgrade(() -> write.lockWithin(quiet()).close());
    assertNoUpgrade(() -> write.lock().close());
    assertNoUpgrade(() -> client.get(name).tryLock().isPresent());
    assertNoUpgrade(() -> client.all(List.of(freshName(), name)).tryLock().isPresent());
    assertNoUpgrade(() -> client.all(List.of(freshName(), name)).lock().close());
    assertNoUpgrade(() -> lock.asReadWriteLock().writeLock().lock());
    assertThat(link.requests() - before).as("requests for what was refused").isZero();
    read.verify();
    read.close();
    take(lock.write()).close();
  }

  private static void assertNoUpgrade(ThrowingCallable acquire) {
    assertThatIllegalStateException()
        .as("the write lock, for a thread that owns the read lock")
        .isThrownBy(acquire)
        .withMessageContaining("read");
  }

  @Rule("L-14.10")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  void whoReadsIsShownAndOneOfThemCanBeSentOut() {
    String name = freshName();
    DistributedReadWriteLock one = lasting(client(), name);
    DistributedReadWriteLock two = lasting(client(), name);
    LockClient adminClient = client();
    DistributedReadWriteLock admin = lasting(adminClient, name);
    for (DistributedLock view : List.of(admin.read(), admin.write())) {
      assertThat(view.holders()).isEmpty();
      assertThat(view.inspect()).isEmpty();
    }
    Lease first = take(one.read());
    Lease second = take(two.read());
    for (DistributedLock view : List.of(admin.read(), admin.write())) {
      List<LockHolder> holders = view.holders();
      assertThat(holders)
          .as("holders()")
          .extracting(LockHolder::token)
          .containsExactly(first.token(), second.token());
      for (LockHolder holder : holders) {
        assertThat(holder.name()).isEqualTo(name);
        assertThat(holder.description()).isNotBlank();
        assertThat(holder.isReleased()).isFalse();
        assertThat(holder.remaining()).isPositive().isLessThanOrEqualTo(first.crashBound());
      }
      assertThat(view.inspect().orElseThrow().token()).isEqualTo(first.token());
    }
    List<HeldLock> listed = adminClient.list(name, 10);
    assertThat(listed).as("list() of a name with two readers").hasSize(1);
    assertThat(listed.get(0).name()).isEqualTo(name);
    assertThat(listed.get(0).token()).isEqualTo(first.token());
    assertThat(admin.write().forceRelease(second.token())).isTrue();
    assertThat(admin.read().forceRelease(second.token())).isFalse();
    first.verify();
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() after forceRelease()")
        .isThrownBy(second::verify);
    assertLost(LeaseLoss.Reason.TAKEN, "close() after forceRelease()", second::close);
    assertThat(admin.read().holders())
        .as("holders() after forceRelease()")
        .extracting(LockHolder::token)
        .containsExactly(first.token());
    first.close();
    assertThat(admin.read().holders()).isEmpty();
    Lease write = take(one.write());
    for (DistributedLock view : List.of(admin.read(), admin.write())) {
      assertThat(view.holders())
          .as("holders() of a name with a writer")
          .extracting(LockHolder::token)
          .containsExactly(write.token());
    }
    assertThat(admin.read().forceRelease(write.token()))
        .as("forceRelease() of a writer through the read lock")
        .isTrue();
    take(two.read()).close();
  }

  @Rule("L-14.11")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.FAULTS})
  @Test
  void aFreeReadIsTwoRequests() {
    Link link = link();
    DistributedLock read = lasting(client(link), freshName()).read();
    take(read).close();
    take(read).close();
    int rounds = 20;
    long before = link.requests();
    for (int i = 0; i < rounds; i++) {
      take(read).close();
    }
    assertThat(link.requests() - before)
        .as("requests for %s times acquire and release of a read lock", rounds)
        .isBetween(2L * rounds, 2L * rounds + rounds / 4);
  }

  @Rule("L-14.12")
  @Requires({Capability.READ_WRITE_LOCKS, Capability.GUARDED_WRITES})
  @Test
  void aGuardChecksTheReadersOwnGrant() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    String log = freshName();
    writes.create(log);
    String name = freshName();
    DistributedReadWriteLock admin = lasting(client(), name);
    Lease lost = take(lasting(client(), name).read());
    Lease held = take(lasting(client(), name).read());
    try {
      writes.append(log, held, "held");
    } catch (IllegalArgumentException e) {
      // The guard can't check it, and says so.
      assertThat(writes.read(log)).as("what a refused guard has written").isEmpty();
      return;
    }
    assertThat(admin.read().forceRelease(lost.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class)
        .as("a guarded write under a lost read lease, while another reads")
        .isThrownBy(() -> writes.append(log, lost, "lost"));
    writes.append(log, held, "still held");
    assertThat(writes.read(log)).containsExactly("held", "still held");
    held.close();
  }

  @Rule("L-14.13")
  @Requires(Capability.READ_WRITE_LOCKS)
  @Test
  @SuppressWarnings("LockNotBeforeTry") // What is between the two is what is tested.
  void asReadWriteLockIsOwnedByThreads() {
    String name = freshName();
    LockClient client = client();
    DistributedReadWriteLock distributed = lasting(client, name);
    ReadWriteLock lock = distributed.asReadWriteLock();
    DistributedReadWriteLock other = lasting(client(), name);
    lock.readLock().lock();
    assertThat(lock.readLock().tryLock()).isTrue();
    assertThat(other.write().tryLock())
        .as("a writer beside a thread that reads")
        .isEmpty();
    take(other.read()).close();
    lock.readLock().unlock();
    assertThat(other.write().tryLock())
        .as("a writer beside a thread that reads")
        .isEmpty();
    lock.readLock().unlock();
    lock.writeLock().lock();
    lock.readLock().lock();
    lock.writeLock().unlock();
    assertThat(other.read().tryLock())
        .as("a reader, while a reader within a writer is left")
        .isEmpty();
    assertNotOwned(lock.writeLock());
    lock.readLock().unlock();
    assertNotOwned(lock.readLock());
    take(other.write()).close();
    for (Lock each : List.of(lock.readLock(), lock.writeLock())) {
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .as("newCondition()")
          .isThrownBy(each::newCondition);
    }
    assertThatIllegalStateException()
        .as("asReadWriteLock() of leases that own themselves")
        .isThrownBy(() ->
            client.readWrite(name, lasting().withOwnership(Ownership.LEASE)).asReadWriteLock());
  }

  private static void assertNotOwned(Lock lock) {
    assertThatExceptionOfType(IllegalMonitorStateException.class)
        .as("unlock() by a thread that does not own it")
        .isThrownBy(lock::unlock);
  }
}
