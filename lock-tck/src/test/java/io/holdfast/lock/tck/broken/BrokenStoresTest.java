package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Each rule has been seen to fail: on a store, an engine or a guard with the bug that it is for.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
@Tag("one-jdk")
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
                    new GrantDecorator.Changed(null, claim, Long.MAX_VALUE >>> 11, claim.ttl()));
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

  // ---- TTL and renewal

  @Test
  void aTtlThatNeverEndsIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new TtlChanger(store, Duration.ofHours(1))),
        "L-4.1",
        "aGrantWhoseHolderIsGoneEnds",
        "The lock did not become free");
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
        BrokenFixture.engine(CountsFromTheReply::new),
        "L-4.3",
        "theDeadlineCountsFromBeforeTheRequestWasSent",
        "remaining() of a lease whose grant travelled for");
  }

  @Test
  void aRenewedDeadlineCountedFromTheReplyIsCaught() {
    assertCaught(
        BrokenFixture.engine(CountsFromTheReply::new),
        "L-4.3",
        "aRenewedDeadlineCountsFromBeforeTheRenewalWasSent",
        "remaining() is above the TTL less what the answer to the renewal took");
  }

  private static final class CountsFromTheReply extends GrantDecorator {
    CountsFromTheReply(LockStore store) {
      super(store);
    }

    @Override
    Changed told(Grant real, Claim claim, Duration took) {
      return new Changed(real, claim, real.number(), real.validFor().plus(took));
    }

    @Override
    Duration told(Duration validFor, Duration took) {
      return validFor.plus(took);
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
    Changed told(Grant real, Claim claim, Duration took) {
      return new Changed(real, claim, real.number(), told(real.validFor(), took));
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
