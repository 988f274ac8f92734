package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Chapter 14: read-write locks, as users see them. */
public abstract class ReadWriteRules extends RuleTest {
  private static final int READERS = 3;
  private static final int WORKERS = 6;
  private static final int ROUNDS = 20;

  /** Called by JUnit. */
  protected ReadWriteRules() {}

  /** Returns the lock of this name in a client of its own. */
  private DistributedReadWriteLock lock(String name) {
    return ((ReadWriteClient) client()).readWrite(name, lasting());
  }

  private List<DistributedReadWriteLock> locks(String name, int clients) {
    return Stream.generate(() -> lock(name)).limit(clients).toList();
  }

  /** Starts a thread that waits for this. */
  private <L> Worker<L> startWaiting(Acquirable<? extends L> lock) {
    Worker<L> worker = start(lock::lock);
    awaitWaiting(worker);
    return worker;
  }

  @Rule("L-14.1")
  @Test
  void whatCannotBeReadIsRefused() {
    if (!fixture().capabilities().contains(Capability.READ_WRITE)) {
      assertThat(client())
          .as("a client of a store without read-write locks")
          .isNotInstanceOf(ReadWriteClient.class);
      return;
    }
    ReadWriteClient client = (ReadWriteClient) client();
    LockOptions holding = lasting().withMinHold(Duration.ofSeconds(1));
    assertThatIllegalArgumentException()
        .as("readWrite() with a minimum hold")
        .isThrownBy(() -> client.readWrite("tck", holding).name())
        .withMessageContaining("PT1S");
    assertThatIllegalArgumentException()
        .as("readWrite() without a name")
        .isThrownBy(() -> client.readWrite("").name());
  }

  @Rule("L-14.2")
  @Requires(Capability.READ_WRITE)
  @Test
  void anyNumberReadsWhileNobodyWrites() {
    String name = freshName();
    List<DistributedReadWriteLock> locks = locks(name, 2);
    List<ReadLease> reads = new ArrayList<>();
    for (int i = 0; i < 2 * READERS; i++) {
      DistributedReadWriteLock lock = locks.get(i % locks.size());
      reads.add(onAnotherThread(() -> take(lock.read())));
    }
    assertThat(reads).as("reads at a time").allMatch(ReadLease::isHeld);
    for (ReadLease read : reads) {
      assertTaken(locks.get(0).write(), "a write while others read");
      read.verify();
      read.close();
    }
    Lease write = take(locks.get(0).write());
    assertTaken(locks.get(1).write(), "a second write");
    assertTaken(locks.get(1).read(), "a read while another writes");
    write.close();
  }

  @Rule("L-14.2")
  @Requires(Capability.READ_WRITE)
  @Test
  void nobodyIsInsideBesideAWriter() {
    String name = freshName();
    List<DistributedReadWriteLock> locks = Stream.of(client(), client())
        .map(client -> ((ReadWriteClient) client).readWrite(name))
        .toList();
    AtomicInteger readers = new AtomicInteger();
    AtomicBoolean writes = new AtomicBoolean();
    AtomicLong lastWrite = new AtomicLong();
    List<Worker<Integer>> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      DistributedReadWriteLock lock = locks.get(i % locks.size());
      boolean isWriter = i < 2;
      workers.add(start(() -> {
        for (int round = 0; round < ROUNDS; round++) {
          if (isWriter) {
            lock.write().run(write -> {
              assertThat(writes.getAndSet(true)).as("two writers").isFalse();
              assertThat(readers).as("readers beside a writer").hasValue(0);
              assertThat(lastWrite.getAndSet(write.token())).isLessThan(write.token());
              pause(Duration.ofMillis(1));
              writes.set(false);
            });
          } else {
            lock.read().run(read -> {
              readers.incrementAndGet();
              assertThat(writes).as("a writer beside a reader").isFalse();
              assertThat(lastWrite.get()).isLessThan(read.token());
              pause(Duration.ofMillis(1));
              readers.decrementAndGet();
            });
          }
        }
        return ROUNDS;
      }));
    }
    for (Worker<Integer> worker : workers) {
      assertThat(worker.get(LONG.multipliedBy(2))).isEqualTo(ROUNDS);
    }
  }

  @Rule("L-14.3")
  @Requires(Capability.READ_WRITE)
  @Test
  void theWriteLockIsTheLockOfThatName() {
    LockClient client = client();
    String name = freshName();
    DistributedReadWriteLock lock = ((ReadWriteClient) client).readWrite(name, lasting());
    Lease write = take(lock.write());
    Lease nested = take(client.get(name, lasting()));
    assertThat(nested.token()).as("the token of the nested one").isEqualTo(write.token());
    write.close();
    assertTaken(client(), name, "get(name) is not closed yet");
    nested.close();
    Lease mutex = take(client().get(name, lasting()));
    assertTaken(lock.write(), "a write while get(name) is held");
    assertTaken(lock.read(), "a read while get(name) is held");
    assertThat(lock.write().inspect()).map(LockHolder::token).hasValue(mutex.token());
    mutex.close();
  }

  @Rule("L-14.4")
  @Requires(Capability.READ_WRITE)
  @Test
  void aReadThatDoesNotWaitFindsTheLockTakenByAWriterWhoDoes() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 3);
    ReadLease read = take(locks.get(0).read());
    ReadLease beside = take(locks.get(1).read());
    beside.close();
    Worker<Lease> writer = startWaiting(locks.get(2).write());
    assertTaken(locks.get(1).read(), "tryLock() of a read while a writer waits");
    read.close();
    Lease write = writer.get(LONG);
    assertTaken(locks.get(1).read(), "tryLock() of a read while a writer writes");
    write.close();
    take(locks.get(1).read()).close();
  }

  @Rule("L-14.5")
  @Requires(Capability.READ_WRITE)
  @Test
  void aWriterIsServedBeforeReadersWhoCameLater() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 3);
    ReadLease read = take(locks.get(0).read());
    Worker<Lease> writer = startWaiting(locks.get(1).write());
    Worker<ReadLease> later = startWaiting(locks.get(2).read());
    read.close();
    Lease write = writer.get(LONG);
    pause(quiet());
    assertThat(later.isDone()).as("a reader who came later is inside").isFalse();
    write.close();
    ReadLease served = later.get(LONG);
    assertThat(served.token()).isGreaterThan(write.token());
    served.close();
  }

  @Rule("L-14.5")
  @Requires(Capability.READ_WRITE)
  @Test
  void readersWithoutEndDoNotStarveAWriter() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 3);
    AtomicBoolean enough = new AtomicBoolean();
    List<Worker<Boolean>> readers = new ArrayList<>();
    for (int i = 0; i < 2 * READERS; i++) {
      DistributedReadWriteLock lock = locks.get(i % 2);
      readers.add(startStep(() -> {
        while (!enough.get()) {
          lock.read().run(read -> pause(Duration.ofMillis(20)));
        }
      }));
    }
    try {
      for (int round = 0; round < 3; round++) {
        start(() -> locks.get(2).write().lock()).get(LONG).close();
      }
    } finally {
      enough.set(true);
    }
    readers.forEach(reader -> reader.get(LONG));
  }

  @Rule("L-14.6")
  @Requires(Capability.READ_WRITE)
  @Test
  void readersWhoWaitForAWriterEnterTogether() {
    List<DistributedReadWriteLock> locks = locks(freshName(), READERS + 1);
    Lease write = take(locks.get(0).write());
    List<Worker<ReadLease>> waiting = new ArrayList<>();
    for (DistributedReadWriteLock lock : locks.subList(1, locks.size())) {
      waiting.add(startWaiting(lock.read()));
    }
    write.close();
    List<ReadLease> reads = new ArrayList<>();
    waiting.forEach(reader -> reads.add(reader.get(LONG)));
    assertThat(reads).as("readers at a time").allMatch(ReadLease::isHeld);
    reads.forEach(ReadLease::close);
  }

  @Rule("L-14.7")
  @Requires(Capability.READ_WRITE)
  @Test
  void aWriterWhoGivesUpLetsTheReadersBehindItIn() throws InterruptedException {
    List<DistributedReadWriteLock> locks = locks(freshName(), 4);
    ReadLease read = take(locks.get(0).read());
    Worker<Lease> interrupted = startWaiting(locks.get(1).write());
    Worker<ReadLease> behind = startWaiting(locks.get(2).read());
    interrupted.interrupt();
    assertThat(interrupted.failure(LONG)).isInstanceOf(InterruptedException.class);
    ReadLease second = behind.get(LONG);

    Duration wait = quiet().multipliedBy(2);
    Worker<Optional<Lease>> timed = start(() -> locks.get(1).write().tryLock(wait));
    awaitWaiting(timed);
    ReadLease third = locks.get(3).read().lockWithin(LONG);
    assertThat(timed.get(LONG)).isEmpty();
    assertThat(List.of(read, second, third)).allMatch(ReadLease::isHeld);
    read.close();
    second.close();
    third.close();
    take(locks.get(1).write()).close();
  }

  @Rule("L-14.8")
  @Requires(Capability.READ_WRITE)
  @Test
  void aReadWithinAWriteKeepsTheLockToItself() {
    DistributedReadWriteLock lock = lock(freshName());
    DistributedReadWriteLock other = lock(lock.name());
    for (boolean writeFirst : new boolean[] {true, false}) {
      Lease write = take(lock.write());
      ReadLease read = take(lock.read());
      assertThat(read.token()).as("the token of a read within").isEqualTo(write.token());
      if (writeFirst) {
        write.close();
      } else {
        read.close();
      }
      assertTaken(other.read(), "a read while one of both is open");
      assertTaken(other.write(), "a write while one of both is open");
      read.close();
      write.close();
      take(other.write()).close();
    }
  }

  @Rule("L-14.9")
  @Requires(Capability.READ_WRITE)
  @Test
  void theTokenOfAReadLiesBetweenThoseOfTheWrites() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 2);
    long lastWrite = 0;
    long lastRead = 0;
    for (int round = 0; round < 10; round++) {
      Lease write = take(locks.get(round % 2).write());
      assertThat(write.token()).as("above the write before").isGreaterThan(lastWrite);
      assertThat(write.token()).as("above the read before").isGreaterThan(lastRead);
      lastWrite = write.token();
      write.close();
      for (DistributedReadWriteLock lock : locks) {
        ReadLease read = take(lock.read());
        assertThat(read.token()).as("a read above the write before").isGreaterThan(lastWrite);
        lastRead = Math.max(lastRead, read.token());
        read.close();
      }
    }
  }

  @Rule("L-14.10")
  @Requires(Capability.READ_WRITE)
  @Test
  void whoReadsIsNotLeftWaitingToWrite() {
    LockClient client = client();
    DistributedReadWriteLock lock = ((ReadWriteClient) client).readWrite(freshName(), lasting());
    ReadLease read = take(lock.read());
    List<Acquirable<?>> asked = List.of(
        lock.write(),
        client.get(lock.name(), lasting()),
        client.all(List.of(lock.name(), freshName()), lasting()));
    for (Acquirable<?> each : asked) {
      assertThatIllegalStateException()
          .as("tryLock() by a thread that reads")
          .isThrownBy(() -> each.tryLock().isPresent());
      assertThatIllegalStateException()
          .as("a wait by a thread that reads")
          .isThrownBy(() -> each.tryLock(LONG).isPresent());
    }
    read.verify();
    read.close();
    take(lock.write()).close();
  }

  @Rule("L-14.11")
  @Requires(Capability.READ_WRITE)
  @Test
  void whoReadsMayReadAgainThoughAWriterWaits() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 2);
    ReadLease outer = take(locks.get(0).read());
    Worker<Lease> writer = startWaiting(locks.get(1).write());
    Optional<ReadLease> inner = locks.get(0).read().tryLock();
    assertThat(inner).as("a second read of the same thread").isPresent();
    outer.close();
    assertThat(inner.orElseThrow().isHeld()).isTrue();
    pause(quiet());
    assertThat(writer.isDone()).as("the writer before the last close").isFalse();
    inner.orElseThrow().close();
    writer.get(LONG).close();
  }

  @Rule("L-14.12")
  @Requires(Capability.READ_WRITE)
  @Test
  void readsOfOneClientEndEachByItself() {
    DistributedReadWriteLock lock = lock(freshName());
    DistributedReadWriteLock other = lock(lock.name());
    Lease write = take(other.write());
    List<Worker<ReadLease>> waiting = new ArrayList<>();
    for (int i = 0; i < READERS; i++) {
      waiting.add(startWaiting(lock.read()));
    }
    write.close();
    List<ReadLease> reads = new ArrayList<>();
    waiting.forEach(reader -> reads.add(reader.get(LONG)));
    ReadLease last = reads.remove(0);
    for (ReadLease read : reads) {
      read.close();
      read.close();
      assertThat(read.isHeld()).isFalse();
      assertTaken(other.write(), "a write before the last read is closed");
      last.verify();
    }
    last.close();
    take(other.write()).close();
  }

  @Rule("L-14.16")
  @Requires(Capability.READ_WRITE)
  @Test
  void allWhoReadAreShownAndOneCanBeEnded() {
    List<DistributedReadWriteLock> locks = locks(freshName(), 2);
    DistributedReadWriteLock admin = lock(locks.get(0).name());
    assertThat(admin.read().holders()).isEmpty();
    ReadLease ended = take(locks.get(0).read());
    ReadLease kept = take(locks.get(1).read());
    assertThat(admin.read().holders())
        .as("holders() of the read lock")
        .extracting(LockHolder::token)
        .containsExactlyInAnyOrder(ended.token(), kept.token());
    Duration bound = Collections.max(List.of(LONG_TTL, ended.crashBound(), kept.crashBound()));
    for (LockHolder holder : admin.read().holders()) {
      assertThat(holder.name()).isEqualTo(ended.name());
      assertThat(holder.description()).isNotBlank();
      assertThat(holder.isReleased()).isFalse();
      assertThat(holder.remaining()).isPositive().isLessThanOrEqualTo(bound);
    }
    assertThat(admin.write().inspect()).as("inspect() while others read").isPresent();
    assertThat(client().list(ended.name(), 10)).as("list()").hasSize(1);
    assertThat(admin.read().forceRelease(ended.token())).isTrue();
    assertThat(admin.read().forceRelease(ended.token())).isFalse();
    assertThat(admin.read().holders())
        .as("holders() after forceRelease()")
        .extracting(LockHolder::token)
        .containsExactly(kept.token());
    kept.verify();
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() after forceRelease()")
        .isThrownBy(ended::verify);
    assertTaken(admin.write(), "a write while one still reads");
    kept.close();
    assertThat(admin.read().holders()).isEmpty();
  }

  @Rule("L-14.17")
  @Requires({Capability.READ_WRITE, Capability.FAULTS})
  @Test
  void acquireAndReleaseOfAReadAreTwoRequests() {
    Link link = farLink();
    DistributedReadWriteLock lock =
        ((ReadWriteClient) client(link)).readWrite(freshName(), lasting());
    take(lock.read()).close();
    take(lock.read()).close();
    int rounds = 20;
    assertThat(requests(link, rounds, () -> take(lock.read()).close()))
        .as("requests for %s times acquire and release of a read", rounds)
        .isBetween(2L * rounds, 2L * rounds + rounds / 4);
  }

  @Rule("L-14.17")
  @Requires({Capability.READ_WRITE, Capability.FAULTS})
  @Test
  void aReadThatJoinsAGrantIsNoRequest() {
    Link link = link();
    DistributedReadWriteLock lock =
        ((ReadWriteClient) client(link)).readWrite(freshName(), lasting());
    // The slower the acquire, the longer others may join.
    link.delay(Link.Direction.REPLIES, timing().storeTimeout().dividedBy(10));
    eventually("a read joins another's grant, without a request", LONG, () -> {
      try (ReadLease first = take(lock.read())) {
        long before = link.requests();
        try (ReadLease second = onAnotherThread(() -> take(lock.read()))) {
          return link.requests() == before && second.token() == first.token();
        }
      }
    });
  }

  @Rule("L-14.18")
  @Requires(Capability.READ_WRITE)
  @Test
  void bothSidesAreLocksOfTheJdk() {
    DistributedReadWriteLock lock = lock(freshName());
    DistributedReadWriteLock other = lock(lock.name());
    ReadWriteLock jdk = lock.asReadWriteLock();
    jdk.readLock().lock();
    try {
      assertTaken(other.write(), "a write while readLock() is held");
      take(other.read()).close();
    } finally {
      jdk.readLock().unlock();
    }
    jdk.writeLock().lock();
    try {
      assertTaken(other.read(), "a read while writeLock() is held");
    } finally {
      jdk.writeLock().unlock();
    }
    assertThatExceptionOfType(IllegalMonitorStateException.class)
        .isThrownBy(jdk.readLock()::unlock);
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(jdk.readLock()::newCondition);
    take(other.write()).close();
  }
}
