package io.holdfast.lock.injection;

import static io.holdfast.lock.injection.LifeCycle.Trait.CLOSES;
import static io.holdfast.lock.injection.LifeCycle.Trait.DROPS;
import static io.holdfast.lock.injection.LifeCycle.Trait.LOSES;
import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.stream.Stream;

/** The life cycles of leases of a read lock. */
final class ReadWriteLifeCycles {
  private ReadWriteLifeCycles() {}

  static Stream<LifeCycle> all() {
    return Stream.of(
        new LifeCycle("readers: tryLock and close", ReadWriteLifeCycles::tryLock),
        new LifeCycle("readers: two that share", ReadWriteLifeCycles::shared),
        new LifeCycle("readers: two grants", ReadWriteLifeCycles::twoGrants),
        new LifeCycle("readers: let in", ReadWriteLifeCycles::letIn),
        new LifeCycle("readers: a wait for a writer", ReadWriteLifeCycles::waitForWriter),
        new LifeCycle("readers: within a writer", ReadWriteLifeCycles::withinWriter),
        new LifeCycle("readers: a lost answer", ReadWriteLifeCycles::lostGrant),
        new LifeCycle("readers: renewals and a loss", ReadWriteLifeCycles::loss, LOSES),
        new LifeCycle("readers: a doubt", ReadWriteLifeCycles::doubt, LOSES),
        new LifeCycle("readers: a guard", ReadWriteLifeCycles::guard),
        new LifeCycle("readers: asReadWriteLock", ReadWriteLifeCycles::asReadWriteLock),
        new LifeCycle("readers: a leak", ReadWriteLifeCycles::leak, LOSES, DROPS),
        new LifeCycle("readers: a client's end", ReadWriteLifeCycles::clientClose, LOSES, CLOSES));
  }

  private static DistributedLock read(World world) {
    return world.readWrite().read();
  }

  private static Lease held(World world) {
    return read(world).tryLock().orElseThrow(() -> new AssertionError("busy, though it is free"));
  }

  /** Reads on another thread for as long as the body runs. */
  private static void beside(World world, LifeCycle.Play body) throws Exception {
    Gate gate = world.store.gate();
    World.User other = world.user("reader", () -> {
      try (Lease lease = read(world).lock()) {
        lease.ensureHeld();
        pass(gate);
        lease.ensureHeld();
      }
      return null;
    });
    Eventually.await("the other reader", () -> gate.isReached() || other.isDoneOrParked());
    try {
      body.run(world);
    } finally {
      gate.open();
      Eventually.await("the other reader", other::isDoneOrParked);
    }
  }

  private static void pass(Gate gate) throws Exception {
    try {
      gate.pass();
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static void tryLock(World world) {
    try (Lease lease = held(world)) {
      lease.ensureHeld();
      try (Lease inner = held(world)) {
        inner.ensureHeld();
      }
      try {
        boolean unused = world.readWrite().write().tryLock().isPresent();
        throw new AssertionError("upgraded");
      } catch (IllegalStateException e) {
        // As it is to be.
      }
    }
  }

  private static void shared(World world) throws Exception {
    try (Lease lease = held(world)) {
      beside(world, same -> lease.ensureHeld());
      lease.ensureHeld();
    }
  }

  private static void twoGrants(World world) throws Exception {
    beside(world, same -> {
      world.time.advance(Duration.ofMillis(20));
      try (Lease lease = held(world)) {
        world.pass(World.AT_RENEWAL);
        lease.ensureHeld();
      }
    });
  }

  private static void letIn(World world) {
    Gate gate = world.store.holdNextAnswer(TRY_ACQUIRE);
    World.User leader = world.user("leader", () -> {
      try (Lease lease = held(world)) {
        lease.ensureHeld();
      }
      return null;
    });
    Eventually.await("the leader", () -> gate.isReached() || leader.isDoneOrParked());
    World.User behind = world.user("behind", () -> {
      try (Lease lease = read(world).lock()) {
        lease.ensureHeld();
      }
      return null;
    });
    behind.awaitParked();
    gate.open();
    leader.awaitParked();
    behind.awaitParked();
  }

  private static void waitForWriter(World world) {
    World.User waiter;
    try (Lease write = world.readWrite().write().tryLock().orElseThrow()) {
      waiter = world.user("waiter", () -> {
        try (Lease lease = read(world).lock()) {
          lease.ensureHeld();
        }
        return null;
      });
      waiter.awaitParked();
      write.ensureHeld();
    }
    waiter.awaitParked();
  }

  private static void withinWriter(World world) {
    Lease write = world.readWrite().write().tryLock().orElseThrow();
    try (Lease lease = held(world)) {
      write.close();
      lease.ensureHeld();
    } finally {
      write.close();
    }
  }

  private static void lostGrant(World world) {
    world.store.loseNextAnswer(TRY_ACQUIRE);
    try (Lease lease = held(world)) {
      lease.ensureHeld();
    } catch (LockStoreException e) {
      // As it is to be.
    }
    world.pass(Duration.ofSeconds(6));
  }

  private static void loss(World world) throws Exception {
    try (Lease lease = held(world)) {
      world.onLost(lease);
      beside(world, same -> {
        world.pass(World.AT_RENEWAL);
        lease.ensureHeld();
        world.takeAway();
        world.events().lost(world.store.grant(World.NAME), LeaseLoss.Reason.TAKEN);
        world.pass(World.AT_RENEWAL);
      });
    } catch (LockLostException e) {
      // As it is to be.
    }
  }

  private static void doubt(World world) throws Exception {
    beside(world, same -> {
      Lease lease = held(world);
      world.time.jumpWallClock(Duration.ofHours(1));
      try {
        lease.close();
      } catch (LockLostException e) {
        // Without an answer of the store.
      }
    });
  }

  private static void guard(World world) throws Exception {
    Lease lease = held(world);
    try {
      beside(world, same -> {
        try (LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class)) {
          guard.suspendRenewal();
          try {
            lease.close();
          } catch (IllegalStateException e) {
            // As it is to be.
          }
        }
      });
    } finally {
      lease.close();
    }
  }

  @SuppressWarnings("LockNotBeforeTry") // It is in one, and what fails is to be seen.
  private static void asReadWriteLock(World world) {
    ReadWriteLock lock = world.readWrite().asReadWriteLock();
    lock.writeLock().lock();
    try {
      lock.readLock().lock();
    } catch (Throwable e) {
      lock.writeLock().unlock();
      throw e;
    }
    try {
      lock.writeLock().unlock();
    } finally {
      lock.readLock().unlock();
    }
  }

  private static void leak(World world) throws Exception {
    try (Lease lease = held(world)) {
      WeakReference<Lease> dropped = dropped(world);
      while (dropped.get() != null) {
        System.gc();
      }
      world.pass(World.AT_RENEWAL);
      lease.ensureHeld();
    }
    // The Java machine tells the engine of it a little later.
    Eventually.await("the leak to be found, and its time to be over", () -> {
      world.pass(World.AT_RENEWAL);
      return world.store.holder(World.NAME).isEmpty();
    });
  }

  /** In a frame of its own, so that nothing keeps the lease. */
  private static WeakReference<Lease> dropped(World world) {
    AtomicReference<WeakReference<Lease>> lease = new AtomicReference<>(new WeakReference<>(null));
    World.User other = world.user("dropper", () -> {
      lease.set(new WeakReference<>(read(world).lock()));
      return null;
    });
    Eventually.await("the dropper", other::isDoneOrParked);
    return lease.get();
  }

  private static void clientClose(World world) throws Exception {
    beside(world, same -> {
      world.time.advance(Duration.ofMillis(20));
      try (Lease lease = held(world)) {
        world.onLost(lease);
        LifeCycles.closeClient(world);
      } catch (LockLostException e) {
        // As it is to be.
      }
    });
  }
}
