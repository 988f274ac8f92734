package io.holdfast.lock.injection;

import static io.holdfast.lock.injection.LifeCycle.Trait.CLOSES;
import static io.holdfast.lock.injection.LifeCycle.Trait.LOSES;
import static io.holdfast.lock.simulation.ScriptedStore.Op.RELEASE;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;

import io.holdfast.lock.JointLease;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;

/** The life cycles of a lease of two names. */
final class JointLifeCycles {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration LONG = World.TTL.multipliedBy(2);
  private static final LockOptions FIXED = LockOptions.fixed(World.TTL);

  private JointLifeCycles() {}

  static Stream<LifeCycle> all() {
    return Stream.of(
        new LifeCycle("two names: tryLock and close", JointLifeCycles::tryLock),
        new LifeCycle("two names: re-entry", JointLifeCycles::reentry),
        new LifeCycle("two names: a hand-off", JointLifeCycles::handOff),
        new LifeCycle("two names: the second is taken", JointLifeCycles::secondTaken),
        new LifeCycle("two names: a wait for the second", JointLifeCycles::waitForSecond),
        new LifeCycle("two names: a timed wait for the second", JointLifeCycles::timedWait),
        new LifeCycle("two names: an interrupted wait", JointLifeCycles::interruptedWait),
        new LifeCycle("two names: a lost answer about the second", JointLifeCycles::lostGrant),
        new LifeCycle("two names: the first is lost meanwhile", JointLifeCycles::lostMeanwhile),
        new LifeCycle(
            "two names: the first is lost meanwhile, and taken", JointLifeCycles::takenMeanwhile),
        new LifeCycle("two names: renewals", JointLifeCycles::renewals),
        new LifeCycle("two names: a loss of the second", JointLifeCycles::loss, LOSES),
        new LifeCycle("two names: a wall clock that jumps", JointLifeCycles::wallClockJump),
        new LifeCycle("two names: an extension", JointLifeCycles::extension),
        new LifeCycle("two names: questions", JointLifeCycles::questions),
        new LifeCycle("two names: releases that fail", JointLifeCycles::failingReleases),
        new LifeCycle("two names: closed by another thread", JointLifeCycles::closedElsewhere),
        new LifeCycle("two names: asLock", JointLifeCycles::asLock),
        new LifeCycle("two names: a leak", JointLifeCycles::leak, LOSES),
        new LifeCycle("two names: a client's end", JointLifeCycles::clientClose, LOSES, CLOSES));
  }

  private static void tryLock(World world) {
    try (JointLease lease = world.bothHeld()) {
      world.onLost(lease);
      lease.ensureHeld();
    }
  }

  private static void reentry(World world) {
    try (Lease first = world.held();
        JointLease both = world.bothHeld();
        JointLease nested = world.bothHeld()) {
      first.ensureHeld();
      both.ensureHeld();
      nested.ensureHeld();
    }
  }

  private static World.User waiter(World world, Callable<JointLease> acquire) {
    return world.user("waiter", () -> {
      try (JointLease lease = acquire.call()) {
        lease.ensureHeld();
      } catch (LockTimeoutException | InterruptedException | LockClientClosedException e) {
        // As it may be.
      }
      return null;
    });
  }

  private static void handOff(World world) {
    World.User waiter;
    try (JointLease lease = world.bothHeld()) {
      waiter = waiter(world, () -> world.both().lock());
      waiter.awaitParked();
      lease.ensureHeld();
    }
    waiter.awaitParked();
  }

  private static void secondTaken(World world) {
    Grant others = world.others(World.PARTNER).orElseThrow();
    try {
      world.both().tryLock().ifPresent(JointLease::close);
    } finally {
      world.release(others);
    }
  }

  /** Waits for the second name, which another client has until then. */
  private static void waitFor(World world, Callable<JointLease> acquire, Meanwhile meanwhile) {
    Grant others = world.others(World.PARTNER, LONG).orElseThrow();
    World.User waiter;
    try {
      waiter = waiter(world, acquire);
      waiter.awaitParked();
      meanwhile.happens(waiter);
      waiter.awaitParked();
    } finally {
      world.release(others);
    }
    waiter.awaitParked();
  }

  private interface Meanwhile {
    void happens(World.User waiter);
  }

  private static void waitForSecond(World world) {
    waitFor(world, () -> world.both().lock(), waiter -> {});
  }

  private static void timedWait(World world) {
    waitFor(world, () -> world.both().lockWithin(SECOND), waiter -> world.pass(SECOND));
  }

  private static void interruptedWait(World world) {
    waitFor(world, () -> world.both().lock(), World.User::interrupt);
  }

  private static void lostGrant(World world) {
    world.store.next(TRY_ACQUIRE, call -> call.call());
    world.store.loseNextAnswer(TRY_ACQUIRE);
    try (JointLease lease = world.bothHeld()) {
      lease.ensureHeld();
    } catch (LockStoreException e) {
      // As it is to be.
    }
    world.pass(Duration.ofSeconds(6));
  }

  private static void lostMeanwhile(World world) {
    waitFor(world, () -> world.both(FIXED).lock(), waiter -> passTheTtl(world));
  }

  private static void takenMeanwhile(World world) {
    Grant partner = world.others(World.PARTNER, LONG).orElseThrow();
    World.User waiter = waiter(world, () -> world.both(FIXED).lock());
    waiter.awaitParked();
    passTheTtl(world);
    // Others hold it for as long as the waiter did not lose it, because something failed.
    world
        .others(World.NAME)
        .ifPresentOrElse(
            name -> {
              world.release(partner);
              waiter.awaitParked();
              world.release(name);
            },
            () -> world.release(partner));
    waiter.awaitParked();
  }

  private static void renewals(World world) {
    try (JointLease lease = world.bothHeld()) {
      world.onLost(lease);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
  }

  private static void loss(World world) {
    try (JointLease lease = world.bothHeld()) {
      world.onLost(lease);
      world.takeAway(World.PARTNER);
      world.pass(World.AT_RENEWAL);
      world.onLost(lease);
      world.settle();
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void wallClockJump(World world) {
    try (JointLease lease = world.bothHeld()) {
      world.time.jumpWallClock(Duration.ofHours(1));
      lease.ensureHeld();
    }
  }

  private static void extension(World world) {
    try (JointLease lease = world.bothHeld(FIXED)) {
      world.pass(World.AT_RENEWAL);
      lease.extend(World.TTL);
      world.pass(World.AT_RENEWAL);
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
  }

  private static void questions(World world) {
    try (JointLease lease = world.bothHeld()) {
      lease.verify();
      Object unused = List.of(
          lease.state(),
          lease.remaining(),
          lease.isHeld(),
          world.both().isHeldByCurrentThread(),
          world.both().holders());
    }
  }

  private static void failingReleases(World world) {
    world.store.loseNextAnswer(RELEASE);
    world.store.failNext(RELEASE);
    JointLease lease = world.bothHeld();
    lease.close();
    world.pass(SECOND);
    world.pass(SECOND);
  }

  private static void closedElsewhere(World world) {
    JointLease lease = world.bothHeld(LockOptions.defaults().withOwnership(Ownership.LEASE));
    world
        .user("waiter", () -> {
          lease.detach().close();
          return null;
        })
        .awaitParked();
    lease.close();
  }

  @SuppressWarnings("LockNotBeforeTry") // What fails is to be seen.
  private static void asLock(World world) {
    Lock lock = world.both().asLock();
    lock.lock();
    try {
      if (lock.tryLock()) {
        lock.unlock();
      }
    } finally {
      lock.unlock();
    }
  }

  private static void leak(World world) {
    drop(world);
    // One collection may find the lease of both, and only a later one those of each.
    Eventually.await("the leak to be found", () -> {
      System.gc();
      world.pass(SECOND);
      return !world.lock().isHeldByCurrentThread() && !world.partner().isHeldByCurrentThread();
    });
  }

  /** In steps, so that what is held is renewed. */
  private static void passTheTtl(World world) {
    world.pass(World.AT_RENEWAL);
    world.pass(World.AT_RENEWAL);
    world.pass(World.AT_RENEWAL);
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private static void drop(World world) {
    Objects.requireNonNull(world.bothHeld());
  }

  private static void clientClose(World world) {
    Grant others = world.others(World.PARTNER).orElseThrow();
    try {
      World.User waiter = waiter(world, () -> world.both().lock());
      waiter.awaitParked();
    } finally {
      try {
        LifeCycles.closeClient(world);
      } finally {
        world.release(others);
      }
    }
  }
}
