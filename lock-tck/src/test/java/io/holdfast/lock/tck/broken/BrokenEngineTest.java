package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.client;
import static io.holdfast.lock.tck.broken.BrokenFixture.engine;
import static io.holdfast.lock.tck.broken.BrokenFixture.guard;
import static io.holdfast.lock.tck.broken.BrokenFixture.leases;
import static io.holdfast.lock.tck.broken.BrokenFixture.locks;
import static io.holdfast.lock.tck.broken.BrokenFixture.store;
import static io.holdfast.lock.tck.broken.Decorator.busyInPlaceOf;
import static io.holdfast.lock.tck.broken.Decorator.in;
import static io.holdfast.lock.tck.broken.Decorator.inBackground;
import static io.holdfast.lock.tck.broken.Decorator.without;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that rules about TTLs, waiting, releases and guards fail on an engine with their bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenEngineTest {

  // ---- TTL and renewal

  @Test
  void aLeaseThatCountsAsHeldUntilItIsClosedIsCaught() {
    assertCaught(
        "L-4.5 aLeaseIsNotHeldForLongerThanItsTtl",
        "isHeld() when the TTL is over",
        leases("isHeld", (lease, none, call) -> lease.state() != LeaseState.RELEASED));
  }

  @Test
  void aMaximumHoldThatIsIgnoredIsCaught() {
    assertCaught(
        "L-4.6 maxHoldEndsALeaseThatIsRenewed",
        "the lease is lost",
        client(
            "get",
            (real, arguments, call) -> arguments.length == 1
                ? call.proceed(arguments)
                : real.get(
                    (String) arguments[0],
                    LockOptions.renewed(((LockOptions) arguments[1]).ttl()))));
  }

  @Test
  void aRenewalThatTheStoreForgetsIsCaught() {
    assertCaught(
        "L-5.1 aRenewedLeaseLivesAsLongAsItsProcess",
        "the lease ends, or another client gets the lock",
        store(OtherGrants.renewingNothing()));
  }

  @Test
  void aTimerThatStopsAtTheFirstFailureIsCaught() {
    AtomicBoolean stopped = new AtomicBoolean();
    assertCaught(
        "L-5.5 aFailedRenewalIsTriedAgain",
        "the lease ends although the store is back",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          if (stopped.getAndSet(true)) {
            throw StoreException.refused("The timer has stopped", null);
          }
          List<Renewal> renewals = real.renew(grants);
          stopped.set(false);
          return renewals;
        })));
  }

  @Test
  void aRequestForEachRenewalIsCaught() {
    assertCaught(
        "L-5.6 leasesOfAClientAreRenewedTogether",
        "calls for",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          List<Renewal> renewals = new ArrayList<>();
          for (Grant grant : grants) {
            renewals.addAll(real.renew(List.of(grant)));
          }
          return renewals;
        })));
  }

  // ---- waiting

  @Test
  void aWaitThatEndsEarlyIsCaught() {
    assertCaught(
        "L-6.2 aTimedWaitEndsInTime",
        "by another client",
        locks(
            "tryLock",
            (real, arguments, call) -> arguments.length == 1
                ? real.tryLock(((Duration) arguments[0]).dividedBy(2))
                : call.proceed(arguments)));
  }

  @Test
  void anInterruptThatIsCalledBusyIsCaught() {
    assertCaught(
        "L-6.5 anInterruptEndsAWait",
        "Expected an exception on the other thread, got false",
        locks("tryLock", busyInPlaceOf(InterruptedException.class)));
  }

  @Test
  void aWaitThatLooksForInterruptsOnlyWhenTheLockIsTakenIsCaught() {
    assertCaught(
        "L-6.5 anInterruptFromBeforeEndsAWaitEvenIfTheLockIsFree",
        "Expected an exception on the other thread, got true",
        locks("tryLock", (real, arguments, call) -> {
          Optional<?> atOnce = real.tryLock();
          return atOnce.isPresent() ? atOnce : call.proceed(arguments);
        }));
  }

  @Test
  void aTryThatSwallowsAnInterruptIsCaught() {
    assertCaught(
        "L-6.5 tryLockKeepsAnInterruptPending",
        "the interrupt is still pending",
        locks("tryLock", (real, arguments, call) -> {
          Object lease = call.proceed(arguments);
          boolean unused = Thread.interrupted();
          return lease;
        }));
  }

  @Test
  void aGrantThatAnInterruptLeavesBehindIsCaught() {
    assertCaught(
        "L-6.7 aGrantThatMeetsAnInterruptIsGivenBack",
        "the lock becomes free for another client",
        locks("lock", (real, none, call) -> {
          Object lease = call.proceed(none);
          Thread.sleep(5); // An interrupt that comes now loses the lease.
          return lease;
        }));
  }

  @Test
  void threadsThatPollForTheLockAreCaught() {
    assertCaught(
        "L-6.8 threadsOfOneClientAreServedInTheOrderTheyAsked",
        "the order in which the threads were served",
        locks("run", (real, arguments, call) -> {
          Optional<? extends AnyLease> first = Optional.empty();
          while (first.isEmpty()) {
            Thread.sleep(ThreadLocalRandom.current().nextInt(50)); // Between two polls.
            first = real.tryLock(Duration.ofMillis(1));
          }
          call.proceed(arguments);
          first.get().close();
          return null;
        }));
  }

  @Test
  void aLostAttemptThatTheStoreKeepsIsCaught() {
    assertCaught(
        "L-6.9 anAcquireWhoseAnswerIsLostNeverBlocksTheNameForLongerThanATtl",
        "the lock becomes free for another client",
        store(OtherGrants.lasting(Duration.ofHours(1))
            .andThen(in("withdraw", (LockStore real, Claim claim) -> null))));
  }

  @Test
  void aClientThatKeepsTheLockForItsOwnThreadsIsCaught() {
    AtomicReference<AnyLease> kept = new AtomicReference<>();
    assertCaught(
        "L-6.10 handOffWithinAClientLeavesOtherClientsTheirTurn",
        "Another thread was not done within",
        locks("run", (real, arguments, call) -> {
          @SuppressWarnings("unchecked") // as the rule calls it
          LeaseAction<AnyLease, Exception> action = (LeaseAction<AnyLease, Exception>) arguments[0];
          synchronized (kept) { // Its lock among its own threads.
            if (kept.get() == null) {
              kept.set(real.with(real.options().withOwnership(Ownership.LEASE)).lock());
            }
            action.run(kept.get());
          }
          return null;
        }));
  }

  @Test
  void whoStandsBehindAFailingThreadIsCaughtIfItIsToldBusy() {
    AtomicInteger asking = new AtomicInteger();
    assertCaught(
        "L-6.11 whoStandsBehindAFailingThreadFailsToo",
        "Expected an exception on the other thread, got Optional.empty",
        locks("tryLock", (real, arguments, call) -> {
          boolean isFirst = arguments.length == 0 || asking.getAndIncrement() == 0;
          return isFirst
              ? call.proceed(arguments)
              : busyInPlaceOf(LockStoreException.class).run(real, arguments, call);
        }));
  }

  // ---- release

  @Test
  void aSecondCloseThatCountsIsCaught() {
    Deque<AnyLease> open = new ConcurrentLinkedDeque<>();
    assertCaught(
        "L-7.1 closingTwiceChangesNothing",
        "the outer handle is open",
        locks("tryLock", closing(lease -> {
          open.push(lease);
          return () -> open.pop().close();
        })));
  }

  @Test
  void aLeaseThatOnlyItsOwnThreadMayCloseIsCaught() {
    assertCaught(
        "L-7.1 anyThreadMayClose",
        "IllegalMonitorStateException",
        locks("tryLock", closing(lease -> {
          Thread owner = Thread.currentThread();
          return () -> {
            if (Thread.currentThread() != owner) {
              throw new IllegalMonitorStateException();
            }
            lease.close();
          };
        })));
  }

  /** Closes leases in another way. */
  private static Decorator.Bug<Acquirable<?>> closing(Function<Lease, Decorator.Body> bug) {
    return (lock, arguments, call) -> ((Optional<?>) call.proceed(arguments))
        .map(Lease.class::cast)
        .map(lease -> {
          Decorator.Body close = bug.apply(lease);
          return Decorator.with(Lease.class, lease, "close", (real, none, ignored) -> {
            close.run();
            return null;
          });
        });
  }

  @Test
  void aFailedReleaseThatIsReportedAsDoneIsCaught() {
    assertCaught(
        "L-7.3 aReleaseThatCannotBeSentIsMadeUpFor",
        "confirmed() of the release",
        engine(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          try {
            return real.release(grant, holdFor);
          } catch (StoreException e) {
            return ReleaseOutcome.RELEASED;
          }
        })));
  }

  @Test
  void aFailedReleaseThatIsForgottenIsCaught() {
    AtomicBoolean failed = new AtomicBoolean();
    assertCaught(
        "L-7.3 aReleaseThatCannotBeSentIsMadeUpFor",
        "the lock becomes free for another client",
        engine(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          if (failed.getAndSet(true)) {
            return ReleaseOutcome.RELEASED;
          }
          ReleaseOutcome outcome = real.release(grant, holdFor);
          failed.set(false);
          return outcome;
        })));
  }

  @Test
  void aReleaseThatTheDriverRepeatsIsCaught() {
    assertCaught(
        "L-7.4 aReleaseWhoseAnswerIsLostIsARelease",
        "close() whose answer was lost",
        engine(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          try {
            return real.release(grant, holdFor);
          } catch (StoreException e) {
            return real.release(grant, holdFor);
          }
        })));
  }

  @Test
  void aRepeatedReleaseByNameAloneIsCaught() {
    assertCaught(
        "L-7.4 aReleaseWhoseAnswerIsLostIsARelease",
        "the resent release hits the next holder",
        BrokenFixture.releasingByName());
  }

  @Test
  void aRunThatDoesNotReleaseAfterAnExceptionIsCaught() {
    assertCaught(
        "L-7.7 runReleasesHoweverTheActionEnds",
        "free after an exception",
        locks("run", (real, arguments, call) -> {
          AnyLease lease = real.lock();
          call.proceed(arguments);
          lease.close();
          return null;
        }));
  }

  @Test
  void aRunThatHidesTheLossIsCaught() {
    assertCaught(
        "L-7.7 runTellsOfALossThatTheActionDidNotNotice",
        "run() whose lease was lost meanwhile",
        locks("run", without(LockLostException.class)));
  }

  // ---- tokens, loss, guards

  @Test
  void aTokenThatIsForgottenAtTheReleaseIsCaught() {
    assertCaught(
        "L-8.3 theTokenStaysReadableAfterTheEnd",
        "token() of a closed lease",
        leases("token", (lease, none, call) -> lease.isHeld() ? ((Lease) lease).token() : 0));
  }

  @Test
  void aLossThatIsToldTwiceIsCaught() {
    assertCaught(
        "L-8.4 aLossIsToldOnce", "told again", leases("onLost", (lease, arguments, call) -> {
          call.proceed(arguments);
          return call.proceed(arguments);
        }));
  }

  @Test
  void aCloseThatLeavesTheLeaseToItsTimerIsCaught() {
    assertCaught(
        "L-8.4 aReleaseIsNoLoss",
        "onLost is called after a release",
        leases("close", (lease, none, call) -> null));
  }

  @Test
  void listenersThatShareAThreadAreCaught() {
    assertCaught(
        "L-8.6 aSlowOrThrowingListenerDelaysNothing",
        "the listener behind the slow one is told",
        new BrokenFixture().withSettings(builder -> builder.callbackExecutor(new ForkJoinPool(1))));
  }

  @Test
  void aGuardThatTrustsTheHoldersClockIsCaught() {
    assertCaught(
        "L-8.9 aStaleHoldersWriteIsRefused",
        "a guarded write by a lease that was taken away",
        guard((real, log, lease, beforeEffect) -> {
          lease.ensureHeld();
          beforeEffect.run();
        }));
  }

  @Test
  void aGuardThatOnlyComparesTokensIsCaught() {
    Map<String, Long> highest = new ConcurrentHashMap<>();
    assertCaught(
        "L-8.9 anExpiredHoldersWriteIsRefused",
        "a guarded write by a lease that expired",
        guard((real, log, lease, beforeEffect) -> {
          if (highest.merge(log, lease.token(), Math::max) > lease.token()) {
            throw new LockLostException(lease.name(), lease.token(), LeaseLoss.Reason.TAKEN);
          }
          beforeEffect.run();
        }));
  }

  @Test
  void aGuardThatLetsItsLeaseBeClosedIsCaught() {
    assertCaught(
        "L-8.11 aLeaseAndItsGuardedWriteDoNotEndAtOnce",
        "a guarded write after its lease was closed",
        guardThatTheLeaseDoesNotKnow());
  }

  @Test
  void aGuardThatLetsItsLeaseBeHandedOnIsCaught() {
    assertCaught(
        "L-8.12 aGuardedLeaseIsNotHandedOnWithinItsClient",
        "number of the next grant",
        guardThatTheLeaseDoesNotKnow());
  }

  private static BrokenFixture guardThatTheLeaseDoesNotKnow() {
    return guard((real, log, lease, beforeEffect) -> {
      lease.verify();
      beforeEffect.run();
    });
  }

  // ---- clocks

  @Test
  void aClientThatDoesNotLookAtTheWallClockIsCaught() {
    assertCaught(
        "L-9.5 aWallClockThatRanAheadPutsALeaseInDoubtUntilItIsVerified",
        "isHeld() after the wall clock ran ahead",
        BrokenFixture.blindToTheWallClock());
  }

  @Test
  void aCloseThatCallsADoubtALossIsCaught() {
    assertCaught(
        "L-9.5 closingALeaseThatTheWallClockPutInDoubtIsNoLoss",
        "close() of a lease in doubt that stands at the store",
        leases("close", (real, none, call) -> {
          Lease lease = (Lease) real;
          if (!lease.isHeld()) {
            throw new LockLostException(lease.name(), lease.token(), LeaseLoss.Reason.EXPIRED);
          }
          return call.proceed(none);
        }));
  }

  // ---- close, and what it all costs

  @Test
  void aClosedClientThatFindsAllLocksBusyIsCaught() {
    assertCaught(
        "L-10.2 closingAClientWakesItsWaitersAndRefusesLaterUse",
        "tryLock() of a closed client",
        locks("tryLock", busyInPlaceOf(LockClientClosedException.class)));
  }

  @Test
  void aClosedClientThatInterruptsItsWaitersIsCaught() {
    assertCaught(
        "L-10.2 closingAClientWakesItsWaitersAndRefusesLaterUse",
        "what a wait ends with when its client is closed",
        locks("lock", (real, none, call) -> {
          try {
            return call.proceed(none);
          } catch (LockClientClosedException e) {
            throw new InterruptedException();
          }
        }));
  }

  @Test
  void aStoreThatTriesAReleaseAgainAndAgainIsCaught() {
    assertCaught(
        "L-10.3 closingAClientIsBoundedWhenTheStoreIsDead",
        "time in LockClient.close() with a dead store",
        engine(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          for (int i = 0; i < 12; i++) {
            try {
              return real.release(grant, holdFor);
            } catch (StoreException e) {
              // Asks a dead store again, which is the bug.
            }
          }
          return real.release(grant, holdFor);
        })));
  }

  @Test
  void aThreadThatOutlivesItsClientIsCaught() {
    assertCaught(
        "L-10.4 aClosedClientLeavesNoThread",
        "its threads end",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
          inBackground(() -> {
            Thread.currentThread().setName("heartbeat of " + claim.holder());
            Thread.sleep(20_000); // It lives for longer than the rule waits.
          });
          return real.tryAcquire(claim);
        })));
  }

  @Test
  void anAcquireThatLooksBeforeItAsksIsCaught() {
    assertCaught(
        "L-10.7 acquireAndReleaseAreTwoRequestsAndReentryIsNone",
        "times acquire and release",
        engine(in("tryAcquire", (LockStore real, Claim claim) -> {
          Optional<StoredHolder> holder = real.inspect(claim.key());
          return holder.isPresent() ? Optional.empty() : real.tryAcquire(claim);
        })));
  }

  @Test
  void aLockThatOnlyTheThreadOfItsConnectionFreesIsCaught() {
    Map<String, Thread> owners = new ConcurrentHashMap<>();
    assertCaught(
        "L-10.8 aForgottenLeaseEnds",
        "the lock becomes free for another client",
        store(OtherGrants.lasting(Duration.ofHours(1))
            .andThen(in("tryAcquire", (LockStore real, Claim claim) -> {
              owners.put(claim.ownerId(), Thread.currentThread());
              return real.tryAcquire(claim);
            }))
            .andThen(in(
                "release",
                (LockStore real, Grant grant, Duration holdFor) ->
                    owners.get(grant.claim().ownerId()) == Thread.currentThread()
                        ? real.release(grant, holdFor)
                        : ReleaseOutcome.RELEASED))));
  }
}
