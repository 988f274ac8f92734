package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.VERIFY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.ScriptedStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.Test;

/** Read-write locks, as the engine has them. */
class ReadWriteLockTest extends EngineTest {
  private final List<String> events = new CopyOnWriteArrayList<>();

  private final LockListener listener = new LockListener() {
    @Override
    public void acquired(Acquired event) {
      events.add("acquired " + event.source());
    }

    @Override
    public void released(Released event) {
      events.add("released");
    }

    @Override
    public void renewed(LeaseEvent event) {
      events.add("renewed");
    }

    @Override
    public void lost(Lost event) {
      events.add("lost");
    }

    @Override
    public void leaked(LeaseEvent event) {
      events.add("leaked");
    }
  };

  private ReadWriteClient listened() {
    return client(builder -> builder.addListener(listener));
  }

  private ReadLock read() {
    return client().readWrite("x").read();
  }

  private DistributedLock write() {
    return client().readWrite("x").write();
  }

  private ReadWriteClient anotherClient() {
    return opened(new ScriptedStore(time, server).client().clientName("another").build());
  }

  private static <L extends AnyLease> L take(Acquirable<L> lock) {
    return lock.tryLock().orElseThrow();
  }

  /** A lease of another thread of this client. */
  private <L extends AnyLease> L takeElsewhere(Acquirable<L> lock) throws Exception {
    return start("elsewhere", () -> take(lock)).result();
  }

  /** Threads that wait for this, the first of them at the store; in order. */
  private <L extends AnyLease> List<Actor<L>> waiting(int threads, Acquirable<L> lock) {
    List<Actor<L>> waiting = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      waiting.add(start("waiter " + i, lock::lock));
      store.awaitCount(ACQUIRE_OR_QUEUE, 1);
      waiting.get(i).awaitParked();
    }
    return waiting;
  }

  // Threads of one client

  @Test
  void readersThatWaitTogetherShareOneGrantAndItsRelease() throws Exception {
    listened();
    Lease writer = take(anotherClient().get("x"));
    List<Actor<ReadLease>> waiting = waiting(3, read());
    writer.close();

    List<ReadLease> reads = new ArrayList<>();
    for (Actor<ReadLease> each : waiting) {
      reads.add(each.result());
    }
    assertThat(reads).allMatch(ReadLease::isHeld);
    assertThat(reads).extracting(ReadLease::token).containsOnly(reads.get(0).token());
    assertThat(store.count(ACQUIRE_OR_QUEUE)).isEqualTo(1);
    reads.get(0).close();
    reads.get(1).close();
    assertThat(store.count(RELEASE)).isZero();
    assertThat(reads.get(0).state()).isEqualTo(LeaseState.RELEASED);
    assertThat(reads.get(2).isHeld()).isTrue();
    reads.get(2).close();
    assertThat(store.count(RELEASE)).isEqualTo(1);
    settle();
    assertThat(events)
        .containsExactlyInAnyOrder(
            "acquired " + Source.STORE,
            "acquired " + Source.SHARED,
            "acquired " + Source.SHARED,
            "released",
            "released",
            "released");
    assertThat(server.size()).isZero();
  }

  @Test
  void aReaderWithOtherOptionsAsksByItself() throws Exception {
    Lease writer = take(anotherClient().get("x"));
    Actor<ReadLease> first = waiting(1, read()).get(0);
    Actor<ReadLease> other =
        start("other", read().with(LockOptions.fixed(TTL))::lock).awaitParked();
    writer.close();

    ReadLease renewed = first.result();
    ReadLease fixed = other.result();
    assertThat(fixed.token()).isNotEqualTo(renewed.token());
    assertThat(read().holders()).hasSize(2);
    renewed.close();
    assertThat(fixed.isHeld()).isTrue();
    fixed.close();
  }

  @Test
  void aReaderWhoGivesUpLeavesTheOthersTheirGrant() throws Exception {
    Lease writer = take(anotherClient().get("x"));
    List<Actor<ReadLease>> waiting = waiting(3, read());
    waiting.get(1).interrupt();
    assertThatThrownBy(waiting.get(1)::result).isInstanceOf(InterruptedException.class);
    writer.close();

    waiting.get(0).result().close();
    ReadLease last = waiting.get(2).result();
    assertThat(last.isHeld()).isTrue();
    last.close();
    assertThat(read().holders()).isEmpty();
  }

  @Test
  void aReadThatIsClosedInDoubtAsksTheStoreThoughOthersKeepTheGrant() throws Exception {
    ReadLease first = takeWithin(Duration.ofMillis(10));
    ReadLease second = takeElsewhere(read());
    time.jumpWallClock(Duration.ofHours(1));
    first.close();

    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(store.count(VERIFY)).isEqualTo(1);
    assertThat(second.isHeld()).isTrue();
    second.close();
  }

  @Test
  void aReadThatIsClosedInDoubtIsLostIfTheStoreDoesNotConfirmIt() throws Exception {
    ReadLease first = takeWithin(Duration.ofMillis(10));
    ReadLease second = takeElsewhere(read());
    time.jumpWallClock(Duration.ofHours(1));
    store.failNext(VERIFY);

    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    assertThatThrownBy(second::close).isInstanceOf(LockLostException.class);
    settle();
    assertThat(server.size()).isZero();
  }

  /** An acquire that takes so long: readers may join its grant for twice that time. */
  private ReadLease takeWithin(Duration acquire) {
    store.delayNextAnswer(TRY_ACQUIRE, acquire);
    return take(read());
  }

  @Test
  void aReaderJoinsThoseWhoBeganAMomentAgo() throws Exception {
    ReadLease first = takeWithin(Duration.ofMillis(10));
    time.advance(Duration.ofMillis(19));
    ReadLease second = takeElsewhere(read());

    assertThat(second.token()).isEqualTo(first.token());
    assertThat(store.calls()).hasSize(1);
    first.close();
    assertThat(second.isHeld()).isTrue();
    // Who has left may join again.
    ReadLease third = take(read());
    second.close();
    assertThat(store.count(RELEASE)).isZero();
    third.close();
    assertThat(store.count(RELEASE)).isEqualTo(1);
  }

  @Test
  void aReaderDoesNotJoinThoseWhoBeganLongerAgo() throws Exception {
    ReadLease first = takeWithin(Duration.ofMillis(10));
    time.advance(Duration.ofMillis(20));
    ReadLease second = takeElsewhere(read());

    assertThat(second.token()).isGreaterThan(first.token());
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
    first.close();
    second.close();
  }

  @Test
  void readersJoinForAsLongAsTheLastReadsTook() throws Exception {
    ReadLease first = takeWithin(Duration.ofMillis(10));
    time.advance(Duration.ofMillis(50));
    ReadLease kept = takeElsewhere(read());
    first.close(); // after 50 ms
    // Longer than twice an acquire, and shorter than the first read.
    time.advance(Duration.ofMillis(40));
    ReadLease second = take(read());
    time.advance(Duration.ofMillis(45));
    ReadLease joined = takeElsewhere(read());
    time.advance(Duration.ofMillis(20));
    ReadLease later = start("later", () -> take(read())).result();

    assertThat(joined.token()).isEqualTo(second.token());
    assertThat(later.token()).isGreaterThan(second.token());
    List.of(kept, second, joined, later).forEach(ReadLease::close);
  }

  @Test
  void noReadJoinsForLongerThanATenthOfASecond() throws Exception {
    ReadLease first = takeWithin(Duration.ofSeconds(1));
    time.advance(Duration.ofMillis(99));
    ReadLease joined = takeElsewhere(read());
    time.advance(Duration.ofMillis(1));
    ReadLease later = start("later", () -> take(read())).result();

    assertThat(joined.token()).isEqualTo(first.token());
    assertThat(later.token()).isGreaterThan(first.token());
    List.of(first, joined, later).forEach(ReadLease::close);
  }

  @Test
  void nobodyJoinsWithOtherOptionsOrALeaseThatEnds() throws Exception {
    ReadLock fixed = read().with(LockOptions.fixed(TTL));
    store.delayNextAnswer(TRY_ACQUIRE, Duration.ofMillis(10));
    ReadLease first = take(fixed);
    ReadLease second = takeElsewhere(fixed);
    ReadLease renewed =
        start("renewed", () -> takeWithin(Duration.ofMillis(10))).result();
    ReadLease third = takeElsewhere(fixed);

    assertThat(List.of(first, second, renewed, third))
        .extracting(ReadLease::token)
        .doesNotHaveDuplicates();
    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(4);
    List.of(first, second, renewed, third).forEach(ReadLease::close);
  }

  @Test
  void nobodyJoinsAGrantThatIsInDoubtOrLost() throws Exception {
    ReadLease doubtful = takeWithin(Duration.ofMillis(40));
    // So that the doubt lasts: the answer would end it.
    Gate renewal = store.holdNext(RENEW);
    time.jumpWallClock(Duration.ofHours(1));
    ReadLease second = start("second", () -> takeWithin(Duration.ofMillis(40))).result();
    assertThat(second.token()).isGreaterThan(doubtful.token());
    store.events().lost(store.grants("x").get(1), LeaseLoss.Reason.TAKEN);
    ReadLease third = takeElsewhere(read());

    assertThat(third.token()).isGreaterThan(second.token());
    renewal.open();
    assertThatThrownBy(second::close).isInstanceOf(LockLostException.class);
    third.close();
    doubtful.close();
  }

  @Test
  void aLossIsToldToEachWhoSharesTheGrant() throws Exception {
    listened();
    Lease writer = take(anotherClient().get("x"));
    List<Actor<ReadLease>> waiting = waiting(2, read());
    writer.close();
    ReadLease first = waiting.get(0).result();
    ReadLease second = waiting.get(1).result();
    List<LeaseLoss> told = new CopyOnWriteArrayList<>();
    first.onLost(told::add);
    second.onLost(told::add);
    pass(AT_RENEWAL);
    assertThat(events).filteredOn("renewed"::equals).hasSize(2);

    assertThat(anotherClient().readWrite("x").read().forceRelease(first.token()))
        .isTrue();
    assertThatThrownBy(first::verify).isInstanceOf(LockLostException.class);
    settle();
    assertThat(told).hasSize(2);
    assertThat(events).filteredOn("lost"::equals).hasSize(2);
    assertThatThrownBy(second::close).isInstanceOf(LockLostException.class);
    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    assertThat(store.count(RELEASE)).isZero();
    settle();
    assertThat(events).doesNotContain("released");
  }

  @Test
  void aReadThatIsDroppedLeavesTheOthersTheirGrant() throws Exception {
    listened();
    Lease writer = take(anotherClient().get("x"));
    Actor<ReadLease> keeping = waiting(1, read()).get(0);
    Actor<Boolean> dropping = start("dropping", () -> read().lock().isHeld()).awaitParked();
    writer.close();
    ReadLease kept = keeping.result();
    assertThat(dropping.result()).isTrue();
    Eventually.await("the leak to be found", () -> {
      System.gc();
      time.advance(Duration.ofMillis(1));
      settle();
      return events.contains("leaked");
    });
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).isPositive();
    kept.close();
    assertThat(store.count(RELEASE)).isEqualTo(1);
  }

  @Test
  void closingTheClientEndsEachRead() throws Exception {
    Lease writer = take(anotherClient().get("x"));
    List<Actor<ReadLease>> waiting = waiting(2, read());
    writer.close();
    ReadLease first = waiting.get(0).result();
    ReadLease second = waiting.get(1).result();
    time.runDuring(client()::close);

    assertThat(List.of(first.state(), second.state()))
        .containsExactly(LeaseState.LOST, LeaseState.LOST);
    take(anotherClient().get("x")).close();
  }

  // One thread

  @Test
  void aThreadThatReadsReadsAgainWithoutARequestThoughAWriterWaits() throws Exception {
    ReadLease outer = take(read());
    Actor<Lease> writer = start("writer", anotherClient().get("x")::lock).awaitParked();
    Eventually.await("the writer waits", () -> server.size() > 0);
    ReadLease inner = take(read());

    assertThat(inner.token()).isEqualTo(outer.token());
    assertThat(store.calls()).hasSize(1);
    outer.close();
    assertThat(inner.isHeld()).isTrue();
    assertThat(writer.isDone()).isFalse();
    inner.close();
    writer.result().close();
  }

  @Test
  void aReadWithinAWriteIsANestedHandleOfIt() {
    Lease write = take(write().with(LockOptions.fixed(TTL)));
    ReadLease read = take(read());

    assertThat(read.token()).isEqualTo(write.token());
    assertThat(store.calls()).hasSize(1);
    write.close();
    assertThat(others("x").tryLock()).isEmpty();
    assertThat(read().isHeldByCurrentThread()).isTrue();
    read.close();
    assertThat(read().isHeldByCurrentThread()).isFalse();
    take(others("x")).close();
  }

  @Test
  void aReadWithinALostWriteIsRefused() {
    Lease write = take(write());
    assertThat(others("x").forceRelease(write.token())).isTrue();
    assertThatThrownBy(write::verify).isInstanceOf(LockLostException.class);

    assertThatThrownBy(read()::tryLock).isInstanceOf(LockLostException.class);
    assertThatThrownBy(write::close).isInstanceOf(LockLostException.class);
    take(read()).close();
  }

  @Test
  void whoReadsAndAsksToWriteIsToldBeforeAnyRequest() throws Exception {
    ReadLease read = take(read());
    int calls = store.calls().size();
    JointLock both = client().all(List.of("a", "x"));

    for (Acquirable<?> asked : List.of(write(), lock("x"), both)) {
      assertThatThrownBy(asked::tryLock)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("'x'")
          .hasMessageContaining("Close the read first");
      assertThatThrownBy(asked::lock).isInstanceOf(IllegalStateException.class);
    }
    assertThat(store.calls()).hasSize(calls);
    assertThat(read.isHeld()).isTrue();
    assertThat(start("another", () -> write().tryLock().isPresent()).result()).isFalse();
    read.close();
    take(write()).close();
  }

  @Test
  void aReadThatWasDetachedIsNotItsThreadsAnyMore() throws Exception {
    ReadLease read = take(read()).detach();

    assertThat(read().isHeldByCurrentThread()).isFalse();
    assertThat(write().tryLock()).isEmpty();
    start("another", () -> {
          read.close();
          return true;
        })
        .result();
    take(write()).close();
  }

  @Test
  void optionsWithAMinimumHoldAreRefused() {
    LockOptions holding = LockOptions.defaults().withMinHold(Duration.ofSeconds(1));

    assertThatThrownBy(() -> client().readWrite("x", holding))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("PT1S")
        .hasMessageContaining("write()");
    assertThatThrownBy(() -> read().with(holding)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> client().readWrite("x").with(holding))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> client().readWrite("x", LockOptions.fixed(STORE_TIMEOUT)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> client().readWrite("")).isInstanceOf(IllegalArgumentException.class);
    take(write().with(holding)).close();
  }

  // java.util.concurrent

  @Test
  @SuppressWarnings("LockNotBeforeTry") // What is tested is the order of calls.
  void bothSidesAreLocksOfTheThread() throws Exception {
    ReadWriteLock lock = client().readWrite("x").asReadWriteLock();
    Lock read = lock.readLock();
    Lock write = lock.writeLock();
    write.lock();
    read.lock();
    write.unlock();
    assertThatThrownBy(write::unlock).isInstanceOf(IllegalMonitorStateException.class);
    assertThat(others("x").tryLock()).isEmpty();
    read.unlock();
    assertThatThrownBy(read::unlock).isInstanceOf(IllegalMonitorStateException.class);
    take(others("x")).close();

    read.lock();
    assertThat(start("another", () -> {
              boolean reads = read.tryLock();
              read.unlock();
              return reads;
            })
            .result())
        .isTrue();
    assertThatThrownBy(write::tryLock).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(read::newCondition).isInstanceOf(UnsupportedOperationException.class);
    read.unlock();
    assertThat(write.tryLock()).isTrue();
    write.unlock();
    assertThatThrownBy(() -> client()
            .readWrite("x")
            .with(LockOptions.defaults().withOwnership(Ownership.LEASE))
            .asReadWriteLock())
        .isInstanceOf(IllegalStateException.class);
  }
}
