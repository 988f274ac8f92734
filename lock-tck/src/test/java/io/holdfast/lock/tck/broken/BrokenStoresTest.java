package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.client;
import static io.holdfast.lock.tck.broken.BrokenFixture.engine;
import static io.holdfast.lock.tck.broken.BrokenFixture.guard;
import static io.holdfast.lock.tck.broken.BrokenFixture.leases;
import static io.holdfast.lock.tck.broken.BrokenFixture.locks;
import static io.holdfast.lock.tck.broken.BrokenFixture.store;
import static io.holdfast.lock.tck.broken.Decorator.in;
import static io.holdfast.lock.tck.broken.Decorator.inBackground;
import static io.holdfast.lock.tck.broken.Decorator.without;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that each rule fails on a store, an engine or a guard with the bug that it is for. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenStoresTest {

  // ---- names

  @Test
  void aStoreThatIgnoresCaseAndSpacesIsCaught() {
    assertCaught(
        "L-1.2 namesThatDifferInAnyWayAreDifferentLocks",
        "while only names that differ from it are held",
        store(OtherGrants.renaming(name -> name.strip().toLowerCase(Locale.ROOT))));
  }

  @Test
  void aStoreThatCutsLongNamesIsCaught() {
    assertCaught(
        "L-1.3 aLongNameIsNeverCutShort",
        "tryLock() of the free lock",
        store(OtherGrants.renaming(name -> name.length() > 191 ? name.substring(0, 191) : name)));
  }

  // ---- exclusion

  @Test
  void aStoreWithoutExclusionIsCaught() {
    assertCaught(
        "L-2.1 anotherClientIsRefusedWhileTheLockIsHeld",
        "held by the first client: tryLock() by another client",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
          Optional<Grant> grant = real.tryAcquire(claim);
          return grant.isPresent()
              ? grant
              : Optional.of(
                  new OtherGrants.Changed(null, claim, Long.MAX_VALUE >>> 11, claim.ttl(), 0));
        })));
  }

  @Test
  void anAcquireThatChecksThenWritesIsCaught() {
    assertCaught(
        "L-2.1 ofManyClientsThatAskAtOnceOnlyOneGetsIt",
        "leases of one name, asked for at once by many clients",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
          if (real.inspect(claim.key()).isPresent()) {
            return Optional.empty();
          }
          Thread.sleep(20);
          Optional<StoredHolder> overwritten = real.inspect(claim.key());
          if (overwritten.isPresent()) {
            real.forceRelease(claim.key(), overwritten.get().number());
          }
          return real.tryAcquire(claim);
        })));
  }

  @Test
  void aForcedReleaseByNameAloneIsCaught() {
    assertCaught(
        "L-2.7 forceReleaseFreesTheGrantThatWasMeantAndNoOther",
        "an earlier grant's token",
        store(in("forceRelease", (LockStore real, LockKey key, Long number) -> {
          Optional<StoredHolder> holder = real.inspect(key);
          return holder.isPresent() && real.forceRelease(key, holder.get().number());
        })));
  }

  @Test
  void aListThatTakesThePrefixForAPatternIsCaught() {
    assertAWrongPrefixIsCaught((name, prefix) -> {
      String pattern = Pattern.quote(prefix).replace("%", "\\E.*\\Q").replace("_", "\\E.\\Q");
      return name.matches(pattern + ".*");
    });
  }

  @Test
  void aListThatIgnoresCaseIsCaught() {
    assertAWrongPrefixIsCaught((name, prefix) ->
        name.toLowerCase(Locale.ROOT).startsWith(prefix.toLowerCase(Locale.ROOT)));
  }

  @Test
  void aListThatComparesEscapedNamesIsCaught() {
    UnaryOperator<String> escaped = name -> name.replace("%", "-_25").replace("/", "-_2F");
    assertAWrongPrefixIsCaught(
        (name, prefix) -> escaped.apply(name).startsWith(escaped.apply(prefix)));
  }

  private static void assertAWrongPrefixIsCaught(BiPredicate<String, String> matches) {
    assertCaught(
        "L-2.9 aListHasTheHeldLocksThatBeginWithThePrefixAndNoOther",
        "the held locks whose names begin with",
        store(in(
            "list",
            (LockStore real, LockKind kind, String prefix, Integer limit) ->
                real.list(kind, "", Integer.MAX_VALUE).stream()
                    .filter(lock -> matches.test(lock.key().name(), prefix))
                    .limit(limit)
                    .toList())));
  }

  @Test
  void aListInTheOrderOfTheStoreIsCaught() {
    assertAWrongLimitIsCaught(client("list", (real, arguments, call) -> {
      List<?> listed = new ArrayList<>((List<?>) call.proceed(arguments));
      Collections.reverse(listed);
      return listed;
    }));
  }

  @Test
  void aListThatKnowsNoLimitIsCaught() {
    assertAWrongLimitIsCaught(store(in(
        "list",
        (LockStore real, LockKind kind, String prefix, Integer limit) ->
            real.list(kind, prefix, Integer.MAX_VALUE))));
  }

  @Test
  void aListWhoseLimitCountsOtherNamesTooIsCaught() {
    assertAWrongLimitIsCaught(store(in(
        "list",
        (LockStore real, LockKind kind, String prefix, Integer limit) ->
            real.list(kind, "", Integer.MAX_VALUE).stream()
                .sorted(Comparator.comparing(lock -> lock.key().name()))
                .limit(limit)
                .filter(lock -> lock.key().name().startsWith(prefix))
                .toList())));
  }

  private static void assertAWrongLimitIsCaught(BrokenFixture broken) {
    assertCaught(
        "L-2.9 aListHasAtMostAsManyLocksAsItIsAskedFor",
        "5 held locks, listed with the limit",
        broken);
  }

  @Test
  void aListWithGrantsThatAreOverIsCaught() {
    Map<LockKey, StoredLock> rows = new ConcurrentHashMap<>();
    assertCaught(
        "L-2.9 aListHasNoLockThatIsFree",
        "the one lock that is held, among others that were",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
              LockKey key = claim.key();
              Optional<Grant> grant = real.tryAcquire(claim);
              real.inspect(key)
                  .ifPresent(
                      holder -> rows.put(key, new StoredLock(key, holder, OptionalInt.empty())));
              return grant;
            })
            .andThen(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
              rows.remove(grant.claim().key());
              return real.release(grant, holdFor);
            }))
            .andThen(in("forceRelease", (LockStore real, LockKey key, Long number) -> {
              rows.remove(key);
              return real.forceRelease(key, number);
            }))
            .andThen(in(
                "list",
                (LockStore real, LockKind kind, String prefix, Integer limit) ->
                    rows.values().stream()
                        .filter(lock -> lock.key().name().startsWith(prefix))
                        .limit(limit)
                        .toList()))));
  }

  @Test
  void aListWithoutLocksThatAMinimumHoldKeepsIsCaught() {
    assertCaught(
        "L-2.9 aListShowsALockThatIsKeptByItsMinimumHoldAsReleased",
        "a lock that was released before its minimum hold was over",
        store(in(
            "list",
            (LockStore real, LockKind kind, String prefix, Integer limit) ->
                real.list(kind, prefix, limit).stream()
                    .filter(lock -> !lock.holder().released())
                    .toList())));
  }

  @Test
  void aRenewalThatLooksLikeAGrantIsCaught() {
    Map<LockKey, Instant> renewed = new ConcurrentHashMap<>();
    assertCaught(
        "L-2.9 inspectAndListTellSinceWhenALockIsHeld",
        "since() after a renewal",
        store(dating((key, since) -> renewed.getOrDefault(key, since))
            .andThen(in("renew", (LockStore real, List<Grant> grants) -> {
              grants.forEach(grant -> renewed.put(grant.claim().key(), Instant.now()));
              return real.renew(grants);
            }))));
  }

  @Test
  void aGrantThatIsDatedByAnotherClockIsCaught() {
    assertCaught(
        "L-2.9 inspectAndListTellSinceWhenALockIsHeld",
        "when the lock was granted",
        store(dating((key, since) -> since.plusSeconds(3_600))));
  }

  private static Function<LockStore, LockStore> dating(
      BiFunction<LockKey, Instant, Instant> since) {
    BiFunction<LockKey, StoredHolder, StoredHolder> dated = (key, holder) -> new StoredHolder(
        holder.number(),
        holder.description(),
        since.apply(key, holder.since()),
        holder.remaining(),
        holder.released());
    return in(
            "inspect",
            (LockStore real, LockKey key) ->
                real.inspect(key).map(holder -> dated.apply(key, holder)))
        .andThen(in(
            "list",
            (LockStore real, LockKind kind, String prefix, Integer limit) ->
                real.list(kind, prefix, limit).stream()
                    .map(lock -> new StoredLock(
                        lock.key(), dated.apply(lock.key(), lock.holder()), lock.waiting()))
                    .toList()));
  }

  // ---- TTL and renewal

  @Test
  void aTtlThatNeverEndsIsCaught() {
    assertCaught(
        "L-4.1 aGrantWhoseHolderIsGoneEnds",
        "the lock becomes free for another client",
        store(OtherGrants.lasting(Duration.ofHours(1))));
  }

  @Test
  void aTtlThatEndsEarlyIsCaught() {
    assertCaught(
        "L-4.2 theStoreKeepsAGrantForAsLongAsItSaid",
        "from before the first acquire to the next grant",
        store(OtherGrants.lasting(Duration.ofMillis(300))));
  }

  @Test
  void aDeadlineCountedFromTheReplyIsCaught() {
    assertCaught(
        "L-4.3 theDeadlineCountsFromBeforeTheRequestWasSent",
        "remaining() of a lease whose grant travelled for",
        countingFromTheReply());
  }

  @Test
  void aRenewedDeadlineCountedFromTheReplyIsCaught() {
    assertCaught(
        "L-4.3 aRenewedDeadlineCountsFromBeforeTheRenewalWasSent",
        "remaining() is above the TTL less what the answer to the renewal took",
        countingFromTheReply());
  }

  /** Makes an engine count from the reply, by clocks that stand still during a request. */
  private static BrokenFixture countingFromTheReply() {
    RewoundTime time = new RewoundTime();
    return engine(new OtherGrants() {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            time.rewind(took);
            return super.told(real, claim, took);
          }

          @Override
          Duration told(Duration validFor, Duration took) {
            time.rewind(took);
            return validFor;
          }
        })
        .withSettings(builder -> builder.timeSource(time));
  }

  private static final class RewoundTime implements TimeSource {
    private final TimeSource system = TimeSource.system();
    private final AtomicLong behindNanos = new AtomicLong();

    void rewind(Duration by) {
      behindNanos.addAndGet(by.toNanos());
    }

    @Override
    public long nanos() {
      return system.nanos() - behindNanos.get();
    }

    @Override
    public long wallMillis() {
      return system.wallMillis() - TimeUnit.NANOSECONDS.toMillis(behindNanos.get());
    }

    @Override
    public void park(Object blocker, long nanos) {
      system.park(blocker, nanos);
    }
  }

  @Test
  void aStoreThatKeepsAGrantForLessThanItSaysIsCaught() {
    assertCaught(
        "L-4.4 theHolderNeverBelievesLongerThanTheStore",
        "the local deadline is after the store's",
        engine(new PromisesTooMuch()));
  }

  @Test
  void aStoreThatKeepsAHandedOverGrantForLessThanItSaysIsCaught() {
    assertCaught(
        "L-4.4 whoWaitedForALeaseNeverBelievesLongerThanTheStore",
        "the local deadline is after the store's",
        engine(new PromisesTooMuch()
            .andThen(withTickets(
                "handedOver",
                (ticket, none, call) -> ticket.poll() instanceof Ticket.Granted granted
                    ? Optional.of(granted.grant())
                    : Optional.empty()))));
  }

  private static final class PromisesTooMuch extends OtherGrants {
    @Override
    Claim asked(Claim claim) {
      return changed(claim, claim.ttl().dividedBy(2), claim.mode());
    }

    @Override
    Duration told(Duration validFor, Duration took) {
      return validFor.multipliedBy(2);
    }
  }

  private static UnaryOperator<LockStore> withTickets(String method, Decorator.Bug<Ticket> bug) {
    return in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
      Acquisition acquisition = real.acquireOrQueue(claim, wakeUp);
      return acquisition instanceof Acquisition.Queued queued
          ? new Acquisition.Queued(
              Decorator.with(Ticket.class, queued.ticket(), method, bug), queued.recheckAfter())
          : acquisition;
    });
  }

  @Test
  void aRenewalThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        "L-5.2 anExpiredGrantIsNotRevived",
        "the renewal of an expired grant",
        store(in("renew", (LockStore real, List<Grant> grants) -> {
          List<Renewal> results = new ArrayList<>(real.renew(grants));
          for (int i = 0; i < results.size(); i++) {
            if (results.get(i) instanceof Renewal.Lost
                && real.tryAcquire(grants.get(i).claim()).isPresent()) {
              results.set(i, new Renewal.Renewed(grants.get(i).claim().ttl()));
            }
          }
          return results;
        })));
  }

  @Test
  void aLateRenewalThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        "L-5.2 aRenewalThatArrivesLateRevivesNothing",
        "a late renewal revives the lease",
        store(in("renew", (LockStore real, List<Grant> grants) -> {
          List<Renewal> results = real.renew(grants);
          for (Grant grant : grants) {
            Optional<Grant> unused = real.tryAcquire(grant.claim());
          }
          return results;
        })));
  }

  @Test
  void aRenewalThatExtendsASuccessorIsCaught() {
    Map<LockKey, Grant> owners = new ConcurrentHashMap<>();
    assertCaught(
        "L-5.3 aRenewalNeverExtendsASuccessor",
        "the successor's time after a renewal by its predecessor",
        store(noting(owners).andThen(in("renew", (LockStore real, List<Grant> grants) -> {
          real.renew(
              grants.stream().map(grant -> owners.get(grant.claim().key())).toList());
          return real.renew(grants);
        }))));
  }

  /** Records the last grant of each lock. */
  private static UnaryOperator<LockStore> noting(Map<LockKey, Grant> owners) {
    return in("tryAcquire", (LockStore real, Claim claim) -> {
      Optional<Grant> grant = real.tryAcquire(claim);
      grant.ifPresent(owner -> owners.put(claim.key(), owner));
      return grant;
    });
  }

  @Test
  void renewalAfterReleaseIsCaught() {
    assertCaught(
        "L-5.4 renewalStopsAtRelease",
        "grants that were renewed after their release",
        engine(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          ReleaseOutcome outcome = real.release(grant, holdFor);
          renewThriceInBackground(real, grant, 500);
          return outcome;
        })));
  }

  @Test
  void aRenewalThatExtendsTheMinimumHoldIsCaught() {
    assertCaught(
        "L-5.4 nothingMovesTheEndOfAReleasedLease",
        "the end of the minimum hold moves",
        store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
          if (holdFor.isZero()) {
            return real.release(grant, holdFor);
          }
          renewThriceInBackground(real, grant, 1_000);
          return ReleaseOutcome.RELEASED;
        })));
  }

  private static void renewThriceInBackground(LockStore store, Grant grant, long eachMillis) {
    inBackground(() -> {
      for (int i = 0; i < 3; i++) {
        Thread.sleep(eachMillis);
        store.renew(List.of(grant));
      }
    });
  }

  @Test
  void anExtensionThatTheStoreForgetsIsCaught() {
    assertAnExtensionThatDoesNotLastIsCaught(
        (real, grant, ttl) -> real.verify(grant).map(left -> ttl));
  }

  @Test
  void anExtensionByTheFirstTtlAgainIsCaught() {
    assertAnExtensionThatDoesNotLastIsCaught(
        (real, grant, ttl) -> real.extend(grant, grant.claim().ttl()));
  }

  private static void assertAnExtensionThatDoesNotLastIsCaught(
      Decorator.OfTwo<Grant, Duration> extension) {
    assertCaught(
        "L-5.8 anExtendedLeaseIsHeldForItsNewTimeAndNotForEver",
        "the extended lease ends, or another client gets the lock",
        store(in("extend", extension)));
  }

  @Test
  void aCrashBoundThatForgetsTheExtensionIsCaught() {
    assertCaught(
        "L-5.8 anExtendedLeaseIsHeldForItsNewTimeAndNotForEver",
        "crashBound() of the extended lease",
        leases("crashBound", (real, none, call) -> real.crashBound().dividedBy(2)));
  }

  @Test
  void anExtensionThatShortensIsCaught() {
    assertCaught(
        "L-5.8 anExtensionNeverShortens",
        "the lease ends sooner than without its extension",
        store(in("extend", (LockStore real, Grant grant, Duration ttl) -> {
          Optional<Duration> left = real.extend(grant, ttl);
          inBackground(() -> {
            Thread.sleep(ttl.toMillis());
            real.forceRelease(grant.claim().key(), grant.number());
          });
          return left;
        })));
  }

  @Test
  void anExtensionThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        "L-5.8 anExtensionRevivesNothingAndTouchesNoSuccessor",
        "the extension of an expired grant",
        revivingByExtension());
  }

  @Test
  void aLateExtensionThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        "L-5.8 anExtensionThatArrivesLateRevivesNothing",
        "a late extension revives the lease",
        revivingByExtension());
  }

  private static BrokenFixture revivingByExtension() {
    return store(in("extend", (LockStore real, Grant grant, Duration ttl) -> {
      Optional<Duration> left = real.extend(grant, ttl);
      return left.isPresent() ? left : real.tryAcquire(grant.claim()).map(revived -> ttl);
    }));
  }

  @Test
  void anExtensionThatExtendsASuccessorIsCaught() {
    assertCaught(
        "L-5.8 anExtensionRevivesNothingAndTouchesNoSuccessor",
        "the successor's time after an extension by its predecessor",
        extendingWhoeverHasTheLock());
  }

  @Test
  void anExtensionOfAForeignLeaseIsCaught() {
    assertCaught(
        "L-5.8 extendingALeaseThatWasTakenOrIsOverTellsSoAndTouchesNobody",
        "the time of the next lease after that",
        extendingWhoeverHasTheLock());
  }

  private static BrokenFixture extendingWhoeverHasTheLock() {
    Map<LockKey, Grant> owners = new ConcurrentHashMap<>();
    return store(noting(owners)
        .andThen(in("extend", (LockStore real, Grant grant, Duration ttl) -> {
          real.extend(owners.get(grant.claim().key()), ttl);
          return real.extend(grant, ttl);
        })));
  }

  @Test
  void anExtensionThatMovesTheEndOfTheMinimumHoldIsCaught() {
    assertCaught(
        "L-5.8 anExtensionDoesNotMoveTheEndOfAMinimumHold",
        "the rest of the minimum hold after that",
        store(in("extend", (LockStore real, Grant grant, Duration ttl) -> {
          Optional<StoredHolder> holder = real.inspect(grant.claim().key());
          if (holder.isPresent() && holder.get().released()) {
            real.forceRelease(grant.claim().key(), grant.number());
            real.release(real.tryAcquire(grant.claim()).orElseThrow(), ttl);
          }
          return real.extend(grant, ttl);
        })));
  }

  @Test
  void anExtensionThatHidesTheLossIsCaught() {
    assertCaught(
        "L-5.8 extendingALeaseThatWasTakenOrIsOverTellsSoAndTouchesNobody",
        "extend() of a lease whose lock was freed by force",
        leases("extend", without(LockLostException.class)));
  }

  @Test
  void anExtensionOfRenewedLeasesIsCaught() {
    assertCaught(
        "L-5.8 aRenewedLeaseCannotBeExtended",
        "extend() of a renewed lease",
        leases("extend", without(IllegalStateException.class)));
  }

  @Test
  void anExtensionOfClosedHandlesIsCaught() {
    assertCaught(
        "L-5.8 aClosedHandleCannotBeExtended",
        "extend() of a closed handle",
        leases("extend", without(IllegalStateException.class)));
  }

  @Test
  void anExtensionThatIgnoresWhatIsOutOfRangeIsCaught() {
    assertCaught(
        "L-5.8 anExtensionOutOfRangeIsRefusedWithoutARequest",
        "without a way to the store",
        leases("extend", without(IllegalArgumentException.class)));
  }

  // ---- waiting

  @Test
  void aStoreFailureThatIsReportedAsBusyIsCaught() {
    assertCaught(
        "L-6.3 anUnreachableStoreIsNeitherBusyNorAGrant",
        "tryLock() while connections are refused",
        engine(in("tryAcquire", (LockStore real, Claim claim) -> {
          try {
            return real.tryAcquire(claim);
          } catch (StoreException e) {
            return Optional.empty();
          }
        })));
  }

  @Test
  void aLostWakeUpIsCaught() {
    assertCaught(
        "L-6.4 aWaiterGetsTheLockWhenItIsReleased",
        "Another thread was not done within",
        store(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
          Acquisition acquisition = real.acquireOrQueue(claim, () -> {});
          return acquisition instanceof Acquisition.Queued queued
              ? new Acquisition.Queued(queued.ticket(), Duration.ofHours(1))
              : acquisition;
        })));
  }

  @Test
  void aWaiterThatLeaksAndIsGrantedLaterIsCaught() {
    assertCaught(
        "L-6.6 whoGaveUpWaitingIsNotGrantedLater",
        "a waiter that gave up is granted the lock",
        store(withTickets("close", (ticket, none, call) -> {
          inBackground(() -> {
            for (int i = 0; i < 500 && !(ticket.poll() instanceof Ticket.Granted); i++) {
              Thread.sleep(10);
            }
          });
          return null;
        })));
  }

  @Test
  void aFailureOfWhoAsksUnderAnotherThreadIsCaught() {
    AtomicInteger asking = new AtomicInteger();
    assertCaught(
        "L-6.1 whileAnotherLocalThreadGetsTheLockItIsBusy",
        "another thread asks",
        locks("tryLock", (real, arguments, call) -> {
          try {
            if (asking.getAndIncrement() > 0) {
              throw new LockStoreException("", "another thread asks", null);
            }
            return call.proceed(arguments);
          } finally {
            asking.decrementAndGet();
          }
        }));
  }

  @Test
  void aQuestionThatFailsUnderAnotherThreadIsCaughtIfItIsCalledBusy() {
    AtomicInteger asking = new AtomicInteger();
    assertCaught(
        "L-6.3 whoAsksWhileAQuestionIsOnItsWayThatFailsIsNotToldBusy",
        "what tryLock() ends with",
        locks("tryLock", (real, arguments, call) -> {
          boolean another = asking.getAndIncrement() > 0;
          try {
            return call.proceed(arguments);
          } catch (LockStoreException e) {
            if (another && arguments.length == 0) {
              return Optional.empty();
            }
            throw e;
          } finally {
            asking.decrementAndGet();
          }
        }));
  }

  @Test
  void aWaitThatFailsUnderAReleaseIsCaughtIfItIsCalledBusy() {
    assertCaught(
        "L-6.3 whoWaitsWhileAReleaseHangsAndFailsIsNotToldBusy",
        "what a wait ends with while the release hangs",
        locks("tryLock", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (LockStoreException e) {
            if (arguments.length == 1) {
              return Optional.empty();
            }
            throw e;
          }
        }));
  }

  @Test
  void anAcquireThatDoesNotNoticeTheSleepIsCaught() {
    assertCaught(
        "L-6.13 tryLockGetsNothingThatWasTakenWhileTheMachineSlept",
        "what tryLock() gives while another client has the lock",
        BrokenFixture.blindToTheWallClock());
  }

  @Test
  void aWaitThatDoesNotNoticeTheSleepIsCaught() {
    assertCaught(
        "L-6.13 aLockThatWasTakenWhileTheMachineSleptIsAskedForAgain",
        "lock() returns while another client has the lock",
        BrokenFixture.blindToTheWallClock());
  }

  @Test
  void anAcquireThatReturnsALeaseInDoubtIsCaught() {
    Set<Long> asked = ConcurrentHashMap.newKeySet();
    assertCaught(
        "L-6.13 whatAnAcquireReturnsIsHeldEvenIfTheMachineSleptMeanwhile",
        "isHeld() of what",
        leases(
            "isHeld",
            (lease, arguments, call) -> !asked.add(((Lease) lease).token()) && lease.isHeld()));
  }

  @Test
  void aClientThatTakesItsOwnLostAttemptForAnotherHolderIsCaught() {
    Set<String> lost = ConcurrentHashMap.newKeySet();
    assertCaught(
        "L-6.14 aNameIsNotBusyBecauseOfAnAttemptWhoseAnswerWasLost",
        "while the earlier attempt can't be withdrawn",
        locks("tryLock", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (LockStoreException e) {
            if (lost.add(((DistributedLock) real).name())) {
              throw e;
            }
            return Optional.empty();
          }
        }));
  }

  // ---- release

  @Test
  void aReleaseByNameAloneIsCaught() {
    assertCaught(
        "L-7.2 releasingAGrantThatIsOverLeavesItsSuccessorAlone",
        "the release of a grant that has a successor",
        BrokenFixture.releasingByName());
  }

  @Test
  void aCloseThatHidesTheLossIsCaught() {
    assertCaught(
        "L-7.2 closingALostLeaseTellsAndLeavesTheNextHolderAlone",
        "close() of a lease that was lost",
        leases("close", without(LockLostException.class)));
  }

  @Test
  void aReleaseThatForgetsTheMinimumHoldIsCaught() {
    assertCaught(
        "L-7.5 minHoldKeepsTheNameTakenAfterAnEarlyClose",
        "from the acquire with minHold to the next grant",
        store(in(
            "release",
            (LockStore real, Grant grant, Duration holdFor) ->
                real.release(grant, holdFor.dividedBy(2)))));
  }

  // ---- tokens, loss, guards

  @Test
  void tokensThatRepeatAreCaught() {
    Map<LockKey, Long> numbers = new ConcurrentHashMap<>();
    assertCaught(
        "L-8.1 tokensRiseWithEveryGrant",
        "tokens in the order of the grants",
        store(
            new OtherGrants() {
              @Override
              Changed told(Grant real, Claim claim, Duration took) {
                long number = numbers.computeIfAbsent(claim.key(), key -> real.number());
                return new Changed(real, claim, number, real.validFor());
              }
            }.andThen(in(
                "forceRelease",
                (LockStore real, LockKey key, Long number) ->
                    real.forceRelease(key, real.inspect(key).orElseThrow().number())))));
  }

  @Test
  void aHandOffThatKeepsTheTokenIsCaught() {
    assertCaught(
        "L-8.2 aHandOffWithinAClientRaisesTheToken",
        "tokens in the order in which threads of one client had the lock",
        leases("token", (lease, arguments, call) -> ((Lease) lease).token() & ~1023L));
  }

  @Test
  void aLateListenerThatIsForgottenIsCaught() {
    assertCaught(
        "L-8.5 aListenerThatComesLateIsToldAtOnce",
        "the late listener is told",
        leases(
            "onLost", (lease, arguments, call) -> lease.isHeld() ? call.proceed(arguments) : null));
  }

  @Test
  void aFailedRenewalThatIsReportedAsDoneIsCaught() {
    assertCaught(
        "L-8.7 aLeaseThatCannotBeRenewedIsLostAtItsDeadline",
        "the lease is no longer held",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          try {
            return real.renew(grants);
          } catch (StoreException e) {
            return grants.stream()
                .map(grant -> new Renewal.Renewed(grant.validFor()))
                .toList();
          }
        })));
  }

  @Test
  void aVerifyThatAsksNobodyIsCaught() {
    assertCaught(
        "L-8.8 verifyAsksTheStore",
        "verify() of a lease that the store no longer shows",
        engine(in("verify", (LockStore real, Grant grant) -> Optional.of(grant.validFor()))));
  }

  @Test
  void aDoubtThatIsCalledALossIsCaught() {
    assertCaught(
        "L-8.14 ensureHeldAsksTheStoreAboutALeaseInDoubt",
        "ensureHeld() of a lease in doubt that stands at the store",
        leases("ensureHeld", (lease, arguments, call) -> {
          if (!lease.isHeld()) {
            Lease one = (Lease) lease;
            throw new LockLostException(one.name(), one.token(), LeaseLoss.Reason.EXPIRED);
          }
          return null;
        }));
  }

  @Test
  void aDoubtThatIsOverlookedIsCaught() {
    assertCaught(
        "L-8.14 ensureHeldAsksTheStoreAboutALeaseInDoubt",
        "ensureHeld() of a lease that the store no longer shows",
        BrokenFixture.blindToTheWallClock());
  }

  @Test
  void aDoubtThatNobodyCouldSettleIsCaughtIfItIsTrusted() {
    assertCaught(
        "L-8.14 ensureHeldWithoutAnAnswerAboutALeaseInDoubtIsNoAnswer",
        "ensureHeld() of a lease in doubt without a way to the store",
        leases("ensureHeld", without(LockStoreException.class)));
  }

  @Test
  void aGuardThatChecksThenWritesIsCaught() {
    assertCaught(
        "L-8.10 checkAndWriteAreOneStep",
        "the writes, where the lease ran out between check and write",
        guard((real, log, lease, beforeEffect) -> {
          real.append(log, lease, "checked");
          beforeEffect.run();
        }));
  }

  @Test
  void aGuardThatTakesAnyLeaseIsCaught() {
    assertCaught(
        "L-8.13 aGuardRefusesAForeignLease",
        "a guarded write by a lease that no client gave",
        guard((real, log, lease, beforeEffect) -> lease.verify()));
  }

  // ---- outages

  @Test
  void aServerThatForgetsTheHolderWhenItIsKilledIsCaught() {
    assertCaught(
        "L-9.3 aServerThatWasKilledStillKnowsTheHolder",
        "Unsafe: the lease from before the kill and that of another client are held",
        new BrokenFixture().withRestart(store -> {
          for (StoredLock held : store.list(LockKind.MUTEX, "", 100)) {
            boolean unused = store.forceRelease(held.key(), held.holder().number());
          }
        }));
  }

  @Test
  void aServerThatCountsFromOneWhenItIsKilledIsCaught() {
    AtomicBoolean killed = new AtomicBoolean();
    assertCaught(
        "L-9.3 tokensRiseOverARestartOfTheServer",
        "a token after the restart",
        store(new OtherGrants() {
              @Override
              Changed told(Grant real, Claim claim, Duration took) {
                return new Changed(real, claim, killed.get() ? 1 : real.number(), claim.ttl());
              }
            })
            .withRestart(store -> killed.set(true)));
  }

  @Test
  void aRenewalThatNobodyConfirmedIsCaught() {
    assertCaught(
        "L-9.4 aServerThatAnswersNobodyForLongerThanTheTtlCostsTheLeaseAndNothingElse",
        "the lease ends at its deadline",
        engine(OtherGrants.renewingNothing()));
  }

  @Test
  void aRenewalWithoutAnAnswerThatCountsAsALossIsCaught() {
    assertCaught(
        "L-9.4 aShortPauseOfTheServerCostsNothing",
        "the lease ends",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          try {
            return real.renew(grants);
          } catch (StoreException e) {
            return grants.stream().map(grant -> new Renewal.Lost()).toList();
          }
        })));
  }

  // ---- a slow store

  @Test
  void aStoreThatGivesUpAnAcquireBeforeItsTimeIsCaught() {
    assertCaught(
        "L-9.7 aStoreThatAnswersLateCostsTimeAndNothingElse",
        "gave up",
        engine(in("tryAcquire", (LockStore real, Claim claim) -> {
          long beganNanos = System.nanoTime();
          Optional<Grant> grant = real.tryAcquire(claim);
          if (System.nanoTime() - beganNanos > TimeUnit.SECONDS.toNanos(1)) {
            throw StoreException.unanswered("gave up", null);
          }
          return grant;
        })));
  }

  @Test
  void aStoreThatGivesUpARenewalBeforeItsTimeIsCaught() {
    assertCaught(
        "L-9.7 aStoreThatAnswersLateCostsTimeAndNothingElse",
        "the lease is renewed",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          long beganNanos = System.nanoTime();
          List<Renewal> renewals = real.renew(grants);
          if (System.nanoTime() - beganNanos > TimeUnit.SECONDS.toNanos(1)) {
            throw StoreException.unanswered("gave up", null);
          }
          return renewals;
        })));
  }

  @Test
  void aStoreThatOpensAConnectionForEachLateAnswerIsCaught() {
    assertCaught(
        "L-9.7 aStoreThatAnswersLateCostsTimeAndNothingElse",
        "connections that were opened since answers came late",
        BrokenFixture.withoutPool());
  }

  @Test
  void aConnectionForEachThreadThatWaitsIsCaught() {
    assertCaught(
        "L-10.12 waitingThreadsHaveAFewConnectionsAndAskRarelyHoweverManyTheyAre",
        "connections of 150 threads",
        BrokenFixture.withoutPool());
  }

  @Test
  void aPollOfEachThreadThatWaitsIsCaught() {
    Duration often = Duration.ofMillis(500);
    assertCaught(
        "L-10.12 waitingThreadsHaveAFewConnectionsAndAskRarelyHoweverManyTheyAre",
        "requests a second",
        engine(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
          Acquisition acquisition = real.acquireOrQueue(claim, wakeUp);
          return acquisition instanceof Acquisition.Queued queued
              ? new Acquisition.Queued(
                  Decorator.with(Ticket.class, queued.ticket(), "poll", (ticket, none, call) -> {
                    Ticket.Status status = ticket.poll();
                    return status instanceof Ticket.Waiting ? new Ticket.Waiting(often) : status;
                  }),
                  often)
              : acquisition;
        })));
  }

  // ---- close, and the kit itself

  @Test
  void aClientThatDoesNotCloseIsCaught() {
    assertCaught(
        "L-10.1 closingAClientLosesItsLeasesAndFreesTheirLocks",
        "isHeld() after the client was closed",
        client("close", (real, arguments, call) -> null));
  }

  @Test
  void aThreadThatInheritsThreadLocalsIsCaught() {
    assertCaught(
        "L-10.13 aThreadOfAClientInheritsNoThreadLocals",
        "started a thread that inherited thread locals",
        store(in("tryAcquire", (LockStore real, Claim claim) -> {
          new Thread(() -> {}, "heir").start();
          return real.tryAcquire(claim);
        })));
  }

  @Test
  void aWaitThatNobodyIsToldOfIsCaught() {
    assertCaught(
        "L-10.9 aListenerIsToldOnceThatACallerWaits",
        "the listener is told 'first waits'",
        store(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
          // Waits in the request.
          for (int i = 0; i < 1_000; i++) {
            Optional<Grant> grant = real.tryAcquire(claim);
            if (grant.isPresent()) {
              return new Acquisition.Granted(grant.get());
            }
            Thread.sleep(10);
          }
          return real.acquireOrQueue(claim, wakeUp);
        })));
  }

  @Test
  void aRenewalThatNobodyIsToldOfIsCaught() {
    assertCaught(
        "L-10.9 aListenerIsToldThatALeaseWasRenewedOrExtended",
        "the listener is told of two renewals",
        engine(in("renew", (LockStore real, List<Grant> grants) -> {
          throw StoreException.refused("renewals are not answered", null);
        })));
  }

  @Test
  void aFixtureThatDeclaresMoreThanItDeliversIsCaught() {
    for (Capability capability :
        EnumSet.complementOf(EnumSet.copyOf(new InMemoryFixture().capabilities()))) {
      assertCaught(
          "L-11.1 theFixtureDeliversWhatItDeclares",
          capability.name() + ":",
          new InMemoryFixture() {
            @Override
            public Set<Capability> capabilities() {
              Set<Capability> declared = EnumSet.copyOf(super.capabilities());
              declared.add(capability);
              return declared;
            }
          });
    }
  }
}
