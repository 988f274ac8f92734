package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.client;
import static io.holdfast.lock.tck.broken.BrokenFixture.engine;
import static io.holdfast.lock.tck.broken.BrokenFixture.guard;
import static io.holdfast.lock.tck.broken.BrokenFixture.store;
import static io.holdfast.lock.tck.broken.BrokenFixture.withoutLine;
import static io.holdfast.lock.tck.broken.Decorator.in;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoredPermit;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that each rule about semaphores fails on a store or a client with its bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenSemaphoresTest {

  @Test
  void aSemaphoreOfNoPermitIsCaught() {
    assertCaught(
        "L-13.1 whatIsNoSemaphoreIsRefused",
        "semaphore() with 0 permits",
        client(
            "semaphore",
            (real, arguments, call) -> (int) arguments[1] < 1
                ? ((SemaphoreClient) real).semaphore((String) arguments[0], 1)
                : call.proceed(arguments)));
  }

  private static int permits(Claim claim) {
    return ((Claim.Permit) claim.mode()).of();
  }

  @Test
  void oneMoreThanThereArePermitsIsCaught() {
    assertCaught(
        "L-13.2 thereAreAsManyLeasesAsPermits",
        "one more lease than permits",
        store(new OtherGrants() {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.ttl(), new Claim.Permit(permits(claim) + 1));
          }

          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            int permit = Math.min(((PermitGrant) real).permit(), permits(claim) - 1);
            return new Changed(real, claim, real.number(), claim.ttl(), permit);
          }
        }));
  }

  @Test
  void aPermitThatTwoHaveIsCaught() {
    assertCaught(
        "L-13.2 noPermitIsHeldTwiceAtATime", "holders of permit 0", store(new OtherGrants() {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            return new Changed(real, claim, real.number(), claim.ttl(), 0);
          }
        }));
  }

  @Test
  void aCrashedPermitThatNeverComesBackIsCaught() {
    assertCaught(
        "L-13.3 thePermitOfACrashedHolderComesBack",
        "the crashed holder's permit comes back",
        store(new OtherGrants() {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, Duration.ofDays(1), claim.mode());
          }
        }));
  }

  @Test
  void aReleaseByPermitIsCaught() {
    assertCaught(
        "L-13.4 aSecondReleaseFreesNothing",
        "a second release of the same grant",
        store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          for (StoredPermit held : ((PermitStore) real).holders(grant.claim().key())) {
            if (held.permit() == ((PermitGrant) grant).permit()) {
              boolean unused =
                  real.forceRelease(grant.claim().key(), held.holder().number());
              return ReleaseOutcome.RELEASED;
            }
          }
          return ReleaseOutcome.ALREADY_LOST;
        })));
  }

  @Test
  void aTokenThatFallsIsCaught() {
    assertCaught("L-13.5 theTokensOfAPermitRise", "token of permit", store(new OtherGrants() {
      @Override
      Changed told(Grant real, Claim claim, Duration took) {
        return new Changed(real, claim, 1_000_000 - real.number(), claim.ttl());
      }
    }));
  }

  @Test
  void aNumberOfPermitsThatNobodyComparesIsCaught() {
    assertCaught(
        "L-13.6 anotherNumberIsRefusedWhilePermitsAreHeld",
        "an acquire with another number of permits",
        store(new OtherGrants() {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.ttl(), new Claim.Permit(2));
          }
        }));
  }

  @Test
  void aMinimumHoldWhoseNumberNobodyComparesIsCaught() {
    assertCaught(
        "L-13.6 anotherNumberIsRefusedWhileAMinimumHoldKeepsAPermit",
        "an acquire with another number of permits",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
          try {
            return real.tryAcquire(claim);
          } catch (PermitsDifferException e) {
            for (StoredPermit held : ((PermitStore) real).holders(claim.key())) {
              if (!held.holder().released()) {
                throw e;
              }
            }
            return Optional.empty();
          }
        })));
  }

  @Test
  void holdersOfWhichOneIsShownAreCaught() {
    assertCaught(
        "L-13.7 whoHasWhichPermitIsShownAndOneCanBeTakenAway",
        "holders()",
        store(in(
            "holders",
            (LockStore real, LockKey key) ->
                ((PermitStore) real).holders(key).stream().limit(1).toList())));
  }

  @Test
  void aForcedReleaseOfAllPermitsIsCaught() {
    assertCaught(
        "L-13.7 whoHasWhichPermitIsShownAndOneCanBeTakenAway",
        "holders() after forceRelease()",
        store(in("forceRelease", (LockStore real, LockKey key, Long number) -> {
          boolean freed = real.forceRelease(key, number);
          for (StoredPermit held : ((PermitStore) real).holders(key)) {
            boolean unused = real.forceRelease(key, held.holder().number());
          }
          return freed;
        })));
  }

  @Test
  void aStoreThatServesTheLastFirstIsCaught() {
    Map<String, AtomicInteger> arrivals = new ConcurrentHashMap<>();
    Map<String, Duration> pauses = new ConcurrentHashMap<>();
    assertCaught(
        "L-13.8 thoseWhoWaitAreServedInTheOrderOfTheirArrival",
        "served so far, in order",
        withoutLine(
            claim -> true,
            claim -> pauses.computeIfAbsent(claim.ownerId(), id -> {
              int before = arrivals
                  .computeIfAbsent(claim.key().name(), name -> new AtomicInteger())
                  .getAndIncrement();
              return before == 0 ? Duration.ofSeconds(3) : Duration.ofMillis(10);
            })));
  }

  @Test
  void waitersThatNobodyWakesAreCaught() {
    assertCaught(
        "L-13.8 allPermitsThatBecomeFreeAreGivenToThoseWhoWait",
        "Another thread was not done within",
        withoutLine(claim -> true, claim -> Duration.ofMinutes(5)));
  }

  /** Returns a mutex as a semaphore, whose leases all have permit 0. */
  private static DistributedSemaphore ofOnePermit(DistributedLock mutex) {
    return (DistributedSemaphore) Proxy.newProxyInstance(
        DistributedSemaphore.class.getClassLoader(),
        new Class<?>[] {DistributedSemaphore.class},
        (proxy, method, arguments) -> mutex
            .tryLock()
            .map(lease -> Proxy.newProxyInstance(
                PermitLease.class.getClassLoader(),
                new Class<?>[] {PermitLease.class},
                (permit, called, none) ->
                    called.getName().equals("permit") ? (Object) 0 : called.invoke(lease, none))));
  }

  @Test
  void aReentrantSemaphoreIsCaught() {
    assertCaught(
        "L-13.9 eachAcquireTakesAPermitAndNoOtherLock",
        "the permit of a second acquire by the same thread",
        client(
            "semaphore",
            (real, arguments, call) ->
                ofOnePermit(real.get(arguments[0] + "/s", (LockOptions) arguments[2]))));
  }

  @Test
  void aThirdRequestIsCaught() {
    assertCaught(
        "L-13.10 acquireAndReleaseAreTwoRequests",
        "acquire and release of a permit",
        engine(in("tryAcquire", (LockStore real, Claim claim) -> {
          List<StoredPermit> unused = ((PermitStore) real).holders(claim.key());
          return real.tryAcquire(claim);
        })));
  }

  @Test
  void aGuardThatLooksForAnyHolderIsCaught() {
    assertCaught(
        "L-13.11 aGuardChecksTheLeaseAndNotTheSemaphore",
        "a guarded write under a lost lease",
        guard((real, log, lease, beforeEffect) -> {
          // Somebody has a permit.
        }));
  }
}
