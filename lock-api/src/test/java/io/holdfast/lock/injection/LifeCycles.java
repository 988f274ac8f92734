package io.holdfast.lock.injection;

import static io.holdfast.lock.injection.LifeCycle.Trait.CLOSES;
import static io.holdfast.lock.injection.LifeCycle.Trait.HAS_EXECUTOR;
import static io.holdfast.lock.injection.LifeCycle.Trait.LOSES;
import static io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.POLL;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;

/** The life cycles that are played. */
final class LifeCycles {
  private static final Duration SECOND = Duration.ofSeconds(1);

  /** Never handed on locally. */
  private static final LockOptions CAPPED = LockOptions.defaults().withMaxHold(Duration.ofHours(1));

  private static final LockOptions FIXED = LockOptions.fixed(World.TTL);

  private LifeCycles() {}

  static List<LifeCycle> all() {
    return Stream.of(ofOneName(), JointLifeCycles.all(), SemaphoreLifeCycles.all())
        .flatMap(cycles -> cycles)
        .toList();
  }

  private static Stream<LifeCycle> ofOneName() {
    return Stream.of(
        new LifeCycle("tryLock and close", LifeCycles::tryLock),
        new LifeCycle("re-entry", LifeCycles::reentry),
        new LifeCycle("a hand-off", LifeCycles::handOff),
        new LifeCycle("a turn", LifeCycles::turn),
        new LifeCycle("a wait in the store's queue", LifeCycles::storeQueue),
        new LifeCycle("a hand-over by the store", LifeCycles::handOver),
        new LifeCycle("a place that the store lost", LifeCycles::lostPlace),
        new LifeCycle("a timed wait in the client", LifeCycles::timedWait),
        new LifeCycle("a timed wait at the store", LifeCycles::timedWaitAtStore),
        new LifeCycle("an interrupted wait in the client", LifeCycles::interruptedWait),
        new LifeCycle("an interrupted wait at the store", LifeCycles::interruptedWaitAtStore),
        new LifeCycle("a wait for itself", LifeCycles::waitForItself),
        new LifeCycle("a wait behind a failure", LifeCycles::waitBehindFailure),
        new LifeCycle("a lost answer to an acquire", LifeCycles::lostGrant),
        new LifeCycle("a lost answer at the store's queue", LifeCycles::lostPoll),
        new LifeCycle("a grant that comes late", LifeCycles::lateGrant),
        new LifeCycle("a grant in doubt", LifeCycles::doubtedGrant),
        new LifeCycle("two renewals", LifeCycles::renewals),
        new LifeCycle("renewals without an answer", LifeCycles::unansweredRenewals),
        new LifeCycle("a renewal that tells a loss", LifeCycles::lostAtRenewal, LOSES),
        new LifeCycle(
            "a loss told by the user's executor", LifeCycles::lostAtRenewal, LOSES, HAS_EXECUTOR),
        new LifeCycle("expiry", LifeCycles::expiry, LOSES),
        new LifeCycle("maxHold", LifeCycles::maxHold, LOSES),
        new LifeCycle("a guard", LifeCycles::guard),
        new LifeCycle("a guard that outlives its lease", LifeCycles::closedUnderGuard),
        new LifeCycle("questions", LifeCycles::questions),
        new LifeCycle("a wall clock that jumps", LifeCycles::wallClockJump),
        new LifeCycle("an extension", LifeCycles::extension),
        new LifeCycle("a fixed lease in doubt", LifeCycles::fixedInDoubt),
        new LifeCycle("events of the store", LifeCycles::storeEvents, LOSES),
        new LifeCycle("a leak", LifeCycles::leak, LOSES),
        new LifeCycle("asLock", LifeCycles::asLock),
        new LifeCycle("a thread that dies with asLock", LifeCycles::deadThread, LOSES),
        new LifeCycle("a lost answer to a release", LifeCycles::lostRelease),
        new LifeCycle("a client's end", LifeCycles::clientClose, LOSES, CLOSES));
  }

  private static void tryLock(World world) {
    try (Lease lease = world.held()) {
      world.onLost(lease);
      lease.ensureHeld();
    }
  }

  private static void reentry(World world) {
    try (Lease outer = world.held()) {
      try (Lease inner = world.held()) {
        inner.ensureHeld();
      }
      outer.ensureHeld();
    }
  }

  /** A thread that locks and unlocks. */
  private static World.User waiter(World world, LockOptions options) {
    return world.user("waiter", () -> {
      try (Lease lease = world.lock(options).lock()) {
        lease.ensureHeld();
      }
      return null;
    });
  }

  private static void handOff(World world) {
    World.User waiter;
    try (Lease lease = world.held()) {
      waiter = waiter(world, LockOptions.defaults());
      waiter.awaitParked();
      lease.ensureHeld();
    }
    waiter.awaitParked();
  }

  private static void turn(World world) {
    World.User waiter;
    try (Lease lease = world.held(CAPPED)) {
      waiter = waiter(world, CAPPED);
      waiter.awaitParked();
      lease.ensureHeld();
    }
    waiter.awaitParked();
  }

  /** Waits while another client has the lock, which then releases it. */
  private static void waitForOthers(World world) {
    Grant others = world.others(World.NAME).orElseThrow();
    World.User waiter;
    try {
      waiter = waiter(world, LockOptions.defaults());
      waiter.awaitParked();
    } finally {
      world.release(others);
    }
    waiter.awaitParked();
  }

  private static void storeQueue(World world) {
    waitForOthers(world);
  }

  private static void handOver(World world) {
    world.store.tellOfHandOvers(World.TTL);
    waitForOthers(world);
  }

  private static void lostPlace(World world) {
    world.store.next(POLL, call -> new Ticket.Gone());
    world.store.next(POLL, call -> new Ticket.Gone());
    waitForOthers(world);
    world.pass(SECOND);
  }

  private static World.User timedWaiter(World world) {
    return world.user("waiter", () -> {
      try (Lease lease = world.lock().lockWithin(SECOND)) {
        lease.ensureHeld();
      } catch (LockTimeoutException e) {
        // As it is to be.
      }
      return null;
    });
  }

  private static void timedWait(World world) {
    try (Lease lease = world.held()) {
      World.User waiter = timedWaiter(world);
      waiter.awaitParked();
      world.pass(SECOND);
      waiter.awaitParked();
      lease.ensureHeld();
    }
  }

  private static void timedWaitAtStore(World world) {
    Grant others = world.others(World.NAME).orElseThrow();
    try {
      World.User waiter = timedWaiter(world);
      waiter.awaitParked();
      world.pass(SECOND);
      waiter.awaitParked();
    } finally {
      world.release(others);
    }
  }

  private static World.User interruptedWaiter(World world) {
    return world.user("waiter", () -> {
      try (Lease lease = world.lock().lock()) {
        lease.ensureHeld();
      } catch (InterruptedException e) {
        // As it is to be.
      }
      return null;
    });
  }

  private static void interruptedWait(World world) {
    try (Lease lease = world.held()) {
      World.User waiter = interruptedWaiter(world);
      waiter.awaitParked();
      waiter.interrupt();
      waiter.awaitParked();
      lease.ensureHeld();
    }
  }

  private static void interruptedWaitAtStore(World world) {
    Grant others = world.others(World.NAME).orElseThrow();
    try {
      World.User waiter = interruptedWaiter(world);
      waiter.awaitParked();
      waiter.interrupt();
      waiter.awaitParked();
    } finally {
      world.release(others);
    }
  }

  private static void waitForItself(World world) {
    LockOptions options = LockOptions.defaults().withOwnership(Ownership.LEASE);
    AtomicReference<Lease> first = new AtomicReference<>();
    World.User waiter = world.user("waiter", () -> {
      first.set(world.held(options));
      try (Lease second = world.lock(options).lock()) {
        second.detach().ensureHeld();
      }
      return null;
    });
    waiter.awaitParked();
    Lease open = first.get();
    if (open != null) {
      open.close();
    }
    waiter.awaitParked();
  }

  private static void waitBehindFailure(World world) {
    Gate gate = world.store.holdNext(TRY_ACQUIRE);
    World.User leader = world.user("leader", () -> {
      try (Lease lease = world.held()) {
        lease.ensureHeld();
      } catch (LockStoreException e) {
        // As it is to be.
      }
      return null;
    });
    World.User waiter;
    try {
      Eventually.await(
          "the question", () -> leader.isDone() || world.store.count(TRY_ACQUIRE) >= 2);
      waiter = world.user("waiter", () -> {
        try (Lease lease = world.lock().lock()) {
          lease.ensureHeld();
        } catch (LockStoreException e) {
          // As it is to be.
        }
        return null;
      });
      waiter.awaitParked();
    } finally {
      gate.openWith(StoreException.unanswered("the store is down", null));
    }
    leader.awaitParked();
    waiter.awaitParked();
    world.pass(Duration.ofSeconds(6));
  }

  private static void lostGrant(World world) {
    world.store.loseNextAnswer(TRY_ACQUIRE);
    try (Lease lease = world.held()) {
      lease.ensureHeld();
    } catch (LockStoreException e) {
      // As it is to be.
    }
    world.pass(Duration.ofSeconds(6));
  }

  private static void lostPoll(World world) {
    world.store.loseNextAnswer(POLL);
    Grant others = world.others(World.NAME).orElseThrow();
    World.User waiter;
    try {
      waiter = world.user("waiter", () -> {
        try (Lease lease = world.lock().lock()) {
          lease.ensureHeld();
        } catch (LockStoreException e) {
          // As it is to be.
        }
        return null;
      });
      waiter.awaitParked();
    } finally {
      world.release(others);
    }
    waiter.awaitParked();
    world.pass(Duration.ofSeconds(6));
  }

  private static void lateGrant(World world) throws InterruptedException {
    world.store.delayNextAnswer(ACQUIRE_OR_QUEUE, Duration.ofSeconds(7));
    try (Lease lease = world.lock(LockOptions.fixed(Duration.ofSeconds(6))).lock()) {
      lease.ensureHeld();
    }
  }

  private static void doubtedGrant(World world) {
    world.store.next(TRY_ACQUIRE, call -> {
      Object answer = call.call();
      world.time.jumpWallClock(Duration.ofHours(1));
      return answer;
    });
    try (Lease lease = world.held()) {
      lease.ensureHeld();
    }
  }

  private static void renewals(World world) {
    try (Lease lease = world.held()) {
      world.onLost(lease);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
  }

  private static void unansweredRenewals(World world) {
    try (Lease lease = world.held()) {
      world.store.loseNextAnswer(RENEW);
      world.store.failNext(RENEW);
      world.pass(World.AT_RENEWAL);
      world.pass(Duration.ofSeconds(3));
      world.pass(Duration.ofSeconds(3));
      lease.ensureHeld();
    }
  }

  private static void lostAtRenewal(World world) {
    try (Lease lease = world.held()) {
      world.onLost(lease);
      world.takeAway();
      world.pass(World.AT_RENEWAL);
      world.onLost(lease);
      world.settle();
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void expiry(World world) {
    try (Lease lease = world.held(FIXED)) {
      world.onLost(lease);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void maxHold(World world) {
    try (Lease lease = world.held(LockOptions.defaults().withMaxHold(Duration.ofSeconds(15)))) {
      world.onLost(lease);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void guard(World world) {
    try (Lease lease = world.held()) {
      try (LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class)) {
        guard.suspendRenewal();
        world.pass(World.AT_RENEWAL);
        lease.ensureHeld();
      }
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
  }

  private static void closedUnderGuard(World world) {
    Lease lease = world.held();
    try (LeaseGuard<Grant> guard = open(lease)) {
      try {
        guard.suspendRenewal();
      } finally {
        closedUnderGuard(lease);
      }
      world.pass(World.AT_RENEWAL);
    }
    world.settle();
  }

  private static void closedUnderGuard(Lease lease) {
    try {
      lease.close();
    } catch (IllegalStateException e) {
      // As it is to be.
    }
  }

  /** A user whose guard does not open closes the lease. */
  private static LeaseGuard<Grant> open(Lease lease) {
    boolean opened = false;
    try {
      LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class);
      opened = true;
      return guard;
    } finally {
      if (!opened) {
        lease.close();
      }
    }
  }

  private static void questions(World world) {
    try (Lease lease = world.held()) {
      lease.verify();
      Object unused = List.of(
          lease.state(),
          lease.remaining(),
          lease.isHeld(),
          world.lock().isHeldByCurrentThread(),
          world.lock().inspect(),
          world.client.list("", 10),
          world.lock().forceRelease(1L << 40));
      lease.verify();
    }
  }

  private static void wallClockJump(World world) {
    try (Lease lease = world.held()) {
      world.time.jumpWallClock(Duration.ofHours(1));
      lease.ensureHeld();
      world.pass(SECOND);
      world.time.jumpWallClock(Duration.ofHours(-2));
      world.pass(SECOND);
      world.time.jumpWallClock(Duration.ofHours(1));
      world.pass(SECOND);
      lease.ensureHeld();
    }
  }

  private static void extension(World world) {
    try (Lease lease = world.held(FIXED)) {
      world.pass(World.AT_RENEWAL);
      lease.extend(World.TTL);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
  }

  private static void fixedInDoubt(World world) {
    try (Lease lease = world.held(FIXED)) {
      world.events().suspended(world.store.grant(World.NAME));
      world.pass(SECOND);
      lease.ensureHeld();
    }
  }

  private static void storeEvents(World world) {
    try (Lease lease = world.held()) {
      world.onLost(lease);
      Grant grant = world.store.grant(World.NAME);
      world
          .user("store", () -> {
            world.events().suspended(grant);
            return null;
          })
          .awaitParked();
      world.pass(SECOND);
      world.takeAway();
      world
          .user("store", () -> {
            world.events().lost(grant, LeaseLoss.Reason.TAKEN);
            return null;
          })
          .awaitParked();
      world.pass(SECOND);
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void leak(World world) {
    drop(world);
    Eventually.await("the leak to be found", () -> {
      System.gc();
      world.pass(SECOND);
      return !world.lock().isHeldByCurrentThread();
    });
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private static void drop(World world) {
    Objects.requireNonNull(world.held());
  }

  @SuppressWarnings("LockNotBeforeTry") // It is in one, and what fails is to be seen.
  private static void asLock(World world) {
    Lock lock = world.lock().asLock();
    lock.lock();
    try {
      nested(lock);
    } finally {
      lock.unlock();
    }
    if (lock.tryLock()) {
      lock.unlock();
    }
  }

  @SuppressWarnings("LockNotBeforeTry") // If the nested one fails, only the outer one is unlocked.
  private static void nested(Lock lock) {
    lock.lock();
    lock.unlock();
  }

  private static void deadThread(World world) {
    world
        .dyingUser("dying", () -> {
          world.lock().asLock().lock();
          return null;
        })
        .awaitParked();
    world.pass(SECOND);
    world.pass(World.AT_RENEWAL);
    world.pass(World.AT_RENEWAL);
    world.pass(World.AT_RENEWAL);
  }

  private static void lostRelease(World world) {
    world.store.loseNextAnswer(RELEASE);
    world.store.failNext(RELEASE);
    Lease lease = world.held();
    lease.close();
    world.pass(SECOND);
    world.pass(SECOND);
  }

  private static void clientClose(World world) {
    Grant others = world.others("y").orElseThrow();
    try {
      clientWork(world);
    } finally {
      try {
        closeClient(world);
      } finally {
        world.release(others);
      }
    }
  }

  /** A user to whom a close fails closes again. */
  static void closeClient(World world) {
    boolean closed = false;
    try {
      world.close();
      closed = true;
    } finally {
      if (!closed) {
        world.close();
      }
    }
  }

  /** A lease, one that waits for it, one that waits at the store, and a release that fails. */
  private static void clientWork(World world) {
    Lease open = world.held();
    world.onLost(open);
    World.User local = world.user("local", () -> {
      try (Lease lease = world.lock().lock()) {
        lease.ensureHeld();
      } catch (LockClientClosedException e) {
        // As it is to be.
      }
      return null;
    });
    World.User remote = world.user("remote", () -> {
      try (Lease lease = world.client.get("y").lock()) {
        lease.ensureHeld();
      } catch (LockClientClosedException e) {
        // As it is to be.
      }
      return null;
    });
    local.awaitParked();
    remote.awaitParked();
    world.store.failNext(RELEASE);
    world.client.get("z").tryLock().ifPresent(Lease::close);
  }
}
