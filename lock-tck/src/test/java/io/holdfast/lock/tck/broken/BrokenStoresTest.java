package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
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
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Each rule has been seen to fail: on a store, an engine or a guard with the bug that it is for.
 */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenStoresTest {

  // ---- names

  @Test
  void aStoreThatIgnoresCaseAndSpacesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new NameChanger(store) {
          @Override
          String changed(String name) {
            return name.strip().toLowerCase(Locale.ROOT);
          }
        }),
        "L-1.2",
        "namesThatDifferInAnyWayAreDifferentLocks",
        "while only names that differ from it are held");
  }

  @Test
  void aStoreThatCutsLongNamesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new NameChanger(store) {
          @Override
          String changed(String name) {
            return name.length() > 191 ? name.substring(0, 191) : name;
          }
        }),
        "L-1.3",
        "aLongNameIsNeverCutShort",
        "tryLock() of the free lock");
  }

  private abstract static class NameChanger extends GrantDecorator {
    NameChanger(LockStore store) {
      super(store);
    }

    abstract String changed(String name);

    private LockKey changed(LockKey key) {
      return new LockKey(key.kind(), changed(key.name()));
    }

    @Override
    Claim asked(Claim claim) {
      return new Claim(
          changed(claim.key()), claim.ownerId(), claim.ttl(), claim.minHold(), claim.holder());
    }

    @Override
    public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
      return super.inspect(changed(key));
    }

    @Override
    public boolean forceRelease(LockKey key, long number) throws StoreException {
      return super.forceRelease(changed(key), number);
    }
  }

  // ---- exclusion

  @Test
  void aStoreWithoutExclusionIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            Optional<Grant> grant = super.tryAcquire(claim);
            return grant.isPresent()
                ? grant
                : Optional.of(
                    new GrantDecorator.Changed(null, claim, Long.MAX_VALUE >>> 11, claim.ttl(), 0));
          }
        }),
        "L-2.1",
        "anotherClientIsRefusedWhileTheLockIsHeld",
        "held by the first client: tryLock() by another client");
  }

  @Test
  void anAcquireThatChecksThenWritesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            if (inspect(claim.key()).isPresent()) {
              return Optional.empty();
            }
            sleep(20);
            Optional<StoredHolder> overwritten = inspect(claim.key());
            if (overwritten.isPresent()) {
              forceRelease(claim.key(), overwritten.get().number());
            }
            return super.tryAcquire(claim);
          }
        }),
        "L-2.1",
        "ofManyClientsThatAskAtOnceOnlyOneGetsIt",
        "leases of one name, asked for at once by many clients");
  }

  @Test
  void aForcedReleaseByNameAloneIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public boolean forceRelease(LockKey key, long number) throws StoreException {
            Optional<StoredHolder> holder = inspect(key);
            return holder.isPresent() && super.forceRelease(key, holder.get().number());
          }
        }),
        "L-2.7",
        "forceReleaseFreesTheGrantThatWasMeantAndNoOther",
        "an earlier grant's token");
  }

  @Test
  void aListThatTakesThePrefixForAPatternIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new PrefixMatcher(store) {
          @Override
          boolean matches(String name, String prefix) {
            String pattern = Pattern.quote(prefix).replace("%", "\\E.*\\Q").replace("_", "\\E.\\Q");
            return name.matches(pattern + ".*");
          }
        }),
        "L-2.9",
        "aListHasTheHeldLocksThatBeginWithThePrefixAndNoOther",
        "the held locks whose names begin with");
  }

  @Test
  void aListThatIgnoresCaseIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new PrefixMatcher(store) {
          @Override
          boolean matches(String name, String prefix) {
            return name.toLowerCase(Locale.ROOT).startsWith(prefix.toLowerCase(Locale.ROOT));
          }
        }),
        "L-2.9",
        "aListHasTheHeldLocksThatBeginWithThePrefixAndNoOther",
        "the held locks whose names begin with");
  }

  @Test
  void aListThatComparesEscapedNamesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new PrefixMatcher(store) {
          @Override
          boolean matches(String name, String prefix) {
            return escaped(name).startsWith(escaped(prefix));
          }

          private static String escaped(String name) {
            return name.replace("%", "-_25").replace("/", "-_2F");
          }
        }),
        "L-2.9",
        "aListHasTheHeldLocksThatBeginWithThePrefixAndNoOther",
        "the held locks whose names begin with");
  }

  private abstract static class PrefixMatcher extends StoreDecorator {
    PrefixMatcher(LockStore store) {
      super(store);
    }

    abstract boolean matches(String name, String prefix);

    @Override
    public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
        throws StoreException {
      return super.list(kind, "", Integer.MAX_VALUE).stream()
          .filter(lock -> matches(lock.key().name(), namePrefix))
          .limit(limit)
          .toList();
    }
  }

  @Test
  void aListInTheOrderOfTheStoreIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(Map.of("list", (real, arguments, call) -> {
          List<?> listed = new ArrayList<>((List<?>) call.proceed(arguments));
          Collections.reverse(listed);
          return listed;
        }))),
        "L-2.9",
        "aListHasAtMostAsManyLocksAsItIsAskedFor",
        "5 held locks, listed with the limit");
  }

  @Test
  void aListThatKnowsNoLimitIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
              throws StoreException {
            return super.list(kind, namePrefix, Integer.MAX_VALUE);
          }
        }),
        "L-2.9",
        "aListHasAtMostAsManyLocksAsItIsAskedFor",
        "5 held locks, listed with the limit");
  }

  @Test
  void aListWhoseLimitCountsOtherNamesTooIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
              throws StoreException {
            return super.list(kind, "", Integer.MAX_VALUE).stream()
                .sorted(Comparator.comparing(lock -> lock.key().name()))
                .limit(limit)
                .filter(lock -> lock.key().name().startsWith(namePrefix))
                .toList();
          }
        }),
        "L-2.9",
        "aListHasAtMostAsManyLocksAsItIsAskedFor",
        "5 held locks, listed with the limit");
  }

  @Test
  void aListWithGrantsThatAreOverIsCaught() {
    Map<LockKey, StoredLock> rows = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            Optional<Grant> grant = super.tryAcquire(claim);
            Optional<StoredHolder> holder = inspect(claim.key());
            if (grant.isPresent() && holder.isPresent()) {
              rows.put(claim.key(), new StoredLock(claim.key(), holder.get(), OptionalInt.empty()));
            }
            return grant;
          }

          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            rows.remove(grant.claim().key());
            return super.release(grant, holdFor);
          }

          @Override
          public boolean forceRelease(LockKey key, long number) throws StoreException {
            rows.remove(key);
            return super.forceRelease(key, number);
          }

          @Override
          public List<StoredLock> list(LockKind kind, String namePrefix, int limit) {
            return rows.values().stream()
                .filter(lock -> lock.key().name().startsWith(namePrefix))
                .limit(limit)
                .toList();
          }
        }),
        "L-2.9",
        "aListHasNoLockThatIsFree",
        "the one lock that is held, among others that were");
  }

  @Test
  void aListWithoutLocksThatAMinimumHoldKeepsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
              throws StoreException {
            return super.list(kind, namePrefix, limit).stream()
                .filter(lock -> !lock.holder().released())
                .toList();
          }
        }),
        "L-2.9",
        "aListShowsALockThatIsKeptByItsMinimumHoldAsReleased",
        "a lock that was released before its minimum hold was over");
  }

  @Test
  void aRenewalThatLooksLikeAGrantIsCaught() {
    Map<LockKey, Instant> renewed = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new SinceChanger(store) {
          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            grants.forEach(grant -> renewed.put(grant.claim().key(), Instant.now()));
            return super.renew(grants);
          }

          @Override
          Instant since(LockKey key, StoredHolder holder) {
            return renewed.getOrDefault(key, holder.since());
          }
        }),
        "L-2.9",
        "inspectAndListTellSinceWhenALockIsHeld",
        "since() after a renewal");
  }

  @Test
  void aGrantThatIsDatedByAnotherClockIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new SinceChanger(store) {
          @Override
          Instant since(LockKey key, StoredHolder holder) {
            return holder.since().plusSeconds(3_600);
          }
        }),
        "L-2.9",
        "inspectAndListTellSinceWhenALockIsHeld",
        "when the lock was granted");
  }

  private abstract static class SinceChanger extends StoreDecorator {
    SinceChanger(LockStore store) {
      super(store);
    }

    abstract Instant since(LockKey key, StoredHolder holder);

    private StoredHolder changed(LockKey key, StoredHolder holder) {
      return new StoredHolder(
          holder.number(),
          holder.description(),
          since(key, holder),
          holder.remaining(),
          holder.released());
    }

    @Override
    public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
      return super.inspect(key).map(holder -> changed(key, holder));
    }

    @Override
    public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
        throws StoreException {
      return super.list(kind, namePrefix, limit).stream()
          .map(lock ->
              new StoredLock(lock.key(), changed(lock.key(), lock.holder()), lock.waiting()))
          .toList();
    }
  }

  // ---- TTL and renewal

  @Test
  void aTtlThatNeverEndsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new TtlChanger(store, Duration.ofHours(1))),
        "L-4.1",
        "aGrantWhoseHolderIsGoneEnds",
        "the lock becomes free for another client");
  }

  @Test
  void aTtlThatEndsEarlyIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new TtlChanger(store, Duration.ofMillis(300))),
        "L-4.2",
        "theStoreKeepsAGrantForAsLongAsItSaid",
        "from before the first acquire to the next grant");
  }

  private static final class TtlChanger extends GrantDecorator {
    private final Duration ttl;

    TtlChanger(LockStore store, Duration ttl) {
      super(store);
      this.ttl = ttl;
    }

    @Override
    Claim asked(Claim claim) {
      return new Claim(claim.key(), claim.ownerId(), ttl, claim.minHold(), claim.holder());
    }
  }

  @Test
  void aDeadlineCountedFromTheReplyIsCaught() {
    assertCaught(
        countingFromTheReply(),
        "L-4.3",
        "theDeadlineCountsFromBeforeTheRequestWasSent",
        "remaining() of a lease whose grant travelled for");
  }

  @Test
  void aRenewedDeadlineCountedFromTheReplyIsCaught() {
    assertCaught(
        countingFromTheReply(),
        "L-4.3",
        "aRenewedDeadlineCountsFromBeforeTheRenewalWasSent",
        "remaining() is above the TTL less what the answer to the renewal took");
  }

  /** An engine whose clocks stand still during a request counts from its answer. */
  private static BrokenFixture countingFromTheReply() {
    RewoundTime time = new RewoundTime();
    return BrokenFixture.engine(
        store -> new GrantDecorator(store) {
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
        },
        builder -> builder.timeSource(time));
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
        BrokenFixture.engine(PromisesTooMuch::new),
        "L-4.4",
        "theHolderNeverBelievesLongerThanTheStore",
        "the local deadline is after the store's");
  }

  @Test
  void aStoreThatKeepsAHandedOverGrantForLessThanItSaysIsCaught() {
    assertCaught(
        BrokenFixture.engine(PromisesTooMuchToWaiters::new),
        "L-4.4",
        "whoWaitedForALeaseNeverBelievesLongerThanTheStore",
        "the local deadline is after the store's");
  }

  private static class PromisesTooMuch extends GrantDecorator {
    PromisesTooMuch(LockStore store) {
      super(store);
    }

    @Override
    Claim asked(Claim claim) {
      return new Claim(
          claim.key(), claim.ownerId(), claim.ttl().dividedBy(2), claim.minHold(), claim.holder());
    }

    @Override
    Duration told(Duration validFor, Duration took) {
      return validFor.multipliedBy(2);
    }
  }

  /** And tells them without being asked. */
  private static final class PromisesTooMuchToWaiters extends PromisesTooMuch {
    PromisesTooMuchToWaiters(LockStore store) {
      super(store);
    }

    @Override
    public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
      Acquisition acquisition = super.acquireOrQueue(claim, wakeUp);
      return acquisition instanceof Acquisition.Queued queued
          ? new Acquisition.Queued(new Telling(queued.ticket()), queued.recheckAfter())
          : acquisition;
    }

    private static final class Telling extends TicketDecorator {
      private Telling(Ticket ticket) {
        super(ticket);
      }

      @Override
      public Optional<Grant> handedOver() {
        try {
          return poll() instanceof Granted granted
              ? Optional.of(granted.grant())
              : Optional.empty();
        } catch (StoreException e) {
          throw new AssertionError("The store in memory does not fail", e);
        }
      }
    }
  }

  @Test
  void aRenewalThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            List<Renewal> results = new ArrayList<>(super.renew(grants));
            for (int i = 0; i < results.size(); i++) {
              if (results.get(i) instanceof Renewal.Lost
                  && tryAcquire(grants.get(i).claim()).isPresent()) {
                results.set(i, new Renewal.Renewed(grants.get(i).claim().ttl()));
              }
            }
            return results;
          }
        }),
        "L-5.2",
        "anExpiredGrantIsNotRevived",
        "the renewal of an expired grant");
  }

  @Test
  void aLateRenewalThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            List<Renewal> results = super.renew(grants);
            for (Grant grant : grants) {
              Optional<Grant> unused = tryAcquire(grant.claim());
            }
            return results;
          }
        }),
        "L-5.2",
        "aRenewalThatArrivesLateRevivesNothing",
        "a late renewal revives the lease");
  }

  @Test
  void aRenewalThatExtendsASuccessorIsCaught() {
    Map<LockKey, Grant> owners = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            Optional<Grant> grant = super.tryAcquire(claim);
            grant.ifPresent(owner -> owners.put(claim.key(), owner));
            return grant;
          }

          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            List<Renewal> byName = super.renew(
                grants.stream().map(grant -> owners.get(grant.claim().key())).toList());
            return byName.isEmpty() ? byName : super.renew(grants);
          }
        }),
        "L-5.3",
        "aRenewalNeverExtendsASuccessor",
        "the successor's time after a renewal by its predecessor");
  }

  @Test
  void renewalAfterReleaseIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            ReleaseOutcome outcome = super.release(grant, holdFor);
            inBackground(() -> {
              for (int i = 0; i < 3; i++) {
                sleep(500);
                super.renew(List.of(grant));
              }
            });
            return outcome;
          }
        }),
        "L-5.4",
        "renewalStopsAtRelease",
        "grants that were renewed after their release");
  }

  @Test
  void aRenewalThatExtendsTheMinimumHoldIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            if (holdFor.isZero()) {
              return super.release(grant, holdFor);
            }
            inBackground(() -> {
              for (int i = 0; i < 3; i++) {
                sleep(1_000);
                super.renew(List.of(grant));
              }
            });
            return ReleaseOutcome.RELEASED;
          }
        }),
        "L-5.4",
        "nothingMovesTheEndOfAReleasedLease",
        "the end of the minimum hold moves");
  }

  @Test
  void anExtensionThatTheStoreForgetsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
            return super.verify(grant).map(left -> ttl);
          }
        }),
        "L-5.8",
        "anExtendedLeaseIsHeldForItsNewTimeAndNotForEver",
        "the extended lease ends, or another client gets the lock");
  }

  @Test
  void anExtensionByTheFirstTtlAgainIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
            return super.extend(grant, grant.claim().ttl());
          }
        }),
        "L-5.8",
        "anExtendedLeaseIsHeldForItsNewTimeAndNotForEver",
        "the extended lease ends, or another client gets the lock");
  }

  @Test
  void anExtensionThatShortensIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
            Optional<Duration> left = super.extend(grant, ttl);
            inBackground(() -> {
              sleep(ttl.toMillis());
              forceRelease(grant.claim().key(), grant.number());
            });
            return left;
          }
        }),
        "L-5.8",
        "anExtensionNeverShortens",
        "the lease ends sooner than without its extension");
  }

  @Test
  void anExtensionThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        BrokenFixture.store(RevivingExtension::new),
        "L-5.8",
        "anExtensionRevivesNothingAndTouchesNoSuccessor",
        "the extension of an expired grant");
  }

  @Test
  void aLateExtensionThatRevivesAnExpiredLeaseIsCaught() {
    assertCaught(
        BrokenFixture.store(RevivingExtension::new),
        "L-5.8",
        "anExtensionThatArrivesLateRevivesNothing",
        "a late extension revives the lease");
  }

  private static final class RevivingExtension extends StoreDecorator {
    RevivingExtension(LockStore store) {
      super(store);
    }

    @Override
    public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
      Optional<Duration> left = super.extend(grant, ttl);
      return left.isPresent() ? left : tryAcquire(grant.claim()).map(revived -> ttl);
    }
  }

  @Test
  void anExtensionThatExtendsASuccessorIsCaught() {
    assertCaught(
        BrokenFixture.store(ExtensionByName::new),
        "L-5.8",
        "anExtensionRevivesNothingAndTouchesNoSuccessor",
        "the successor's time after an extension by its predecessor");
  }

  @Test
  void anExtensionOfAForeignLeaseIsCaught() {
    assertCaught(
        BrokenFixture.store(ExtensionByName::new),
        "L-5.8",
        "extendingALeaseThatWasTakenOrIsOverTellsSoAndTouchesNobody",
        "the time of the next lease after that");
  }

  /** Extends whoever has the lock, whatever it says. */
  private static final class ExtensionByName extends StoreDecorator {
    private static final Map<LockKey, Grant> OWNERS = new ConcurrentHashMap<>();

    ExtensionByName(LockStore store) {
      super(store);
    }

    @Override
    public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
      Optional<Grant> grant = super.tryAcquire(claim);
      grant.ifPresent(owner -> OWNERS.put(claim.key(), owner));
      return grant;
    }

    @Override
    public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
      super.extend(OWNERS.get(grant.claim().key()), ttl);
      return super.extend(grant, ttl);
    }
  }

  @Test
  void anExtensionThatMovesTheEndOfTheMinimumHoldIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
            Optional<StoredHolder> holder = inspect(grant.claim().key());
            if (holder.isPresent() && holder.get().released()) {
              forceRelease(grant.claim().key(), grant.number());
              super.release(super.tryAcquire(grant.claim()).orElseThrow(), ttl);
            }
            return super.extend(grant, ttl);
          }
        }),
        "L-5.8",
        "anExtensionDoesNotMoveTheEndOfAMinimumHold",
        "the rest of the minimum hold after that");
  }

  @Test
  void anExtensionThatHidesTheLossIsCaught() {
    assertCaught(
        BrokenFixture.client(extensionWithout(LockLostException.class)),
        "L-5.8",
        "extendingALeaseThatWasTakenOrIsOverTellsSoAndTouchesNobody",
        "extend() of a lease whose lock was freed by force");
  }

  @Test
  void anExtensionOfRenewedLeasesIsCaught() {
    assertCaught(
        BrokenFixture.client(extensionWithout(IllegalStateException.class)),
        "L-5.8",
        "aRenewedLeaseCannotBeExtended",
        "extend() of a renewed lease");
  }

  @Test
  void anExtensionOfClosedHandlesIsCaught() {
    assertCaught(
        BrokenFixture.client(extensionWithout(IllegalStateException.class)),
        "L-5.8",
        "aClosedHandleCannotBeExtended",
        "extend() of a closed handle");
  }

  @Test
  void anExtensionThatIgnoresWhatIsOutOfRangeIsCaught() {
    assertCaught(
        BrokenFixture.client(extensionWithout(IllegalArgumentException.class)),
        "L-5.8",
        "anExtensionOutOfRangeIsRefusedWithoutARequest",
        "without a way to the store");
  }

  private static UnaryOperator<LockClient> extensionWithout(Class<? extends Exception> check) {
    return ClientDecorator.ofLeases(Map.of("extend", (real, arguments, call) -> {
      try {
        return call.proceed(arguments);
      } catch (Exception e) {
        if (check.isInstance(e)) {
          return null;
        }
        throw e;
      }
    }));
  }

  // ---- waiting

  @Test
  void aStoreFailureThatIsReportedAsBusyIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) {
            try {
              return super.tryAcquire(claim);
            } catch (StoreException e) {
              return Optional.empty();
            }
          }
        }),
        "L-6.3",
        "anUnreachableStoreIsNeitherBusyNorAGrant",
        "tryLock() while connections are refused");
  }

  @Test
  void aLostWakeUpIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            Acquisition acquisition = super.acquireOrQueue(claim, () -> {});
            return acquisition instanceof Acquisition.Queued queued
                ? new Acquisition.Queued(queued.ticket(), Duration.ofHours(1))
                : acquisition;
          }
        }),
        "L-6.4",
        "aWaiterGetsTheLockWhenItIsReleased",
        "Another thread was not done within");
  }

  @Test
  void aWaiterThatLeaksAndIsGrantedLaterIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            Acquisition acquisition = super.acquireOrQueue(claim, wakeUp);
            return acquisition instanceof Acquisition.Queued queued
                ? new Acquisition.Queued(
                    new TicketDecorator(queued.ticket()) {
                      @Override
                      public void close() {
                        inBackground(() -> {
                          for (int i = 0; i < 500; i++) {
                            if (ticket.poll() instanceof Ticket.Granted) {
                              return;
                            }
                            sleep(10);
                          }
                        });
                      }
                    },
                    queued.recheckAfter())
                : acquisition;
          }
        }),
        "L-6.6",
        "whoGaveUpWaitingIsNotGrantedLater",
        "a waiter that gave up is granted the lock");
  }

  @Test
  void aFailureOfWhoAsksUnderAnotherThreadIsCaught() {
    AtomicInteger asking = new AtomicInteger();
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLocks(Map.of("tryLock", (real, arguments, call) -> {
          boolean another = asking.getAndIncrement() > 0;
          try {
            if (another) {
              throw new LockStoreException("", "another thread asks", null);
            }
            return call.proceed(arguments);
          } finally {
            asking.decrementAndGet();
          }
        }))),
        "L-6.1",
        "whileAnotherLocalThreadGetsTheLockItIsBusy",
        "another thread asks");
  }

  @Test
  void aQuestionThatFailsUnderAnotherThreadIsCaughtIfItIsCalledBusy() {
    AtomicInteger asking = new AtomicInteger();
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLocks(Map.of("tryLock", (real, arguments, call) -> {
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
        }))),
        "L-6.3",
        "whoAsksWhileAQuestionIsOnItsWayThatFailsIsNotToldBusy",
        "what tryLock() ends with");
  }

  @Test
  void aWaitThatFailsUnderAReleaseIsCaughtIfItIsCalledBusy() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLocks(Map.of("tryLock", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (LockStoreException e) {
            if (arguments.length == 1) {
              return Optional.empty();
            }
            throw e;
          }
        }))),
        "L-6.3",
        "whoWaitsWhileAReleaseHangsAndFailsIsNotToldBusy",
        "what a wait ends with while the release hangs");
  }

  @Test
  void anAcquireThatDoesNotNoticeTheSleepIsCaught() {
    assertCaught(
        BrokenFixture.settings(BrokenStoresTest::ignoreTheWallClock),
        "L-6.13",
        "tryLockGetsNothingThatWasTakenWhileTheMachineSlept",
        "what tryLock() gives while another client has the lock");
  }

  @Test
  void aWaitThatDoesNotNoticeTheSleepIsCaught() {
    assertCaught(
        BrokenFixture.settings(BrokenStoresTest::ignoreTheWallClock),
        "L-6.13",
        "aLockThatWasTakenWhileTheMachineSleptIsAskedForAgain",
        "lock() returns while another client has the lock");
  }

  @Test
  void anAcquireThatReturnsALeaseInDoubtIsCaught() {
    Set<Long> asked = ConcurrentHashMap.newKeySet();
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of(
            "isHeld",
            (real, arguments, call) ->
                !asked.add(((Lease) real).token()) && (boolean) call.proceed(arguments)))),
        "L-6.13",
        "whatAnAcquireReturnsIsHeldEvenIfTheMachineSleptMeanwhile",
        "isHeld() of what");
  }

  private static void ignoreTheWallClock(LockClientBuilder<?> builder) {
    builder.timeSource(TimeSource.system());
  }

  // ---- release

  @Test
  void aReleaseByNameAloneIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            LockKey key = grant.claim().key();
            Optional<StoredHolder> holder = inspect(key);
            return holder.isPresent() && forceRelease(key, holder.get().number())
                ? ReleaseOutcome.RELEASED
                : ReleaseOutcome.ALREADY_LOST;
          }
        }),
        "L-7.2",
        "releasingAGrantThatIsOverLeavesItsSuccessorAlone",
        "the release of a grant that has a successor");
  }

  @Test
  void aCloseThatHidesTheLossIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of("close", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (LockLostException e) {
            return null;
          }
        }))),
        "L-7.2",
        "closingALostLeaseTellsAndLeavesTheNextHolderAlone",
        "close() of a lease that was lost");
  }

  @Test
  void aReleaseThatForgetsTheMinimumHoldIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            return super.release(grant, holdFor.dividedBy(2));
          }
        }),
        "L-7.5",
        "minHoldKeepsTheNameTakenAfterAnEarlyClose",
        "from the acquire with minHold to the next grant");
  }

  // ---- tokens, loss, guards

  @Test
  void tokensThatRepeatAreCaught() {
    Map<LockKey, Long> numbers = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            long number = numbers.computeIfAbsent(claim.key(), key -> real.number());
            return new Changed(real, claim, number, real.validFor());
          }

          @Override
          public boolean forceRelease(LockKey key, long number) throws StoreException {
            return super.forceRelease(key, inspect(key).orElseThrow().number());
          }
        }),
        "L-8.1",
        "tokensRiseWithEveryGrant",
        "tokens in the order of the grants");
  }

  @Test
  void aHandOffThatKeepsTheTokenIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(
            Map.of("token", (real, arguments, call) -> ((Lease) real).token() & ~1023L))),
        "L-8.2",
        "aHandOffWithinAClientRaisesTheToken",
        "tokens in the order in which threads of one client had the lock");
  }

  @Test
  void aLateListenerThatIsForgottenIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of(
            "onLost",
            (real, arguments, call) -> ((Lease) real).isHeld() ? call.proceed(arguments) : null))),
        "L-8.5",
        "aListenerThatComesLateIsToldAtOnce",
        "the late listener is told");
  }

  @Test
  void aFailedRenewalThatIsReportedAsDoneIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public List<Renewal> renew(List<Grant> grants) {
            try {
              return super.renew(grants);
            } catch (StoreException e) {
              return grants.stream()
                  .<Renewal>map(grant -> new Renewal.Renewed(grant.validFor()))
                  .toList();
            }
          }
        }),
        "L-8.7",
        "aLeaseThatCannotBeRenewedIsLostAtItsDeadline",
        "the lease is no longer held");
  }

  @Test
  void aVerifyThatAsksNobodyIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public Optional<Duration> verify(Grant grant) {
            return Optional.of(grant.validFor());
          }
        }),
        "L-8.8",
        "verifyAsksTheStore",
        "verify() of a lease that the store no longer shows");
  }

  @Test
  void aDoubtThatIsCalledALossIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of(
            "ensureHeld", (real, arguments, call) -> {
              Lease lease = (Lease) real;
              if (!lease.isHeld()) {
                throw new LockLostException(lease.name(), lease.token(), LeaseLoss.Reason.EXPIRED);
              }
              return null;
            }))),
        "L-8.14",
        "ensureHeldAsksTheStoreAboutALeaseInDoubt",
        "ensureHeld() of a lease in doubt that stands at the store");
  }

  @Test
  void aDoubtThatIsOverlookedIsCaught() {
    assertCaught(
        BrokenFixture.settings(BrokenStoresTest::ignoreTheWallClock),
        "L-8.14",
        "ensureHeldAsksTheStoreAboutALeaseInDoubt",
        "ensureHeld() of a lease that the store no longer shows");
  }

  @Test
  void aDoubtThatNobodyCouldSettleIsCaughtIfItIsTrusted() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(
            Map.of("ensureHeld", (real, arguments, call) -> {
              try {
                return call.proceed(arguments);
              } catch (LockStoreException e) {
                return null;
              }
            }))),
        "L-8.14",
        "ensureHeldWithoutAnAnswerAboutALeaseInDoubtIsNoAnswer",
        "ensureHeld() of a lease in doubt without a way to the store");
  }

  @Test
  void aGuardThatChecksThenWritesIsCaught() {
    assertCaught(
        BrokenFixture.guard(real -> new GuardedWrites() {
          private final Map<String, List<String>> logs = new HashMap<>();

          @Override
          public void create(String log) throws Exception {
            logs.put(log, new ArrayList<>());
            real.create(log);
          }

          @Override
          public void append(String log, Lease lease, String entry, Step beforeEffect)
              throws Exception {
            real.append(log, lease, entry); // the check
            beforeEffect.run();
            synchronized (logs) {
              logs.get(log).add(entry);
            }
          }

          @Override
          public List<String> read(String log) {
            synchronized (logs) {
              return List.copyOf(logs.get(log));
            }
          }
        }),
        "L-8.10",
        "checkAndWriteAreOneStep",
        "the writes, where the lease ran out between check and write");
  }

  @Test
  void aGuardThatTakesAnyLeaseIsCaught() {
    assertCaught(
        BrokenFixture.guard(real -> new GuardedWrites() {
          private final Map<String, List<String>> logs = new ConcurrentHashMap<>();

          @Override
          public void create(String log) {
            logs.put(log, new ArrayList<>());
          }

          @Override
          public void append(String log, Lease lease, String entry, Step beforeEffect) {
            lease.verify(); // of whatever it is
            logs.get(log).add(entry);
          }

          @Override
          public List<String> read(String log) {
            return logs.get(log);
          }
        }),
        "L-8.13",
        "aGuardRefusesAForeignLease",
        "a guarded write by a lease that no client gave");
  }

  // ---- close, and the kit itself

  @Test
  void aClientThatDoesNotCloseIsCaught() {
    assertCaught(
        BrokenFixture.client(
            ClientDecorator.ofClient(Map.of("close", (real, arguments, call) -> null))),
        "L-10.1",
        "closingAClientLosesItsLeasesAndFreesTheirLocks",
        "isHeld() after the client was closed");
  }

  @Test
  void aWaitThatNobodyIsToldOfIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            // Waits in the request.
            for (int i = 0; i < 1_000; i++) {
              Optional<Grant> grant = tryAcquire(claim);
              if (grant.isPresent()) {
                return new Acquisition.Granted(grant.get());
              }
              sleep(10);
            }
            return super.acquireOrQueue(claim, wakeUp);
          }
        }),
        "L-10.9",
        "aListenerIsToldOnceThatACallerWaits",
        "the listener is told 'first waits'");
  }

  @Test
  void aRenewalThatNobodyIsToldOfIsCaught() {
    assertCaught(
        BrokenFixture.engine(store -> new StoreDecorator(store) {
          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            throw StoreException.refused("renewals are not answered", null);
          }
        }),
        "L-10.9",
        "aListenerIsToldThatALeaseWasRenewedOrExtended",
        "the listener is told of two renewals");
  }

  @Test
  void aFixtureThatDeclaresMoreThanItDeliversIsCaught() {
    for (Capability capability : Capability.values()) {
      InMemoryFixture boastful = new InMemoryFixture() {
        @Override
        public Set<Capability> capabilities() {
          Set<Capability> declared = EnumSet.copyOf(super.capabilities());
          declared.add(capability);
          return declared;
        }
      };
      if (!new InMemoryFixture().capabilities().contains(capability)) {
        assertCaught(
            boastful, "L-11.1", "theFixtureDeliversWhatItDeclares", capability.name() + ":");
      }
    }
  }

  @Test
  void theCorrectStoreHasNoFailures() {
    assertThat(RuleCheck.failures(new InMemoryFixture(), "L-2.1")).isEmpty();
  }

  // ---- helpers

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Body {
    void run() throws StoreException;
  }

  private static void inBackground(Body body) {
    Thread thread = new Thread(() -> {
      try {
        body.run();
      } catch (StoreException e) {
        throw new IllegalStateException(e);
      }
    });
    thread.setDaemon(true);
    thread.start();
  }
}
