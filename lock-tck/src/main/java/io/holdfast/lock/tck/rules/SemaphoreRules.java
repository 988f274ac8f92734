package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitHolder;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.PermitsMismatchException;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitGrant;
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
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Chapter 13: semaphores. */
public abstract class SemaphoreRules extends RuleTest {
  private static final int PERMITS = 3;
  private static final int PERMITS_MAX = 1_000;
  private static final int WORKERS = 8;
  private static final int ROUNDS = 25;

  /** Called by JUnit. */
  protected SemaphoreRules() {}

  /** Opens a client of a store that has semaphores. */
  private SemaphoreClient semaphores() {
    return (SemaphoreClient) client();
  }

  private static List<PermitLease> takeAll(DistributedSemaphore semaphore, int permits) {
    List<PermitLease> leases = new ArrayList<>();
    for (int i = 0; i < permits; i++) {
      leases.add(take(semaphore));
    }
    return leases;
  }

  private static Claim permitClaim(String name, int permits, Duration ttl) {
    Claim mutex = claim(name, ttl);
    return new Claim(
        new LockKey(LockKind.PERMIT, name),
        new Claim.Permit(permits),
        mutex.ownerId(),
        ttl,
        mutex.minHold(),
        mutex.holder());
  }

  @Rule("L-13.1")
  @Test
  void whatIsNoSemaphoreIsRefused() {
    if (!fixture().capabilities().contains(Capability.SEMAPHORES)) {
      assertThat(client())
          .as("a client of a store without semaphores")
          .isNotInstanceOf(SemaphoreClient.class);
      return;
    }
    SemaphoreClient client = semaphores();
    for (int permits : new int[] {0, -1, PERMITS_MAX + 1}) {
      assertThatIllegalArgumentException()
          .as("semaphore() with %d permits", permits)
          .isThrownBy(() -> client.semaphore("tck", permits).name())
          .withMessageContaining(Integer.toString(permits));
    }
    assertThatIllegalArgumentException()
        .as("semaphore() without a name")
        .isThrownBy(() -> client.semaphore("", 1).name());
    PermitLease most = take(client.semaphore(freshName(), PERMITS_MAX));
    assertThat(most.permit()).isBetween(0, PERMITS_MAX - 1);
    most.close();
  }

  @Rule("L-13.2")
  @Requires(Capability.SEMAPHORES)
  @Test
  void thereAreAsManyLeasesAsPermits() {
    String name = freshName();
    DistributedSemaphore one = semaphores().semaphore(name, PERMITS, lasting());
    DistributedSemaphore other = semaphores().semaphore(name, PERMITS, lasting());
    List<PermitLease> leases = new ArrayList<>(takeAll(one, PERMITS - 1));
    leases.add(take(other));
    assertThat(leases).extracting(PermitLease::permit).containsExactlyInAnyOrder(0, 1, 2);
    assertThat(one.tryLock()).as("one more lease than permits").isEmpty();
    assertThat(other.tryLock())
        .as("one more lease than permits, of another client")
        .isEmpty();
    PermitLease closed = leases.remove(0);
    closed.close();
    PermitLease again = take(other);
    assertThat(again.permit()).as("the permit that is free").isEqualTo(closed.permit());
    assertThat(one.tryLock()).as("one more lease than permits").isEmpty();
    again.close();
    leases.forEach(PermitLease::close);
  }

  @Rule("L-13.2")
  @Requires(Capability.SEMAPHORES)
  @Test
  void noPermitIsHeldTwiceAtATime() {
    String name = freshName();
    AtomicIntegerArray inside = new AtomicIntegerArray(PERMITS);
    AtomicLongArray tokens = new AtomicLongArray(PERMITS);
    List<DistributedSemaphore> semaphores = List.of(
        ((SemaphoreClient) client()).semaphore(name, PERMITS),
        ((SemaphoreClient) client()).semaphore(name, PERMITS));
    List<Worker<Integer>> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      DistributedSemaphore semaphore = semaphores.get(i % semaphores.size());
      workers.add(start(() -> {
        for (int round = 0; round < ROUNDS; round++) {
          try (PermitLease lease = semaphore.lock()) {
            assertThat(inside.incrementAndGet(lease.permit()))
                .as("holders of permit %d", lease.permit())
                .isEqualTo(1);
            assertThat(tokens.getAndSet(lease.permit(), lease.token()))
                .as("the token before, of permit %d", lease.permit())
                .isLessThan(lease.token());
            pause(Duration.ofMillis(1));
            inside.decrementAndGet(lease.permit());
          }
        }
        return ROUNDS;
      }));
    }
    for (Worker<Integer> worker : workers) {
      assertThat(worker.get(LONG.multipliedBy(2))).isEqualTo(ROUNDS);
    }
  }

  @Rule("L-13.3")
  @Requires({Capability.SEMAPHORES, Capability.TAP})
  @Test
  void thePermitOfACrashedHolderComesBack() throws StoreException {
    String name = freshName();
    DistributedSemaphore others = semaphores().semaphore(name, 2, lasting());
    LockStore store = store();
    long start = System.nanoTime();
    Grant crashed = store.tryAcquire(permitClaim(name, 2, ttl())).orElseThrow();
    PermitLease kept = take(others);
    assertThat(others.tryLock())
        .as("while the crashed holder's time is not over")
        .isEmpty();
    Slot<PermitLease> back = new Slot<>();
    eventually(
        "the crashed holder's permit comes back", crashed.crashBound(ttl()).plus(slack()), () -> {
          others.tryLock().ifPresent(back::set);
          return back.isSet();
        });
    assertThat(since(start)).as("not before its time").isGreaterThanOrEqualTo(ttl());
    assertThat(back.get().permit()).isEqualTo(((PermitGrant) crashed).permit());
    assertThat(kept.isHeld()).isTrue();
    back.get().close();
    kept.close();
  }

  @Rule("L-13.4")
  @Requires({Capability.SEMAPHORES, Capability.TAP})
  @Test
  void aSecondReleaseFreesNothing() throws StoreException {
    String name = freshName();
    LockStore store = store();
    Grant first = store.tryAcquire(permitClaim(name, 2, LONG_TTL)).orElseThrow();
    assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    DistributedSemaphore others = semaphores().semaphore(name, 2, lasting());
    List<PermitLease> leases = takeAll(others, 2);
    assertThat(store.release(first, Duration.ZERO))
        .as("a second release of the same grant")
        .isEqualTo(ReleaseOutcome.ALREADY_LOST);
    store.withdraw(first.claim());
    assertThat(others.tryLock()).as("after a second release of another's grant").isEmpty();
    for (PermitLease lease : leases) {
      lease.verify();
      lease.close();
      lease.close();
    }
    assertThat(others.holders()).isEmpty();
  }

  @Rule("L-13.5")
  @Requires(Capability.SEMAPHORES)
  @Test
  void theTokensOfAPermitRise() {
    String name = freshName();
    List<DistributedSemaphore> semaphores = List.of(
        semaphores().semaphore(name, 2, lasting()), semaphores().semaphore(name, 2, lasting()));
    long[] last = new long[2];
    for (int round = 0; round < 10; round++) {
      List<PermitLease> leases = takeAll(semaphores.get(round % 2), 2);
      assertThat(leases.get(0).token())
          .as("of two at a time")
          .isNotEqualTo(leases.get(1).token());
      for (PermitLease lease : leases) {
        assertThat(lease.token())
            .as("token of permit %d", lease.permit())
            .isGreaterThan(last[lease.permit()]);
        last[lease.permit()] = lease.token();
        lease.close();
      }
    }
  }

  @Rule("L-13.6")
  @Requires(Capability.SEMAPHORES)
  @Test
  void anotherNumberIsRefusedWhilePermitsAreHeld() {
    String name = freshName();
    DistributedSemaphore two = semaphores().semaphore(name, 2, lasting());
    DistributedSemaphore three = semaphores().semaphore(name, PERMITS, lasting());
    PermitLease lease = take(two);
    assertMismatch(() -> three.tryLock().isPresent());
    assertMismatch(() -> three.tryLock(LONG).isPresent());
    assertThat(two.holders()).as("holders after the refusal").hasSize(1);
    take(two).close();
    lease.close();
    List<PermitLease> leases = takeAll(three, PERMITS);
    leases.forEach(PermitLease::close);
    take(two).close();
  }

  @Rule("L-13.6")
  @Requires(Capability.SEMAPHORES)
  @Test
  void anotherNumberIsRefusedWhileAMinimumHoldKeepsAPermit() {
    String name = freshName();
    DistributedSemaphore two = semaphores().semaphore(name, 2, lasting().withMinHold(LONG_TTL));
    DistributedSemaphore three = semaphores().semaphore(name, PERMITS, lasting());
    PermitLease lease = take(two);
    lease.close();
    assertThat(two.holders())
        .as("holders() of a permit that is kept")
        .extracting(PermitHolder::isReleased)
        .containsExactly(true);
    assertMismatch(() -> three.tryLock().isPresent());
    assertMismatch(() -> three.tryLock(LONG).isPresent());
    assertThat(two.forceRelease(lease.token())).isTrue();
    take(three).close();
  }

  private static void assertMismatch(ThrowingCallable acquire) {
    assertThatExceptionOfType(PermitsMismatchException.class)
        .as("an acquire with another number of permits")
        .isThrownBy(acquire)
        .satisfies(e -> {
          assertThat(e.asked()).isEqualTo(PERMITS);
          assertThat(e.stored()).isEqualTo(2);
        });
  }

  @Rule("L-13.7")
  @Requires(Capability.SEMAPHORES)
  @Test
  void whoHasWhichPermitIsShownAndOneCanBeTakenAway() {
    String name = freshName();
    DistributedSemaphore one = semaphores().semaphore(name, PERMITS, lasting());
    DistributedSemaphore admin = semaphores().semaphore(name, PERMITS, lasting());
    assertThat(admin.holders()).isEmpty();
    List<PermitLease> leases = takeAll(one, 2);
    List<PermitHolder> holders = admin.holders();
    assertThat(holders).as("holders()").hasSize(2);
    assertThat(holders).extracting(PermitHolder::permit).isSorted();
    for (PermitLease lease : leases) {
      PermitHolder holder = holders.stream()
          .filter(each -> each.permit() == lease.permit())
          .findFirst()
          .orElseThrow();
      assertThat(holder.token()).isEqualTo(lease.token());
      assertThat(holder.name()).isEqualTo(name);
      assertThat(holder.description()).isNotBlank();
      assertThat(holder.isReleased()).isFalse();
      assertThat(holder.remaining()).isPositive().isLessThanOrEqualTo(LONG_TTL);
    }
    assertThat(admin.forceRelease(leases.get(0).token())).isTrue();
    assertThat(admin.forceRelease(leases.get(0).token())).isFalse();
    assertThat(admin.holders())
        .as("holders() after forceRelease()")
        .extracting(PermitHolder::permit)
        .containsExactly(leases.get(1).permit());
    leases.get(1).verify();
    assertThatExceptionOfType(LockLostException.class)
        .as("verify() after forceRelease()")
        .isThrownBy(leases.get(0)::verify);
    leases.get(1).close();
    assertThat(admin.holders()).isEmpty();
  }

  @Rule("L-13.8")
  @Requires(Capability.SEMAPHORES)
  @Test
  void thoseWhoWaitAreServedInTheOrderOfTheirArrival() {
    String name = freshName();
    List<PermitLease> held = takeAll(semaphores().semaphore(name, 2, lasting()), 2);
    SemaphoreClient client = semaphores();
    List<SemaphoreClient> clients = List.of(client, semaphores(), client);
    List<Integer> served = new ArrayList<>();
    List<Worker<PermitLease>> workers = new ArrayList<>();
    for (int i = 0; i < clients.size(); i++) {
      DistributedSemaphore semaphore = clients.get(i).semaphore(name, 2, lasting());
      int order = i;
      Worker<PermitLease> worker = start(() -> {
        PermitLease lease = semaphore.lock();
        synchronized (served) {
          served.add(order);
        }
        return lease;
      });
      workers.add(worker);
      awaitWaiting(worker);
    }
    PermitLease next = held.get(0);
    for (int i = 0; i < workers.size(); i++) {
      next.close();
      int servedBefore = i;
      eventually("one more is served", LONG, () -> {
        synchronized (served) {
          return served.size() > servedBefore;
        }
      });
      synchronized (served) {
        assertThat(served).as("served so far, in order").hasSize(i + 1).endsWith(i);
      }
      next = workers.get(i).get(LONG);
    }
    next.close();
    held.get(1).close();
  }

  @Rule("L-13.8")
  @Requires(Capability.SEMAPHORES)
  @Test
  void allPermitsThatBecomeFreeAreGivenToThoseWhoWait() {
    String name = freshName();
    List<PermitLease> held = takeAll(semaphores().semaphore(name, PERMITS, lasting()), PERMITS);
    DistributedSemaphore semaphore = semaphores().semaphore(name, PERMITS, lasting());
    List<Worker<PermitLease>> workers = new ArrayList<>();
    for (int i = 0; i < PERMITS; i++) {
      Worker<PermitLease> worker = start(semaphore::lock);
      workers.add(worker);
      awaitWaiting(worker);
    }
    held.forEach(PermitLease::close);
    List<PermitLease> leases = new ArrayList<>();
    workers.forEach(worker -> leases.add(worker.get(LONG)));
    assertThat(leases).extracting(PermitLease::permit).containsExactlyInAnyOrder(0, 1, 2);
    leases.forEach(PermitLease::close);
  }

  @Rule("L-13.8")
  @Requires(Capability.SEMAPHORES)
  @Test
  void whoGivesUpLeavesTheLine() throws InterruptedException {
    String name = freshName();
    DistributedSemaphore one = semaphores().semaphore(name, 1, lasting());
    DistributedSemaphore other = semaphores().semaphore(name, 1, lasting());
    PermitLease held = take(one);
    assertThat(other.tryLock(quiet())).isEmpty();
    Worker<PermitLease> waiting = start(other::lock);
    awaitWaiting(waiting);
    waiting.interrupt();
    assertThat(waiting.failure(LONG)).isInstanceOf(InterruptedException.class);
    held.close();
    take(one).close();
  }

  @Rule("L-13.9")
  @Requires(Capability.SEMAPHORES)
  @Test
  void eachAcquireTakesAPermitAndNoOtherLock() {
    SemaphoreClient client = semaphores();
    String name = freshName();
    for (Ownership ownership : Ownership.values()) {
      LockOptions options = lasting().withOwnership(ownership);
      DistributedSemaphore semaphore = client.semaphore(name, 2, options);
      Lease mutex = take(client.get(name, options));
      PermitLease first = take(semaphore);
      PermitLease second = take(semaphore);
      assertThat(second.permit())
          .as("the permit of a second acquire by the same thread")
          .isNotEqualTo(first.permit());
      assertThat(semaphore.tryLock()).as("a third of two").isEmpty();
      first.close();
      assertThat(second.isHeld()).isTrue();
      second.close();
      mutex.verify();
      mutex.close();
    }
  }

  @Rule("L-13.10")
  @Requires({Capability.SEMAPHORES, Capability.FAULTS})
  @Test
  void acquireAndReleaseAreTwoRequests() {
    Link link = farLink();
    DistributedSemaphore semaphore =
        ((SemaphoreClient) client(link)).semaphore(freshName(), PERMITS, lasting());
    take(semaphore).close();
    take(semaphore).close();
    int rounds = 20;
    assertThat(requests(link, rounds, () -> take(semaphore).close()))
        .as("requests for %s times acquire and release of a permit", rounds)
        .isBetween(2L * rounds, 2L * rounds + rounds / 4);
  }

  @Rule("L-13.11")
  @Requires({Capability.SEMAPHORES, Capability.GUARDED_WRITES})
  @Test
  void aGuardChecksTheLeaseAndNotTheSemaphore() throws Exception {
    GuardedWrites writes = fixture().guardedWrites();
    String log = newLog(writes);
    DistributedSemaphore semaphore = semaphores().semaphore(freshName(), 2, lasting());
    DistributedSemaphore admin = semaphores().semaphore(semaphore.name(), 2, lasting());
    PermitLease lost = take(semaphore);
    PermitLease held = take(semaphore);
    writes.append(log, held, "held");
    assertThat(admin.forceRelease(lost.token())).isTrue();
    Optional<PermitLease> next = admin.tryLock();
    assertThatExceptionOfType(LockLostException.class)
        .as("a guarded write under a lost lease, while another has the permit")
        .isThrownBy(() -> writes.append(log, lost, "lost"));
    writes.append(log, held, "still held");
    assertThat(writes.read(log))
        .as("Unsafe: the guarded writes, none of them stale")
        .containsExactly("held", "still held");
    held.close();
    next.ifPresent(PermitLease::close);
  }
}
