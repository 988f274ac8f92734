package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.GuardedWrites;
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

/** Each rule about semaphores has been seen to fail, on a store or a client with its bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenSemaphoresTest {

  private static Claim changed(Claim claim, String name, Duration ttl, int permits) {
    return new Claim(
        new LockKey(claim.key().kind(), name),
        claim.ownerId(),
        ttl,
        claim.minHold(),
        claim.holder(),
        permits);
  }

  @Test
  void aSemaphoreOfNoPermitIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(Map.of(
            "semaphore",
            (real, arguments, call) -> (int) arguments[1] < 1
                ? ((LockClient) real).semaphore((String) arguments[0], 1)
                : call.proceed(arguments)))),
        "L-13.1",
        "whatIsNoSemaphoreIsRefused",
        "semaphore() with 0 permits");
  }

  @Test
  void oneMoreThanThereArePermitsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.key().name(), claim.ttl(), claim.permits() + 1);
          }

          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            int permit = Math.min(real.permit(), claim.permits() - 1);
            return new Changed(real, claim, real.number(), claim.ttl(), permit);
          }
        }),
        "L-13.2",
        "thereAreAsManyLeasesAsPermits",
        "one more lease than permits");
  }

  @Test
  void aPermitThatTwoHaveIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            return new Changed(real, claim, real.number(), claim.ttl(), 0);
          }
        }),
        "L-13.2",
        "noPermitIsHeldTwiceAtATime",
        "holders of permit 0");
  }

  @Test
  void aCrashedPermitThatNeverComesBackIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.key().name(), Duration.ofDays(1), claim.permits());
          }
        }),
        "L-13.3",
        "thePermitOfACrashedHolderComesBack",
        "the crashed holder's permit comes back");
  }

  @Test
  void aReleaseByPermitIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            for (StoredHolder holder : holders(grant.claim().key())) {
              if (holder.permit() == grant.permit()) {
                boolean unused = forceRelease(grant.claim().key(), holder.number());
                return ReleaseOutcome.RELEASED;
              }
            }
            return ReleaseOutcome.ALREADY_LOST;
          }
        }),
        "L-13.4",
        "aSecondReleaseFreesNothing",
        "a second release of the same grant");
  }

  @Test
  void aTokenThatFallsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            return new Changed(real, claim, 1_000_000 - real.number(), claim.ttl());
          }
        }),
        "L-13.5",
        "theTokensOfAPermitRise",
        "token of permit");
  }

  @Test
  void aNumberOfPermitsThatNobodyComparesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Claim asked(Claim claim) {
            return changed(claim, claim.key().name(), claim.ttl(), 2);
          }
        }),
        "L-13.6",
        "anotherNumberIsRefusedWhilePermitsAreHeld",
        "an acquire with another number of permits");
  }

  @Test
  void holdersOfWhichOneIsShownAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredHolder> holders(LockKey key) throws StoreException {
            return super.holders(key).stream().limit(1).toList();
          }
        }),
        "L-13.7",
        "whoHasWhichPermitIsShownAndOneCanBeTakenAway",
        "holders()");
  }

  @Test
  void aForcedReleaseOfAllPermitsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public boolean forceRelease(LockKey key, long number) throws StoreException {
            boolean freed = super.forceRelease(key, number);
            for (StoredHolder holder : holders(key)) {
              boolean unused = super.forceRelease(key, holder.number());
            }
            return freed;
          }
        }),
        "L-13.7",
        "whoHasWhichPermitIsShownAndOneCanBeTakenAway",
        "holders() after forceRelease()");
  }

  /** Waiters that keep no place, and ask again after such a time. */
  private abstract static class WithoutLine extends StoreDecorator {
    WithoutLine(LockStore store) {
      super(store);
    }

    abstract Duration pause(Claim claim);

    @Override
    public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
      Optional<Grant> grant = tryAcquire(claim);
      return grant.isPresent()
          ? new Acquisition.Granted(grant.get())
          : new Acquisition.Queued(
              new Ticket() {
                @Override
                public Status poll() throws StoreException {
                  Optional<Grant> late = tryAcquire(claim);
                  return late.isPresent() ? new Granted(late.get()) : new Waiting(pause(claim));
                }

                @Override
                public Optional<String> holder() {
                  return Optional.empty();
                }

                @Override
                public void close() {
                  // It has no place.
                }
              },
              pause(claim));
    }
  }

  @Test
  void aStoreThatServesTheLastFirstIsCaught() {
    Map<String, AtomicInteger> arrivals = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new WithoutLine(store) {
          private final Map<String, Duration> pauses = new ConcurrentHashMap<>();

          @Override
          Duration pause(Claim claim) {
            return pauses.computeIfAbsent(claim.ownerId(), id -> {
              int before = arrivals
                  .computeIfAbsent(claim.key().name(), name -> new AtomicInteger())
                  .getAndIncrement();
              return before == 0 ? Duration.ofSeconds(3) : Duration.ofMillis(10);
            });
          }
        }),
        "L-13.8",
        "thoseWhoWaitAreServedInTheOrderOfTheirArrival",
        "served so far, in order");
  }

  @Test
  void waitersThatNobodyWakesAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new WithoutLine(store) {
          @Override
          Duration pause(Claim claim) {
            return Duration.ofMinutes(5);
          }
        }),
        "L-13.8",
        "allPermitsThatBecomeFreeAreGivenToThoseWhoWait",
        "Another thread was not done within");
  }

  @Test
  void aReentrantSemaphoreIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(Map.of(
            "semaphore",
            (real, arguments, call) -> ((LockClient) real)
                .get(arguments[0] + "/s", (io.holdfast.lock.LockOptions) arguments[2])))),
        "L-13.9",
        "eachAcquireTakesAPermitAndNoOtherLock",
        "the permit of a second acquire by the same thread");
  }

  @Test
  void aThirdRequestIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            List<StoredHolder> unused = holders(claim.key());
            return super.tryAcquire(claim);
          }
        }),
        "L-13.10",
        "acquireAndReleaseAreTwoRequests",
        "acquire and release of a permit");
  }

  @Test
  void aGuardThatLooksForAnyHolderIsCaught() {
    assertCaught(
        BrokenFixture.guard(real -> new GuardedWrites() {
          private final Map<String, List<String>> logs = new ConcurrentHashMap<>();

          @Override
          public void create(String log) {
            logs.put(log, new java.util.concurrent.CopyOnWriteArrayList<>());
          }

          @Override
          public void append(
              String log, io.holdfast.lock.Lease lease, String entry, Step beforeEffect) {
            // Somebody has a permit.
            boolean unused = logs.get(log).add(entry);
          }

          @Override
          public List<String> read(String log) {
            return logs.get(log);
          }
        }),
        "L-13.11",
        "aGuardChecksTheLeaseAndNotTheSemaphore",
        "a guarded write under a lost lease");
  }
}
