package io.holdfast.lock.injection;

import static io.holdfast.lock.injection.LifeCycle.Trait.CLOSES;
import static io.holdfast.lock.injection.LifeCycle.Trait.LOSES;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.PermitHolder;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.simulation.Eventually;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.stream.Stream;

/** The life cycles of leases of a semaphore. */
final class SemaphoreLifeCycles {
  private static final LockOptions RENEWED = LockOptions.defaults();

  private SemaphoreLifeCycles() {}

  static Stream<LifeCycle> all() {
    return Stream.of(
        new LifeCycle("permits: tryLock and close", SemaphoreLifeCycles::tryLock),
        new LifeCycle("permits: a wait", SemaphoreLifeCycles::waitForOne),
        new LifeCycle("permits: a lost answer", SemaphoreLifeCycles::lostGrant),
        new LifeCycle("permits: renewals and a loss", SemaphoreLifeCycles::loss, LOSES),
        new LifeCycle("permits: questions", SemaphoreLifeCycles::questions, LOSES),
        new LifeCycle("permits: a leak", SemaphoreLifeCycles::leak, LOSES),
        new LifeCycle("permits: a client's end", SemaphoreLifeCycles::clientClose, LOSES, CLOSES));
  }

  private static void tryLock(World world) {
    try (PermitLease first = world.permit();
        PermitLease second = world.permit()) {
      first.ensureHeld();
      second.ensureHeld();
      if (world.semaphore(RENEWED).tryLock().isPresent()) {
        throw new AssertionError("There are three");
      }
    }
  }

  private static void waitForOne(World world) {
    World.User waiter;
    try (PermitLease first = world.permit();
        PermitLease second = world.permit()) {
      waiter = world.user("waiter", () -> {
        try (PermitLease third = world.semaphore(RENEWED).lock()) {
          third.ensureHeld();
        }
        return null;
      });
      waiter.awaitParked();
      first.ensureHeld();
      second.ensureHeld();
    }
    waiter.awaitParked();
  }

  private static void lostGrant(World world) {
    world.store.loseNextAnswer(TRY_ACQUIRE);
    try (PermitLease lease = world.permit()) {
      lease.ensureHeld();
    } catch (LockStoreException e) {
      // As it is to be.
    }
    world.pass(Duration.ofSeconds(6));
  }

  private static void loss(World world) {
    try (PermitLease first = world.permit()) {
      world.onLost(first);
      try (PermitLease second = world.permit()) {
        world.pass(World.AT_RENEWAL);
        second.ensureHeld();
        world.semaphore(RENEWED).holders().stream()
            .filter(holder -> holder.permit() == first.permit())
            .forEach(holder -> {
              boolean unused = world.semaphore(RENEWED).forceRelease(holder.token());
            });
        world.events().lost(world.store.grants(World.NAME).get(0), LeaseLoss.Reason.TAKEN);
        world.pass(World.AT_RENEWAL);
        second.ensureHeld();
      }
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void questions(World world) {
    DistributedSemaphore semaphore = world.semaphore(RENEWED);
    try (PermitLease lease = world.permit()) {
      lease.verify();
      PermitHolder holder = semaphore.holders().get(0);
      if (holder.token() != lease.token()) {
        throw new AssertionError("Another has it: " + holder);
      }
      boolean unused = semaphore.forceRelease(lease.token());
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void leak(World world) {
    WeakReference<PermitLease> dropped = dropped(world);
    while (dropped.get() != null) {
      System.gc();
    }
    // The Java machine tells the engine of it a little later.
    Eventually.await("the leak to be found, and its time to be over", () -> {
      world.pass(World.AT_RENEWAL);
      return !world.isPermitTaken(World.NAME);
    });
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private static WeakReference<PermitLease> dropped(World world) {
    return new WeakReference<>(world.permit());
  }

  private static void clientClose(World world) {
    try (PermitLease lease = world.permit()) {
      world.onLost(lease);
      LifeCycles.closeClient(world);
    } catch (LockLostException e) {
      // As it is to be.
    }
  }
}
