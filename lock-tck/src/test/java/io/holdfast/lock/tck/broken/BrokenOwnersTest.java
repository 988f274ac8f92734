package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.client;
import static io.holdfast.lock.tck.broken.BrokenFixture.leases;
import static io.holdfast.lock.tck.broken.BrokenFixture.locks;
import static io.holdfast.lock.tck.broken.BrokenFixture.store;
import static io.holdfast.lock.tck.broken.Decorator.busyInPlaceOf;
import static io.holdfast.lock.tck.broken.Decorator.in;
import static io.holdfast.lock.tck.broken.Decorator.inBackground;
import static io.holdfast.lock.tck.broken.Decorator.without;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoredHolder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that rules about names, exclusion and owners fail on a lock with their bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenOwnersTest {

  // ---- names and other arguments

  @Test
  void aNameWhoseControlCharactersAreReplacedIsCaught() {
    assertCaught(
        "L-1.1 aNameThatBreaksTheRulesIsRefused",
        "a name of 3 chars",
        client("get", (real, arguments, call) -> {
          arguments[0] = ((String) arguments[0]).replaceAll("\\p{Cntrl}", "_");
          return call.proceed(arguments);
        }));
  }

  @Test
  void aLockThatIsMadeAtTheStoreIsCaught() {
    assertCaught(
        "L-1.1 aWrongNameIsRefusedWithoutARequest",
        "an empty name, without a way to the store",
        client("get", (real, arguments, call) -> {
          List<HeldLock> unused = real.list((String) arguments[0], 1);
          return call.proceed(arguments);
        }));
  }

  @Test
  void aWrongTtlThatIsReplacedInSilenceIsCaught() {
    assertCaught(
        "L-1.4 optionsOutOfRangeAreRefused",
        "a renewed TTL below three store timeouts",
        client("get", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (IllegalArgumentException e) {
            return real.get((String) arguments[0]);
          }
        }));
  }

  @Test
  void aClientThatIgnoresItsDefaultOptionsIsCaught() {
    assertCaught(
        "L-1.4 aLockThatIsGotWithoutOptionsHasTheDefaultOnesOfItsClient",
        "options() of a lock that was got without any",
        client(
            "get",
            (real, arguments, call) -> arguments.length == 1
                ? real.get((String) arguments[0], LockOptions.renewed(Duration.ofMinutes(1)))
                : call.proceed(arguments)));
  }

  @Test
  void aWaitOfZeroThatNeverAsksIsCaught() {
    assertCaught(
        "L-1.5 zeroOrLessWaitsNotAtAll",
        "of a free lock",
        locks("tryLock", (real, arguments, call) -> {
          boolean isOver =
              arguments.length == 1 && ((Duration) arguments[0]).compareTo(Duration.ZERO) <= 0;
          return isOver ? Optional.empty() : call.proceed(arguments);
        }));
  }

  // ---- exclusion

  @Test
  void aStoreWithOneLockForAllNamesIsCaught() {
    assertCaught(
        "L-2.2 differentNamesAreIndependent",
        "tryLock() of the free lock",
        store(OtherGrants.renaming(name -> "all")));
  }

  @Test
  void aReleaseThatTheStoreMakesLaterIsCaught() {
    assertCaught(
        "L-2.3 aReleasedLockIsFreeAtOnce",
        "tryLock() of the free lock",
        store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          inBackground(() -> {
            Thread.sleep(100); // Whoever asks at once finds it taken.
            real.release(grant, holdFor);
          });
          return ReleaseOutcome.RELEASED;
        })));
  }

  @Test
  void aWaitThatChecksThenWritesIsCaught() {
    assertCaught(
        "L-2.4 sectionsOfManyThreadsAndClientsNeverOverlap",
        "two sections ran at once",
        store(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
              if (real.inspect(claim.key()).isPresent()) {
                return real.acquireOrQueue(claim, wakeUp);
              }
              Thread.sleep(5); // Others look meanwhile.
              Grant overwriting =
                  new OtherGrants.Changed(null, claim, Long.MAX_VALUE >>> 11, claim.ttl(), 0);
              return new Acquisition.Granted(real.tryAcquire(claim).orElse(overwriting));
            })
            .andThen(in(
                "release",
                (LockStore real, Grant grant, Duration holdFor) ->
                    grant instanceof OtherGrants.Changed
                        ? ReleaseOutcome.RELEASED
                        : real.release(grant, holdFor)))));
  }

  @Test
  void aHolderThatIsReadFromACacheIsCaught() {
    Map<LockKey, StoredHolder> cache = new ConcurrentHashMap<>();
    assertCaught(
        "L-2.6 inspectTellsWhoHasTheLock",
        "inspect() of a released lock",
        store(in("inspect", (LockStore real, LockKey key) -> {
          real.inspect(key).ifPresent(holder -> cache.put(key, holder));
          return Optional.ofNullable(cache.get(key));
        })));
  }

  // ---- owners

  @Test
  void aNestedAcquireThatDoesNotCountIsCaught() {
    assertCaught(
        "L-3.1 theLastOfNestedClosesFreesTheLock",
        "one handle is open",
        locks("lock", (real, none, call) -> {
          boolean isNested = ((DistributedLock) real).isHeldByCurrentThread();
          AnyLease lease = real.lock();
          if (isNested) {
            lease.close();
          }
          return lease;
        }));
  }

  @Test
  void aLockThatIsOwnedByTheClientIsCaught() {
    Map<String, Lease> owned = new ConcurrentHashMap<>();
    assertCaught(
        "L-3.2 anotherThreadOfTheSameClientIsRefused",
        "tryLock() by another thread",
        locks("tryLock", (real, arguments, call) -> {
          String name = ((DistributedLock) real).name();
          Optional<?> lease = (Optional<?>) call.proceed(arguments);
          lease.ifPresent(one -> owned.put(name, (Lease) one));
          return Optional.ofNullable(owned.get(name));
        }));
  }

  @Test
  void aTokenForEachHandleIsCaught() {
    AtomicLong handles = new AtomicLong();
    Map<AnyLease, Long> tokens = new ConcurrentHashMap<>();
    assertCaught(
        "L-3.3 nestedLeasesShareTheirToken",
        "token() of a nested lease",
        leases(
            "token",
            (lease, none, call) ->
                tokens.computeIfAbsent(lease, handle -> handles.incrementAndGet())));
  }

  @Test
  void aLossThatIsCalledBusyIsCaught() {
    assertCaught(
        "L-3.4 reentryAfterLossThrowsUntilTheLostLeaseIsClosed",
        "tryLock() by the thread whose lease was lost",
        locks("tryLock", busyInPlaceOf(LockLostException.class)));
  }

  @Test
  void aNestedAcquireThatIgnoresItsOptionsIsCaught() {
    assertCaught(
        "L-3.5 aNestedAcquireWithOtherOptionsIsAnError",
        "tryLock() with a fixed TTL, nested in a renewed lease",
        locks(
            "with",
            (real, arguments, call) ->
                ((DistributedLock) real).isHeldByCurrentThread() ? real : call.proceed(arguments)));
  }

  @Test
  void aLeaseThatIsAlwaysOwnedByItsThreadIsCaught() {
    assertCaught(
        "L-3.6 aLeaseThatOwnsItselfIsNeverReentered",
        "the lease has no owner thread",
        client(
            "get",
            (real, arguments, call) -> arguments.length == 1
                ? call.proceed(arguments)
                : real.get(
                    (String) arguments[0],
                    ((LockOptions) arguments[1]).withOwnership(Ownership.THREAD))));
  }

  @Test
  void aWaitForOneselfThatNobodyIsToldOfIsCaught() {
    assertCaught(
        "L-3.6 aLeaseThatOwnsItselfIsNeverReentered",
        "waitsForItself events",
        locks("tryLock", (real, arguments, call) -> real.tryLock()));
  }

  @Test
  void aDetachThatDoesNothingIsCaught() {
    assertCaught(
        "L-3.7 aDetachedLeaseBelongsToNoThread",
        "isHeldByCurrentThread() after detach()",
        leases("detach", (real, none, call) -> real));
  }

  @Test
  void aDetachByAnyThreadIsCaught() {
    assertCaught(
        "L-3.7 onlyItsOwnerDetachesALeaseAndOnlyAnUnnestedOne",
        "Expected an exception on the other thread",
        leases("detach", without(IllegalStateException.class)));
  }

  @Test
  void anOwnerThatIsAskedOfTheStoreIsCaught() {
    assertCaught(
        "L-3.8 aThreadKnowsWhetherItHoldsTheLock",
        "on another thread",
        locks(
            "isHeldByCurrentThread",
            (real, none, call) -> ((DistributedLock) real).inspect().isPresent()));
  }

  @Test
  void aJavaLockThatSwallowsAnInterruptIsCaught() {
    assertCaught(
        "L-3.9 asLockIgnoresInterruptsAndKeepsTheFlag",
        "the interrupt is still pending after lock()",
        javaLocks("lock", (real, none, call) -> {
          real.lock();
          return Thread.interrupted();
        }));
  }

  @Test
  void aJavaLockThatHidesTheLossIsCaught() {
    assertCaught(
        "L-3.9 asLockTellsOfTheLossAtUnlock",
        "unlock() after a loss",
        javaLocks("unlock", without(LockLostException.class)));
  }

  private static BrokenFixture javaLocks(String method, Decorator.Bug<Lock> bug) {
    return locks(
        "asLock",
        (real, none, call) -> Decorator.with(Lock.class, (Lock) call.proceed(none), method, bug));
  }
}
