package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.client;
import static io.holdfast.lock.tck.broken.BrokenFixture.engine;
import static io.holdfast.lock.tck.broken.BrokenFixture.leases;
import static io.holdfast.lock.tck.broken.BrokenFixture.locks;
import static io.holdfast.lock.tck.broken.BrokenFixture.store;
import static io.holdfast.lock.tck.broken.BrokenFixture.withoutLine;
import static io.holdfast.lock.tck.broken.Decorator.in;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that each rule about read-write locks fails on a store or a client with its bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenReadWriteTest {
  /** The number of tokens of one grant. */
  private static final long HAND_OFFS = 1_024;

  private static boolean isShared(Claim claim) {
    return claim.mode() instanceof Claim.Shared;
  }

  private static List<StoredHolder> readers(LockStore store, LockKey key) throws StoreException {
    return ((ReadWriteStore) store).readers(key);
  }

  private static void endReaders(LockStore store, LockKey key) throws StoreException {
    for (StoredHolder reader : readers(store, key)) {
      boolean unused = store.forceRelease(key, reader.number());
    }
  }

  @Test
  void aMinimumHoldOfAReadIsCaught() {
    assertCaught(
        "L-14.1 whatCannotBeReadIsRefused",
        "readWrite() with a minimum hold",
        client(
            "readWrite",
            (real, arguments, call) ->
                arguments.length > 1 && !((LockOptions) arguments[1]).minHold().isZero()
                    ? real.get((String) arguments[0])
                    : call.proceed(arguments)));
  }

  /** Returns a store where reads and writes of a name have nothing to do with each other. */
  private static OtherGrants twoLocks() {
    return new OtherGrants() {
      @Override
      Claim asked(Claim claim) {
        LockKey key = isShared(claim)
            ? new LockKey(claim.key().kind(), claim.key().name() + "/r")
            : claim.key();
        return new Claim(
            key, claim.mode(), claim.ownerId(), claim.ttl(), claim.minHold(), claim.holder());
      }
    };
  }

  @Test
  void aWriteThatIgnoresReadersIsCaught() {
    assertCaught(
        "L-14.2 anyNumberReadsWhileNobodyWrites", "a write while others read", store(twoLocks()));
    assertCaught(
        "L-14.2 nobodyIsInsideBesideAWriter", "Failed on another thread", store(twoLocks()));
  }

  @Test
  void readersWhoExcludeEachOtherAreCaught() {
    assertCaught(
        "L-14.2 anyNumberReadsWhileNobodyWrites",
        "tryLock() of the free lock",
        store(new OtherGrants() {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.ttl(), Claim.EXCLUSIVE);
          }
        }));
  }

  @Test
  void aWriteLockOfItsOwnIsCaught() {
    assertCaught(
        "L-14.3 theWriteLockIsTheLockOfThatName",
        "the token of the nested one",
        client(
            "readWrite",
            (real, arguments, call) -> ((ReadWriteClient) real)
                .readWrite(arguments[0] + "/w", (LockOptions) arguments[1])));
  }

  /** Returns a store that lets readers in beside others, whoever waits. */
  private static BrokenFixture readersFirst() {
    return store(in("tryAcquire", (LockStore real, Claim claim) -> {
      Optional<Grant> grant = real.tryAcquire(claim);
      boolean passes =
          grant.isEmpty() && isShared(claim) && !readers(real, claim.key()).isEmpty();
      return passes ? Optional.of(new OtherGrants.Changed(null, claim, 1, claim.ttl(), 0)) : grant;
    }));
  }

  @Test
  void readersWhoPassAWriterWhoWaitsAreCaught() {
    assertCaught(
        "L-14.4 aReadThatDoesNotWaitFindsTheLockTakenByAWriterWhoDoes",
        "tryLock() of a read while a writer waits",
        readersFirst());
  }

  /** Returns a store whose writers don't stand in line: they ask again and again. */
  private static BrokenFixture writersLast() {
    return withoutLine(claim -> !isShared(claim), claim -> Duration.ofMillis(5));
  }

  @Test
  void aWriterWhomReadersStarveIsCaught() {
    assertCaught(
        "L-14.5 readersWithoutEndDoNotStarveAWriter",
        "Another thread was not done within",
        writersLast());
  }

  @Test
  void aWriterWhoIsServedLastIsCaught() {
    assertCaught(
        "L-14.5 aWriterIsServedBeforeReadersWhoCameLater",
        "the thread ended in place of waiting",
        writersLast());
  }

  @Test
  void readersWhoEnterOneByOneAreCaught() {
    assertCaught(
        "L-14.6 readersWhoWaitForAWriterEnterTogether",
        "Another thread was not done within",
        store(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
          Acquisition answer = real.acquireOrQueue(claim, wakeUp);
          return answer instanceof Acquisition.Queued queued && isShared(claim)
              ? new Acquisition.Queued(alone(real, claim, queued.ticket()), queued.recheckAfter())
              : answer;
        })));
  }

  /** Returns a place whose reader is let in when nobody else reads. */
  private static Ticket alone(LockStore store, Claim claim, Ticket real) {
    return Decorator.with(
        Ticket.class,
        real,
        "poll",
        (ticket, none, call) -> readers(store, claim.key()).isEmpty()
            ? ticket.poll()
            : new Ticket.Waiting(Duration.ofMillis(10)));
  }

  @Test
  void readersWhoSleepBehindAWriterWhoGaveUpAreCaught() {
    assertCaught(
        "L-14.7 aWriterWhoGivesUpLetsTheReadersBehindItIn",
        "Another thread was not done within",
        store(in(
            "acquireOrQueue",
            (LockStore real, Claim claim, Runnable wakeUp) ->
                real.acquireOrQueue(claim, isShared(claim) ? () -> {} : wakeUp))));
  }

  @Test
  void aWriteThatEndsBeforeTheReadWithinItIsCaught() {
    assertCaught(
        "L-14.8 aReadWithinAWriteKeepsTheLockToItself",
        "while one of both is open",
        firstCloseReleases());
  }

  /** Returns a client whose leases are given back to the store by the first close of several. */
  private static BrokenFixture firstCloseReleases() {
    BrokenFixture[] fixture = new BrokenFixture[1];
    fixture[0] = leases("close", (real, none, call) -> {
      Object nothing = call.proceed(none);
      String name = real instanceof Lease lease ? lease.name() : ((ReadLease) real).name();
      long token = real instanceof Lease lease ? lease.token() : ((ReadLease) real).token();
      boolean unused = fixture[0]
          .plainStore()
          .forceRelease(new LockKey(LockKind.MUTEX, name), token / HAND_OFFS);
      return nothing;
    });
    return fixture[0];
  }

  @Test
  void aReadWithoutATokenBetweenThoseOfTheWritesIsCaught() {
    assertCaught(
        "L-14.9 theTokenOfAReadLiesBetweenThoseOfTheWrites",
        "a read above the write before",
        store(new OtherGrants() {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            long number = isShared(claim) ? 1 : real.number();
            return new Changed(real, claim, number, claim.ttl());
          }
        }));
    assertCaught(
        "L-14.9 theTokenOfAReadLiesBetweenThoseOfTheWrites",
        "above the read before",
        store(new OtherGrants() {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            long number = isShared(claim) ? 1_000_000 : real.number();
            return new Changed(real, claim, number, claim.ttl());
          }
        }));
  }

  @Test
  void aReaderWhoIsToldThatItsOwnLockIsTakenIsCaught() {
    assertCaught(
        "L-14.10 whoReadsIsNotLeftWaitingToWrite",
        "tryLock() by a thread that reads",
        locks("tryLock", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (IllegalStateException e) {
            return Optional.empty();
          }
        }));
  }

  @Test
  void aReaderWhoWaitsBehindAWriterForItselfIsCaught() {
    assertCaught(
        "L-14.11 whoReadsMayReadAgainThoughAWriterWaits",
        "a second read of the same thread",
        client(
            "readWrite",
            (real, arguments, call) -> ((DistributedReadWriteLock) call.proceed(arguments))
                .with(((LockOptions) arguments[1]).withOwnership(Ownership.LEASE))));
  }

  /** Returns a store where the first of several readers to leave ends all. */
  private static BrokenFixture firstFrees() {
    return store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
      ReleaseOutcome outcome = real.release(grant, holdFor);
      endReaders(real, grant.claim().key());
      return outcome;
    }));
  }

  @Test
  void aGrantThatTheFirstOfItsReadersGivesBackIsCaught() {
    assertCaught(
        "L-14.12 readsOfOneClientEndEachByItself",
        "a write before the last read is closed",
        firstCloseReleases());
  }

  @Test
  void aReaderWhomOthersKeepAliveIsCaught() {
    ConcurrentLinkedQueue<Grant> all = new ConcurrentLinkedQueue<>();
    assertCaught(
        "L-14.13 aReaderWhoCrashedIsGoneAfterItsTimeAndNotBefore",
        "the crashed reader is gone",
        store(store -> Decorator.around(LockStore.class, store, (method, arguments, call) -> {
          Object answer = call.proceed(arguments);
          if (answer instanceof Optional<?> optional
              && optional.orElse(null) instanceof Grant grant
              && isShared(grant.claim())) {
            all.add(grant);
          }
          if (method.equals("renew")) {
            List<Renewal> unused = store.renew(new ArrayList<>(all));
          }
          return answer;
        })));
  }

  @Test
  void aReaderWhoTakesOthersWithItIsCaught() {
    assertCaught(
        "L-14.13 aReaderWhoLeavesShortensNobodyElsesTime",
        "time to a write, after the crash of a reader",
        firstFrees());
  }

  @Test
  void aReleaseOfAllReadersIsCaught() {
    assertCaught(
        "L-14.14 aSecondReleaseLetsNoWriterIn",
        "a write after the first of two reads was released",
        firstFrees());
  }

  @Test
  void aCountOfReadersIsCaught() {
    assertCaught(
        "L-14.14 aSecondReleaseLetsNoWriterIn",
        "a second release of the same read",
        store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          LockKey key = grant.claim().key();
          for (StoredHolder reader : readers(real, key)) {
            return real.forceRelease(key, reader.number())
                ? ReleaseOutcome.RELEASED
                : ReleaseOutcome.ALREADY_LOST;
          }
          return real.release(grant, holdFor);
        })));
  }

  @Test
  void aRenewalThatRevivesAReadIsCaught() {
    assertCaught(
        "L-14.15 aRenewalRevivesNoReadThatIsOver",
        "the renewal of a read after a write",
        store(in(
            "renew",
            (LockStore real, List<Grant> grants) -> grants.stream()
                .<Renewal>map(grant -> new Renewal.Renewed(grant.claim().ttl()))
                .toList())));
  }

  @Test
  void readersOfWhomOneIsShownAreCaught() {
    assertCaught(
        "L-14.16 allWhoReadAreShownAndOneCanBeEnded",
        "holders() of the read lock",
        store(in(
            "readers",
            (LockStore real, LockKey key) ->
                readers(real, key).stream().limit(1).toList())));
  }

  @Test
  void aForcedReleaseOfAllReadersIsCaught() {
    assertCaught(
        "L-14.16 allWhoReadAreShownAndOneCanBeEnded",
        "holders() after forceRelease()",
        store(in("forceRelease", (LockStore real, LockKey key, Long number) -> {
          boolean ended = real.forceRelease(key, number);
          endReaders(real, key);
          return ended;
        })));
  }

  @Test
  void aThirdRequestIsCaught() {
    assertCaught(
        "L-14.17 acquireAndReleaseOfAReadAreTwoRequests",
        "acquire and release of a read",
        engine(in("tryAcquire", (LockStore real, Claim claim) -> {
          List<StoredHolder> unused = readers(real, claim.key());
          return real.tryAcquire(claim);
        })));
  }

  @Test
  void aReaderWhoNeverJoinsIsCaught() {
    assertCaught(
        "L-14.17 aReadThatJoinsAGrantIsNoRequest",
        "a read joins another's grant",
        client(
            "readWrite",
            (real, arguments, call) -> ((DistributedReadWriteLock) call.proceed(arguments))
                .with(LockOptions.fixed(Duration.ofMinutes(5)))));
  }

  @Test
  void aLockOfTheJdkThatIsOnlyLocalIsCaught() {
    assertCaught(
        "L-14.18 bothSidesAreLocksOfTheJdk",
        "a write while readLock() is held",
        client(
            "readWrite",
            (real, arguments, call) -> Decorator.with(
                DistributedReadWriteLock.class,
                (DistributedReadWriteLock) call.proceed(arguments),
                "asReadWriteLock",
                (lock, none, proceed) -> new ReentrantReadWriteLock())));
  }
}
