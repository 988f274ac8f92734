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
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.Test;

/** Readers of one client, and their writers. */
@SuppressWarnings("LockNotBeforeTry") // What is between the two is what is tested.
class ReadWriteLockTest extends EngineTest {
  private static final LockOptions BY_LEASE = LockOptions.defaults().withOwnership(Ownership.LEASE);

  /** The time for which a grant is open to other readers. */
  private static final Duration OPEN = Duration.ofMillis(10);

  private final List<String> events = Collections.synchronizedList(new ArrayList<>());

  private DistributedReadWriteLock rw() {
    return client(builder -> builder.addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            events.add("acquired " + event.source());
          }

          @Override
          public void released(Released event) {
            events.add("released " + event.confirmed());
          }

          @Override
          public void lost(Lost event) {
            events.add("lost " + event.loss().reason());
          }

          @Override
          public void leaked(LeaseEvent event) {
            events.add("leaked");
          }
        }))
        .readWrite("x");
  }

  private DistributedLock read() {
    return rw().read();
  }

  /** Of another client, whose calls are not counted. */
  private DistributedLock othersWrite() {
    return others("x");
  }

  private Lease elsewhere(DistributedLock lock) throws Exception {
    return start("elsewhere", () -> lock.tryLock().orElseThrow()).result();
  }

  private int requests() {
    return store.calls().size();
  }

  // Sharing

  @Test
  void aReaderThatComesSoonSharesWhatAnotherGot() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    time.advance(OPEN.minusNanos(1));
    Lease second = elsewhere(read());

    assertThat(requests()).isOne();
    assertThat(second.token()).isEqualTo(first.token());
    assertThat(events).containsExactly("acquired " + Source.STORE, "acquired " + Source.SHARED);
    first.close();
    assertThat(requests()).as("the other still reads").isOne();
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(first.isHeld()).isFalse();
    assertThat(second.isHeld()).isTrue();
    assertThat(othersWrite().tryLock()).isEmpty();
    second.close();
    assertThat(store.count(RELEASE)).isOne();
    assertThat(second.state()).isEqualTo(LeaseState.RELEASED);
    othersWrite().tryLock().orElseThrow().close();
    assertThat(events).endsWith("released true", "released true").hasSize(4);
  }

  @Test
  void aReaderThatComesLaterAsksTheStoreAndBothGrantsStand() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    time.advance(OPEN);
    Lease second = elsewhere(read());

    assertThat(store.count(TRY_ACQUIRE)).isEqualTo(2);
    assertThat(second.token()).isGreaterThan(first.token());
    assertThat(read().holders()).hasSize(2);
    Lease third = elsewhere(read());
    assertThat(third.token()).isEqualTo(second.token());
    second.close();
    third.close();
    assertThat(read().holders())
        .singleElement()
        .satisfies(holder -> assertThat(holder.token()).isEqualTo(first.token()));
    first.close();
    assertThat(read().holders()).isEmpty();
    settle();
    assertThat(server.size()).isZero();
  }

  @Test
  void theTimeForSharingCountsFromBeforeTheRequest() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> first = start("first", () -> read().tryLock().orElseThrow());
    gate.awaitCall();
    time.advance(OPEN);
    gate.open();
    Lease lease = first.result();
    Lease second = elsewhere(read());

    assertThat(second.token()).isGreaterThan(lease.token());
    lease.close();
    second.close();
  }

  @Test
  void allThatWaitForTheOneThatAsksEnterWithIt() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> leader = start("leader", () -> read().tryLock().orElseThrow());
    gate.awaitCall();
    List<Actor<Lease>> behind = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      boolean waits = i % 2 == 0;
      behind.add(
          start("behind " + i, () -> waits ? read().lock() : read().tryLock().orElseThrow())
              .awaitParked());
    }
    // So late that nobody who comes now could share it.
    time.advance(Duration.ofSeconds(1));
    gate.open();
    List<Lease> leases = new ArrayList<>(List.of(leader.result()));
    for (Actor<Lease> actor : behind) {
      leases.add(actor.result());
    }

    assertThat(requests()).isOne();
    assertThat(leases).allMatch(Lease::isHeld);
    leases.forEach(Lease::close);
    assertThat(requests()).isEqualTo(2);
    settle();
    assertThat(server.size()).isZero();
  }

  @Test
  void aReaderThatGivesUpAsItIsLetInLeavesNothing() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> leader = start("leader", () -> read().tryLock().orElseThrow());
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> read().lock()).awaitParked();
    behind.interrupt();
    assertThatThrownBy(behind::result).isInstanceOf(InterruptedException.class);
    gate.open();
    leader.result().close();
    settle();

    assertThat(server.size()).isZero();
  }

  @Test
  void aFailureIsThatOfAllWhoWaitForIt() throws Exception {
    Gate gate = store.holdNextAnswer(TRY_ACQUIRE);
    Actor<Lease> leader = start("leader", () -> read().tryLock().orElseThrow());
    gate.awaitCall();
    Actor<Lease> behind = start("behind", () -> read().lock()).awaitParked();
    gate.openWith(StoreException.unanswered("the answer was lost", null));

    assertThatThrownBy(leader::result).isInstanceOf(LockStoreException.class);
    assertThatThrownBy(behind::result).isInstanceOf(LockStoreException.class);
    settle();
    assertThat(server.size()).as("what was granted is withdrawn").isZero();
  }

  @Test
  void aWriterOfTheSameClientComesBeforeReadersThatComeLater() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Actor<Lease> writer = start("writer", () -> rw().write().lock()).awaitParked();
    Actor<Boolean> later = start("later", () -> read().tryLock().isPresent());

    assertThat(later.result()).as("joined past a writer of its client").isFalse();
    first.close();
    Lease write = writer.result();
    assertThat(write.token()).isGreaterThan(first.token());
    write.close();
  }

  @Test
  void whatPromisesATimeFromTheAcquireIsNotShared() throws Exception {
    List<LockOptions> unshared = List.of(
        LockOptions.fixed(TTL),
        LockOptions.defaults().withMinHold(Duration.ofSeconds(1)),
        LockOptions.defaults().withMaxHold(Duration.ofHours(1)));
    for (LockOptions options : unshared) {
      DistributedLock lock = client().readWrite("of " + options, options).read();
      Lease first = lock.tryLock().orElseThrow();
      Lease second = elsewhere(lock);

      assertThat(second.token()).as("shared with %s", options).isGreaterThan(first.token());
      first.close();
      assertThat(second.isHeld()).isTrue();
      second.close();
    }
  }

  @Test
  void otherOptionsAreAnotherGrant() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read().with(LockOptions.renewed(TTL.multipliedBy(2))));

    assertThat(second.token()).isGreaterThan(first.token());
    first.close();
    second.close();
  }

  @Test
  void withoutLocalHandOffNothingIsShared() throws Exception {
    ScriptedStore another = new ScriptedStore(time, server);
    LockClient alone = opened(another.client().localHandOff(false).build());
    DistributedLock lock = alone.readWrite("x").read();
    Lease first = lock.tryLock().orElseThrow();
    Lease second = elsewhere(lock);

    assertThat(second.token()).isGreaterThan(first.token());
    first.close();
    second.close();
  }

  // Re-entry, and the write lock

  @Test
  void aReaderReadsAgainWithoutARequestWhoeverWaits() throws Exception {
    Lease outer = read().tryLock().orElseThrow();
    Actor<Lease> writer = start("writer", () -> othersWrite().lock()).awaitParked();
    time.advance(OPEN);
    Lease inner = read().lock();

    assertThat(requests()).isOne();
    assertThat(inner.token()).isEqualTo(outer.token());
    assertThatThrownBy(() -> read().with(LockOptions.fixed(TTL)).tryLock())
        .isInstanceOf(IllegalStateException.class);
    outer.close();
    assertThat(inner.isHeld()).isTrue();
    inner.close();
    writer.result().close();
  }

  @Test
  void aReaderThatAsksForTheWriteLockIsRefusedBeforeAnyRequest() {
    Lease lease = read().tryLock().orElseThrow();
    List<DistributedLock> locks =
        List.of(rw().write(), lock("x"), client().all(List.of("a", "x", "z")));
    for (DistributedLock lock : locks) {
      assertThatThrownBy(lock::tryLock).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(lock::lock)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("read lock 'x'");
      assertThatThrownBy(() -> lock.asLock().lock()).isInstanceOf(IllegalStateException.class);
    }
    assertThat(requests()).isOne();
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);
    assertThatThrownBy(() -> rw().write().tryLock()).isInstanceOf(LockLostException.class);
    assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
  }

  @Test
  void aWriterThatReadsStaysAloneUntilBothAreClosed() {
    Lease write = rw().write().tryLock().orElseThrow();
    assertThat(read().isHeldByCurrentThread()).isFalse();
    Lease read = read().tryLock().orElseThrow();

    assertThat(requests()).isOne();
    assertThat(read().isHeldByCurrentThread()).isTrue();
    write.close();
    assertThat(read.isHeld()).isTrue();
    assertThat(client().readWrite("x").read().holders()).hasSize(1);
    assertThat(othersWrite().tryLock()).isEmpty();
    rw().write().tryLock().orElseThrow().close();
    assertThat(store.count(TRY_ACQUIRE)).as("the thread is still the writer").isOne();
    assertThat(store.count(RELEASE)).isZero();
    read.close();
    assertThat(store.count(RELEASE)).isOne();
    othersWrite().tryLock().orElseThrow().close();
  }

  @Test
  void eachViewUnlocksItsOwn() throws Exception {
    ReadWriteLock lock = rw().asReadWriteLock();
    lock.writeLock().lock();
    assertThatThrownBy(() -> lock.readLock().unlock())
        .isInstanceOf(IllegalMonitorStateException.class);
    lock.readLock().lock();
    lock.writeLock().unlock();
    assertThatThrownBy(() -> lock.writeLock().unlock())
        .isInstanceOf(IllegalMonitorStateException.class);
    assertThat(othersWrite().tryLock()).isEmpty();
    lock.readLock().unlock();
    othersWrite().tryLock().orElseThrow().close();

    lock.readLock().lock();
    Lock elsewhere = lock.readLock();
    assertThat(start("elsewhere", () -> {
              boolean locked = elsewhere.tryLock();
              elsewhere.unlock();
              return locked;
            })
            .result())
        .isTrue();
    assertThat(othersWrite().tryLock()).isEmpty();
    lock.readLock().unlock();
    assertThatThrownBy(() -> lock.readLock().unlock())
        .isInstanceOf(IllegalMonitorStateException.class);
    othersWrite().tryLock().orElseThrow().close();
    assertThatThrownBy(() -> lock.readLock().newCondition())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> rw().with(BY_LEASE).asReadWriteLock())
        .isInstanceOf(IllegalStateException.class);
  }

  // Renewal, doubt and loss

  @Test
  void whatIsSharedIsRenewedOnce() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).isOne();
    assertThat(first.remaining()).isEqualTo(second.remaining());
    first.close();
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isEqualTo(2);
    assertThat(second.isHeld()).isTrue();
    second.close();
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isEqualTo(2);
  }

  @Test
  void aLossIsThatOfEachAndTheStoreIsToldOnce() throws Exception {
    List<LeaseLoss> told = Collections.synchronizedList(new ArrayList<>());
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    first.onLost(told::add);
    second.onLost(told::add);
    store.breakDown();
    time.advance(UNTIL_DEADLINE);
    store.heal();
    assertThat(first.isHeld()).isFalse();
    settle();

    assertThat(told).hasSize(2).allMatch(loss -> loss.token() == first.token());
    assertThat(List.of(first.state(), second.state()))
        .containsExactly(LeaseState.LOST, LeaseState.LOST);
    assertThatThrownBy(() -> read().tryLock()).isInstanceOf(LockLostException.class);
    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    assertThatThrownBy(second::close).isInstanceOf(LockLostException.class);
    assertThat(store.count(RELEASE)).isOne();
    assertThat(events).filteredOn(event -> event.equals("lost EXPIRED")).hasSize(2);
    Lease again = read().tryLock().orElseThrow();
    again.close();
  }

  @Test
  void aLossTouchesNoOtherGrantOfTheClient() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    time.advance(OPEN);
    Lease second = elsewhere(read());
    assertThat(read().forceRelease(first.token())).isTrue();

    assertThat(first.isHeld()).isFalse();
    assertThat(second.isHeld()).isTrue();
    second.verify();
    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    second.close();
    settle();
    assertThat(server.size()).isZero();
  }

  @Test
  void aReaderThatLeavesInDoubtAsksTheStoreFirst() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    settle(); // Else the keeper may look after the jump.
    Gate renewal = store.holdNext(RENEW);
    time.jumpWallClock(Duration.ofHours(1));
    first.close();

    assertThat(store.count(VERIFY)).isOne();
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(second.isHeld()).isTrue();
    renewal.open();
    settle();
    second.close();
  }

  @Test
  void aReaderThatIsInterruptedAndLeavesInDoubtAsksTheStoreToo() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    settle();
    Gate renewal = store.holdNext(RENEW);
    store.next(VERIFY, call -> {
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedException();
      }
      return call.call();
    });
    time.jumpWallClock(Duration.ofHours(1));
    Thread.currentThread().interrupt();
    first.close();

    assertThat(Thread.interrupted())
        .as("whether the caller's interrupt was kept")
        .isTrue();
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    renewal.open();
    settle();
    second.close();
  }

  @Test
  void aReaderThatLeavesInDoubtWithoutAnAnswerHasLostItsLease() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    settle();
    store.breakDown();
    time.jumpWallClock(Duration.ofHours(1));

    assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
    assertThat(first.state()).isEqualTo(LeaseState.LOST);
    store.heal();
    second.verify();
    assertThat(second.isHeld()).isTrue();
    second.close();
  }

  @Test
  void aGuardedReaderThatClosesDoesNotEndTheOthers() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    LeaseGuard<Grant> guard = LeaseGuard.open(first, Grant.class);
    assertThatThrownBy(first::close).isInstanceOf(IllegalStateException.class);
    pass(AT_RENEWAL);

    assertThat(store.count(RENEW)).as("renewed for the other").isOne();
    guard.close();
    settle();
    assertThat(first.state()).isEqualTo(LeaseState.RELEASED);
    assertThat(store.count(RELEASE)).isZero();
    assertThat(second.isHeld()).isTrue();
    second.close();
    assertThat(store.count(RELEASE)).isOne();
  }

  @Test
  void theLastGuardedReaderIsReleasedWhenItsGuardEnds() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    LeaseGuard<Grant> guard = LeaseGuard.open(first, Grant.class);
    second.close();
    assertThatThrownBy(first::close).isInstanceOf(IllegalStateException.class);
    Lease third = elsewhere(read());
    assertThat(third.token())
        .as("what is no longer renewed is not shared")
        .isGreaterThan(first.token());
    pass(AT_RENEWAL);
    assertThat(store.calls(RENEW)).allMatch(call -> call.names().size() == 1);
    guard.close();
    settle();

    assertThat(store.count(RELEASE)).isOne();
    assertThat(third.isHeld()).isTrue();
    third.close();
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private void drop() throws Exception {
    long unused = elsewhere(read()).token();
  }

  @Test
  void aDroppedReaderKeepsTheLockForItsTtlAfterTheOthersHaveLeft() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    drop();
    Eventually.await("the leak to be found", () -> {
      System.gc();
      time.advance(Duration.ofMillis(1));
      settle();
      return events.contains("leaked");
    });
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).as("renewed for the other").isOne();
    first.close();

    assertThat(store.count(RELEASE)).as("the dropped one may be at work").isZero();
    assertThat(othersWrite().tryLock()).isEmpty();
    pass(TTL);
    assertThat(store.count(RENEW)).isOne();
    othersWrite().tryLock().orElseThrow().close();
  }

  @Test
  void closingTheClientLosesAndFreesAllOfItsReaders() throws Exception {
    Lease first = read().tryLock().orElseThrow();
    Lease second = elsewhere(read());
    time.advance(OPEN);
    Lease third = elsewhere(read());
    time.runDuring(client()::close);

    assertThat(List.of(first, second, third)).allMatch(lease -> lease.state() == LeaseState.LOST);
    assertThat(store.count(RELEASE)).isEqualTo(2);
    othersWrite().tryLock().orElseThrow().close();
  }

  @Test
  void aReaderInTheStoresLineIsFoundTakenByThoseWhoOnlyTry() throws Exception {
    Lease write = othersWrite().tryLock().orElseThrow();
    Actor<Lease> waiter = start("waiter", () -> read().lock());
    store.awaitCount(ACQUIRE_OR_QUEUE, 1);
    waiter.awaitParked();
    Actor<Lease> behind = start("behind", () -> read().lock()).awaitParked();
    int before = requests();

    assertThat(read().tryLock()).isEmpty();
    assertThat(requests()).isEqualTo(before);
    write.close();
    Lease first = waiter.result();
    Lease second = behind.result();
    assertThat(second.token()).as("let in with the one that waited").isEqualTo(first.token());
    assertThat(first.token()).isGreaterThan(write.token());
    first.close();
    second.close();
  }

  @Test
  void aDetachedReaderIsNoLongerItsThreads() {
    Lease lease = read().tryLock().orElseThrow();
    assertThat(read().isHeldByCurrentThread()).isTrue();
    lease.detach();

    assertThat(read().isHeldByCurrentThread()).isFalse();
    lease.close();
    rw().write().tryLock().orElseThrow().close();
  }
}
