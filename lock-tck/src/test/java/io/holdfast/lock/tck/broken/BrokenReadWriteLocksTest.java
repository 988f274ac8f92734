package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.GuardedWrites;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Each rule about read-write locks has been seen to fail, on a store or a client with its bug. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
@Tag("one-jdk")
class BrokenReadWriteLocksTest {

  private static Claim changed(Claim claim, LockKey key, Duration ttl, Duration minHold) {
    return new Claim(key, claim.ownerId(), ttl, minHold, claim.holder());
  }

  private static Claim withTtl(Claim claim, Duration ttl) {
    return changed(claim, claim.key(), ttl, claim.minHold());
  }

  private static Claim withKey(Claim claim, LockKind kind, String name) {
    return changed(claim, new LockKey(kind, name), claim.ttl(), claim.minHold());
  }

  private static boolean reads(Claim claim) {
    return claim.key().kind() == LockKind.READ;
  }

  @Test
  void aReadWriteLockWithoutANameIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(Map.of(
            "readWrite",
            (real, arguments, call) -> ((String) arguments[0]).isEmpty()
                ? ((LockClient) real).readWrite("nameless")
                : call.proceed(arguments)))),
        "L-14.1",
        "whatIsNoReadWriteLockIsRefused",
        "readWrite() without a name");
  }

  @Test
  void aWriteLockOfItsOwnIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(Map.of(
            "readWrite",
            (real, arguments, call) ->
                ((LockClient) real).readWrite(arguments[0] + "/rw", (LockOptions) arguments[1])))),
        "L-14.1",
        "theWriteLockIsTheLockOfThatName",
        "the write lock is held");
  }

  /** Readers have a line, numbers and holders of their own: neither kind sees the other. */
  private static BrokenFixture readersApart() {
    return BrokenFixture.store(store -> new GrantDecorator(store) {
      @Override
      Claim asked(Claim claim) {
        return reads(claim) ? withKey(claim, LockKind.READ, claim.key().name() + "/r") : claim;
      }
    });
  }

  @Test
  void aReaderBesideAWriterIsCaught() {
    assertCaught(readersApart(), "L-14.2", "manyReadOrOneWrites", "a writer beside readers");
    assertCaught(readersApart(), "L-14.2", "noReaderIsInsideWithAWriter", "inside with a");
  }

  @Test
  void readersThatExcludeEachOtherAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Claim asked(Claim claim) {
            return withKey(claim, LockKind.MUTEX, claim.key().name());
          }
        }),
        "L-14.2",
        "manyReadOrOneWrites",
        "tryLock() of the free lock");
  }

  @Test
  void aReadersMinimumHoldThatKeepsNobodyOutIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            return super.release(grant, Duration.ZERO);
          }
        }),
        "L-14.2",
        "aReadersMinimumHoldKeepsWritersOutAndLetsReadersIn",
        "not before its time");
  }

  /** A reader that would have to wait gets a place beside the readers that are inside. */
  private static BrokenFixture passingWriters() {
    return BrokenFixture.store(store -> new StoreDecorator(store) {
      @Override
      public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
        Optional<Grant> grant = super.tryAcquire(claim);
        return grant.isPresent() || !reads(claim)
            ? grant
            : super.tryAcquire(withKey(claim, LockKind.READ, claim.key().name() + "/beside"));
      }
    });
  }

  @Test
  void aWaitingWriterThatIsPassedIsCaught() {
    assertCaught(
        passingWriters(),
        "L-14.3",
        "aWaitingWriterKeepsLaterReadersOut",
        "a reader that comes after a waiting writer");
  }

  @Test
  void readersThatEnterOneByOneAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            // In line, readers are like writers.
            Acquisition acquisition = super.acquireOrQueue(claim, wakeUp);
            return acquisition instanceof Acquisition.Queued queued && reads(claim)
                ? new Acquisition.Queued(alone(queued.ticket(), claim), Duration.ofMillis(50))
                : acquisition;
          }

          private Ticket alone(Ticket real, Claim claim) {
            return new TicketDecorator(real) {
              @Override
              public Status poll() throws StoreException {
                return holders(claim.key()).isEmpty()
                    ? super.poll()
                    : new Waiting(Duration.ofMillis(50));
              }
            };
          }
        }),
        "L-14.3",
        "readersThatFollowEachOtherInLineEnterTogether",
        "Another thread was not done within");
  }

  @Test
  void aWriterThatLeavesNoWayBehindItIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            Acquisition acquisition = super.acquireOrQueue(claim, wakeUp);
            return acquisition instanceof Acquisition.Queued queued && !reads(claim)
                ? new Acquisition.Queued(
                    new TicketDecorator(queued.ticket()) {
                      @Override
                      public void close() {
                        // It keeps its place.
                      }
                    },
                    queued.recheckAfter())
                : acquisition;
          }

          @Override
          public void withdraw(Claim claim) {
            // It keeps its place.
          }
        }),
        "L-14.3",
        "aWriterInLineThatGivesUpLetsTheReadersBehindItIn",
        "Another thread was not done within");
  }

  @Test
  void aWriterThatStarvesIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
            if (reads(claim)) {
              return super.acquireOrQueue(claim, wakeUp);
            }
            // It has no place in line, and finds readers inside whenever it looks.
            return new Acquisition.Queued(
                new Ticket() {
                  @Override
                  public Status poll() {
                    return new Waiting(Duration.ofMillis(50));
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
                Duration.ofMillis(50));
          }
        }),
        "L-14.3",
        "aWriterGetsItsTurnAmongReadersThatNeverPause",
        "a writer's turn");
  }

  @Test
  void aCrashedReaderThatBlocksForEverIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Claim asked(Claim claim) {
            return withTtl(claim, Duration.ofDays(1));
          }
        }),
        "L-14.4",
        "aCrashedReaderKeepsWritersOutForItsOwnCrashBound",
        "the crashed reader's time is over");
  }

  @Test
  void aCrashedReaderThatOthersRenewIsCaught() {
    Map<String, Set<Grant>> granted = new ConcurrentHashMap<>();
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            Optional<Grant> grant = super.tryAcquire(claim);
            grant.ifPresent(got -> {
              boolean unused = granted
                  .computeIfAbsent(claim.key().name(), name -> ConcurrentHashMap.newKeySet())
                  .add(got);
            });
            return grant;
          }

          @Override
          public List<Renewal> renew(List<Grant> grants) throws StoreException {
            for (Grant grant : grants) {
              // The readers of a name have one end.
              List<Renewal> unused = super.renew(
                  List.copyOf(granted.getOrDefault(grant.claim().key().name(), Set.of(grant))));
            }
            return super.renew(grants);
          }
        }),
        "L-14.4",
        "aCrashedReaderKeepsWritersOutForItsOwnCrashBound",
        "the crashed reader's time is over");
  }

  @Test
  void aReleaseThatCountsDownIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
            if (super.release(grant, holdFor) == ReleaseOutcome.RELEASED) {
              return ReleaseOutcome.RELEASED;
            }
            for (StoredHolder holder : holders(grant.claim().key())) {
              boolean unused = forceRelease(grant.claim().key(), holder.number());
              return ReleaseOutcome.RELEASED;
            }
            return ReleaseOutcome.ALREADY_LOST;
          }
        }),
        "L-14.5",
        "aSecondReleaseFreesNoOtherReader",
        "a second release of the same grant");
  }

  @Test
  void aWithdrawalThatCountsDownIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public void withdraw(Claim claim) throws StoreException {
            super.withdraw(claim);
            for (StoredHolder holder : holders(claim.key())) {
              boolean unused = forceRelease(claim.key(), holder.number());
              return;
            }
          }
        }),
        "L-14.5",
        "aSecondReleaseFreesNoOtherReader",
        "another reader's grant");
  }

  @Test
  void numbersOfReadersThatAreNotThoseOfWritersAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new GrantDecorator(store) {
          @Override
          Changed told(Grant real, Claim claim, Duration took) {
            long number = reads(claim) ? real.number() : 1_000_000 + real.number();
            return new Changed(real, claim, number, claim.ttl());
          }
        }),
        "L-14.6",
        "tokensRiseOverReadersAndWriters",
        "a reader's token");
  }

  @Test
  void readersThatAskOneByOneAreCaught() {
    assertCaught(
        BrokenFixture.settings(builder -> builder.localHandOff(false)),
        "L-14.7",
        "readersOfOneClientShareWhatOneOfThemGot",
        "requests for 8 read leases that were asked for together");
  }

  @Test
  void aReaderWhoseCloseEndsTheOthersIsCaught() {
    assertCaught(
        BrokenFixture.client(readingThrough(read -> {
          // All of a client's readers have one lease, which the first close ends.
          Map<String, Lease> shared = new ConcurrentHashMap<>();
          return ClientDecorator.lock(read, Map.of("tryLock", (real, arguments, call) -> {
            Lease lease = shared.get("lease");
            if (lease == null || !lease.isHeld()) {
              lease = ((DistributedLock) real).tryLock().orElseThrow();
              shared.put("lease", lease);
            }
            return Optional.of(lease);
          }));
        })),
        "L-14.7",
        "theLastReaderThatClosesFreesTheLock",
        "the other reader's lease");
  }

  @Test
  void aLossThatIsToldToOneReaderIsCaught() {
    Set<String> told = ConcurrentHashMap.newKeySet();
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of(
            "onLost",
            (real, arguments, call) ->
                told.add(((Lease) real).name()) ? call.proceed(arguments) : null))),
        "L-14.7",
        "eachReaderIsToldThatWhatTheyShareIsLost",
        "both are told");
  }

  @Test
  void aWriterOfTheSameClientThatIsPassedIsCaught() {
    assertCaught(
        passingWriters(),
        "L-14.7",
        "aWriterOfTheSameClientComesBeforeLaterReaders",
        "a reader that comes after a waiting writer of its client");
  }

  @Test
  void aReaderThatWaitsBehindAWriterThatWaitsForItIsCaught() {
    assertCaught(
        BrokenFixture.client(readingWith(options -> options.withOwnership(Ownership.LEASE))),
        "L-14.8",
        "aReaderReadsAgainWhoeverWaits",
        "a reader that reads again");
  }

  @Test
  void aReaderWithinAWriterThatLetsOthersInIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
            return reads(claim)
                ? super.tryAcquire(withKey(claim, LockKind.READ, claim.key().name() + "/r"))
                : super.tryAcquire(claim);
          }
        }),
        "L-14.8",
        "aWriterMayReadAndStaysAloneMeanwhile",
        "a reader, while a reader within a writer is left");
  }

  @Test
  void anUpgradeThatWaitsIsCaught() {
    assertCaught(
        BrokenFixture.client(readingWith(options -> options.withOwnership(Ownership.LEASE))),
        "L-14.9",
        "aReaderThatAsksForTheWriteLockIsRefused",
        "the write lock, for a thread that owns the read lock");
  }

  @Test
  void readersOfWhichOneIsShownAreCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredHolder> holders(LockKey key) throws StoreException {
            return super.holders(key).stream().limit(1).toList();
          }
        }),
        "L-14.10",
        "whoReadsIsShownAndOneOfThemCanBeSentOut",
        "holders()");
  }

  @Test
  void aNameThatIsListedForEachReaderIsCaught() {
    assertCaught(
        BrokenFixture.store(store -> new StoreDecorator(store) {
          @Override
          public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
              throws StoreException {
            List<StoredLock> listed = super.list(kind, namePrefix, limit);
            return listed.stream()
                .flatMap(lock -> {
                  try {
                    return holders(lock.key()).stream()
                        .map(holder -> new StoredLock(lock.key(), holder, lock.waiting()));
                  } catch (StoreException e) {
                    throw new AssertionError(e);
                  }
                })
                .toList();
          }
        }),
        "L-14.10",
        "whoReadsIsShownAndOneOfThemCanBeSentOut",
        "list() of a name with two readers");
  }

  @Test
  void aForcedReleaseOfAllReadersIsCaught() {
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

          @Override
          public Optional<Duration> verify(Grant grant) {
            return Optional.of(grant.claim().ttl());
          }
        }),
        "L-14.10",
        "whoReadsIsShownAndOneOfThemCanBeSentOut",
        "verify() after forceRelease()");
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
        "L-14.11",
        "aFreeReadIsTwoRequests",
        "acquire and release of a read lock");
  }

  @Test
  void aGuardThatLooksForAnyReaderIsCaught() {
    assertCaught(
        BrokenFixture.guard(real -> new GuardedWrites() {
          private final Map<String, List<String>> logs = new ConcurrentHashMap<>();

          @Override
          public void create(String log) {
            logs.put(log, new CopyOnWriteArrayList<>());
          }

          @Override
          public void append(String log, Lease lease, String entry, Step beforeEffect) {
            // Somebody reads.
            boolean unused = logs.get(log).add(entry);
          }

          @Override
          public List<String> read(String log) {
            return logs.get(log);
          }
        }),
        "L-14.12",
        "aGuardChecksTheReadersOwnGrant",
        "a guarded write under a lost read lease");
  }

  @Test
  void aReadWriteLockOfTwoWriteLocksIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofClient(
            Map.of("readWrite", (real, arguments, call) -> {
              DistributedReadWriteLock lock = (DistributedReadWriteLock) call.proceed(arguments);
              return new WithReads(lock, lock.write());
            }))),
        "L-14.13",
        "asReadWriteLockIsOwnedByThreads",
        "tryLock() of the free lock");
  }

  /** A client whose readers read through something else. */
  private static UnaryOperator<LockClient> readingThrough(UnaryOperator<DistributedLock> change) {
    return ClientDecorator.ofClient(Map.of("readWrite", (real, arguments, call) -> {
      DistributedReadWriteLock lock = (DistributedReadWriteLock) call.proceed(arguments);
      return new WithReads(lock, change.apply(lock.read()));
    }));
  }

  private static UnaryOperator<LockClient> readingWith(UnaryOperator<LockOptions> change) {
    return readingThrough(read -> read.with(change.apply(read.options())));
  }

  private record WithReads(DistributedReadWriteLock real, DistributedLock read)
      implements DistributedReadWriteLock {
    @Override
    public String name() {
      return real.name();
    }

    @Override
    public LockOptions options() {
      return real.options();
    }

    @Override
    public DistributedReadWriteLock with(LockOptions options) {
      return real.with(options);
    }

    @Override
    public DistributedLock write() {
      return real.write();
    }

    @Override
    public ReadWriteLock asReadWriteLock() {
      return new AsLocks(read.asLock(), real.write().asLock());
    }
  }

  private record AsLocks(Lock readLock, Lock writeLock) implements ReadWriteLock {}
}
