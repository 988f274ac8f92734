package io.holdfast.lock.model;

import static io.holdfast.lock.model.Scene.AT_RENEWAL;
import static io.holdfast.lock.model.Scene.LOST;
import static io.holdfast.lock.model.Scene.NAME;
import static io.holdfast.lock.model.Scene.REFUSED;
import static io.holdfast.lock.model.Scene.THIRD;
import static io.holdfast.lock.model.Scene.TTL;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.ModelEngine;
import io.holdfast.lock.model.LifeCycle.Play;
import io.holdfast.lock.model.LifeCycle.Trait;
import io.holdfast.lock.model.Scene.Sort;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.Lock;

/** The life cycles that are played. */
final class LifeCycles {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final LockOptions FIXED = LockOptions.fixed(TTL);
  private static final LockOptions OF_LEASE =
      LockOptions.renewed(TTL).withOwnership(Ownership.LEASE);

  /** Never handed on locally. */
  private static final LockOptions CAPPED =
      LockOptions.renewed(TTL).withMaxHold(TTL.multipliedBy(9));

  private static final Set<Trait> LOSES = Set.of(Trait.LOSES);
  private static final Set<Trait> CLOSES = Set.of(Trait.LOSES, Trait.CLOSES);
  private static final Set<Trait> HANDS_OVER = Set.of(Trait.HANDS_OVER);

  private final List<LifeCycle> all = new ArrayList<>();

  private LifeCycles() {}

  static List<LifeCycle> all() {
    LifeCycles cycles = new LifeCycles();
    for (Sort sort : Sort.values()) {
      cycles.ofEach(sort);
    }
    cycles.ofBothSortsOfLocks();
    cycles.waitsForOneLock();
    cycles.leasesOfOneLock();
    cycles.ofTwoLocks();
    cycles.ofPermits();
    cycles.ofReads();
    return Collections.unmodifiableList(cycles.all);
  }

  private void add(Sort sort, String name, Set<Trait> traits, Play play) {
    all.add(new LifeCycle(sort, name, traits, play));
  }

  private void add(Sort sort, String name, Play play) {
    add(sort, name, Set.of(), play);
  }

  private void lock(String name, Play play) {
    add(Sort.LOCK, name, play);
  }

  /** Something that keeps a lock taken while another thing is done. */
  private interface Taken {
    void during(Scene scene, Runnable action) throws Exception;
  }

  private void ofEach(Sort sort) {
    add(sort, "tryLock and close", s -> s.holding(lease -> {}));
    add(
        sort,
        "tryLock of what is taken",
        s -> s.othersHolding(() -> {
          s.lock().tryLock().ifPresent(AnyLease::close);
        }));
    waits(sort, "in the client", Scene::holdingAll);
    waits(sort, "at the store", Scene::othersHolding);
    add(sort, "a lost answer to an acquire", s -> {
      if (sort == Sort.TWO_LOCKS) {
        s.next("LockStore.tryAcquire", Callable::call);
      }
      s.next("LockStore.tryAcquire", LOST);
      s.holding(lease -> {});
    });
    add(sort, "renewals", s -> s.holding(lease -> passTheTtl(s)));
    add(sort, "a renewal that tells a loss", LOSES, s -> s.holding(lease -> lose(s, lease)));
    add(sort, "a wall clock that jumps", s -> s.holding(lease -> jumpWallClock(s, lease)));
    add(
        sort,
        "an extension",
        s -> s.holding(FIXED, lease -> {
          s.pass(AT_RENEWAL);
          lease.extend(TTL);
          s.pass(AT_RENEWAL.multipliedBy(2));
        }));
    add(sort, "releases that fail", s -> {
      s.next("LockStore.release", LOST);
      s.next("LockStore.release", REFUSED);
      s.holding(lease -> {});
    });
    add(sort, "a leak", LOSES, s -> {
      ModelEngine.drop(s.held());
      passTheTtl(s);
    });
    add(sort, "a client's end", CLOSES, s -> s.othersHolding(THIRD, () -> clientEnds(s)));
  }

  private void waits(Sort sort, String where, Taken taken) {
    add(sort, "a wait " + where, s -> taken.during(s, s::waits));
    add(
        sort,
        "a timed wait " + where,
        s -> taken.during(s, () -> {
          s.waits(() -> s.lock().lockWithin(SECOND));
          s.pass(SECOND);
        }));
    add(
        sort,
        "an interrupted wait " + where,
        s -> taken.during(s, () -> {
          Scene.Actor waiter = s.waiter(() -> s.lock().lock());
          s.pause();
          waiter.interrupt();
          s.pause();
        }));
  }

  private static void passTheTtl(Scene s) {
    s.pass(AT_RENEWAL.multipliedBy(3));
  }

  private static void lose(Scene s, AnyLease lease) {
    s.takeAway();
    s.pass(AT_RENEWAL);
    s.onLost(lease);
    s.pause();
  }

  private static void jumpWallClock(Scene s, AnyLease lease) {
    s.jumpWallClock(Duration.ofHours(1));
    lease.ensureHeld();
    s.pass(SECOND);
    s.jumpWallClock(Duration.ofHours(-2));
    s.pass(SECOND);
    s.jumpWallClock(Duration.ofHours(1));
    s.pass(SECOND);
  }

  /** A lease, one that waits for it, two that wait for the store, and a release that fails. */
  private static void clientEnds(Scene s) {
    try {
      AnyLease open = s.held();
      s.onLost(open);
      s.waits();
      s.waits(() -> s.client().get(THIRD).lock());
      s.next("LockStore.tryAcquire", call -> late(s, SECOND, call));
      s.waits(() -> s.client().get("v").tryLock().orElseThrow());
      s.next("LockStore.release", REFUSED);
      s.client().get("w").tryLock().ifPresent(Lease::close);
    } finally {
      // A user to whom a close fails closes again.
      boolean closed = false;
      try {
        s.client().close();
        closed = true;
      } finally {
        if (!closed) {
          s.client().close();
        }
      }
    }
  }

  private static Object late(Scene s, Duration by, Callable<Object> call) throws Exception {
    Object answer = call.call();
    s.pass(by);
    return answer;
  }

  private void ofBothSortsOfLocks() {
    for (Sort sort : List.of(Sort.LOCK, Sort.TWO_LOCKS)) {
      add(sort, "re-entry", s -> s.holding(outer -> s.holding(inner -> {})));
      add(
          sort,
          "asLock",
          s -> asLock(sort == Sort.LOCK ? s.one().asLock() : ((JointLock) s.lock()).asLock()));
      add(sort, "closed by another thread", s -> {
        AnyLease lease = s.held(OF_LEASE);
        s.waits(lease::detach);
        lease.close();
      });
    }
  }

  @SuppressWarnings("LockNotBeforeTry") // What fails is to be seen.
  private static void asLock(Lock lock) {
    lock.lock();
    try {
      lock.lock();
      lock.unlock();
      tryLock(lock);
    } finally {
      lock.unlock();
    }
    tryLock(lock);
  }

  private static void tryLock(Lock lock) {
    if (lock.tryLock()) {
      lock.unlock();
    }
  }

  private void waitsForOneLock() {
    lock("a turn", s -> s.holding(CAPPED, lease -> s.waits(() -> s.lock(CAPPED).lock())));
    add(Sort.LOCK, "a hand-over by the store", HANDS_OVER, s -> s.othersHolding(s::waits));
    lock("a place that the store lost", s -> {
      s.next("Ticket.poll", call -> new Ticket.Gone());
      s.next("Ticket.poll", call -> new Ticket.Gone());
      s.othersHolding(s::waits);
    });
    lock("a wait for itself", s -> {
      AnyLease[] first = new AnyLease[1];
      s.waits(() -> {
        first[0] = s.held(OF_LEASE);
        return s.lock(OF_LEASE).lock();
      });
      if (first[0] != null) {
        first[0].close();
      }
    });
    lock("a wait behind a failure", s -> {
      s.next("LockStore.tryAcquire", call -> {
        s.pass(SECOND);
        throw StoreException.unanswered("the store is down", null);
      });
      s.waits(s::held);
      s.waits();
    });
    lock("a lost answer at the store's queue", s -> {
      s.next("Ticket.poll", LOST);
      s.othersHolding(s::waits);
    });
    lock("a grant that comes late", s -> {
      s.next("LockStore.acquireOrQueue", call -> late(s, Duration.ofSeconds(7), call));
      s.lock(LockOptions.fixed(Duration.ofSeconds(6))).lock().close();
    });
    lock("a grant in doubt", s -> {
      s.next("LockStore.tryAcquire", call -> {
        Object answer = call.call();
        s.jumpWallClock(Duration.ofHours(1));
        return answer;
      });
      s.holding(lease -> {});
    });
  }

  private void leasesOfOneLock() {
    lock(
        "renewals without an answer",
        s -> s.holding(lease -> {
          s.next("LockStore.renew", LOST);
          // Until it is so late that one more try is all that is left.
          Collections.nCopies(4, REFUSED).forEach(refused -> s.next("LockStore.renew", refused));
          passTheTtl(s);
        }));
    Set<Trait> executor = Set.of(Trait.LOSES, Trait.HAS_EXECUTOR);
    add(Sort.LOCK, "a loss told by the user's executor", executor, s -> {
      s.holding(lease -> lose(s, lease));
    });
    add(Sort.LOCK, "expiry", LOSES, s -> s.holding(FIXED, lease -> passTheTtl(s)));
    LockOptions brief = LockOptions.renewed(TTL).withMaxHold(Duration.ofSeconds(15));
    add(Sort.LOCK, "maxHold", LOSES, s -> s.holding(brief, lease -> passTheTtl(s)));
    lock(
        "a guard",
        s -> s.holding(lease -> {
          try (LeaseGuard<Grant> guard = LeaseGuard.open((Lease) lease, Grant.class)) {
            guard.suspendRenewal();
            s.pass(AT_RENEWAL);
            lease.ensureHeld();
          }
          s.pass(AT_RENEWAL.multipliedBy(2));
        }));
    lock("a guard that outlives its lease", LifeCycles::closedUnderGuard);
    lock(
        "questions",
        s -> s.holding(lease -> {
          lease.verify();
          Object unused = List.of(
              lease.state(),
              lease.remaining(),
              lease.isHeld(),
              s.one().isHeldByCurrentThread(),
              s.one().inspect(),
              s.client().list("", 10),
              s.one().forceRelease(1L << 40));
          lease.verify();
        }));
    lock(
        "a fixed lease in doubt",
        s -> s.holding(FIXED, lease -> {
          s.events().suspended(s.grant(lease));
          s.pass(SECOND);
        }));
    add(Sort.LOCK, "events of the store", LOSES, s -> {
      s.holding(lease -> storeEvents(s, lease));
    });
    add(Sort.LOCK, "a thread that dies with asLock", LOSES, s -> {
      s.startDying("dying", () -> {
        s.one().asLock().lock();
        return null;
      });
      passTheTtl(s);
    });
  }

  private static void closedUnderGuard(Scene s) {
    Lease lease = (Lease) s.held();
    LeaseGuard<Grant> guard;
    try {
      guard = LeaseGuard.open(lease, Grant.class);
    } catch (Throwable e) { // A user whose guard does not open closes the lease.
      lease.close();
      throw e;
    }
    try (guard) {
      try {
        guard.suspendRenewal();
      } finally {
        try {
          lease.close();
        } catch (IllegalStateException e) {
          // As it is to be.
        }
      }
      s.pass(AT_RENEWAL);
    }
  }

  private static void storeEvents(Scene s, AnyLease lease) {
    Grant grant = s.grant(lease);
    s.start("store", () -> {
      s.events().suspended(grant);
      return null;
    });
    s.pass(SECOND);
    s.takeAway();
    s.start("store", () -> {
      s.events().lost(grant, LeaseLoss.Reason.TAKEN);
      return null;
    });
    s.pass(SECOND);
  }

  private void ofTwoLocks() {
    add(Sort.TWO_LOCKS, "one of them first", s -> {
      try (Lease first = s.one().tryLock().orElseThrow()) {
        s.holding(both -> s.holding(nested -> first.ensureHeld()));
      }
    });
    add(
        Sort.TWO_LOCKS,
        "the first is lost meanwhile",
        s -> s.othersHolding(() -> {
          s.waits(() -> s.lock(FIXED).lock());
          passTheTtl(s);
        }));
    add(Sort.TWO_LOCKS, "the first is lost meanwhile, and taken", s -> {
      List<Grant> first = new ArrayList<>();
      s.othersHolding(() -> {
        s.waits(() -> s.lock(FIXED).lock());
        passTheTtl(s);
        first.addAll(s.others(NAME));
      });
      s.pause();
      s.release(first);
    });
    add(
        Sort.TWO_LOCKS,
        "questions",
        s -> s.holding(lease -> {
          JointLock both = (JointLock) s.lock();
          lease.verify();
          Object unused = List.of(
              lease.state(),
              lease.remaining(),
              lease.isHeld(),
              both.isHeldByCurrentThread(),
              both.holders());
        }));
  }

  private void ofPermits() {
    add(
        Sort.PERMIT,
        "two, and no third",
        s -> s.holdingAll(() -> {
          if (s.lock().tryLock().isPresent()) {
            throw new AssertionError("There are three");
          }
        }));
    add(
        Sort.PERMIT,
        "a loss of one of two",
        LOSES,
        s -> s.holding(first -> s.holding(second -> {
          forceRelease(s, first);
          s.events().lost(s.grant(first), LeaseLoss.Reason.TAKEN);
          s.pass(AT_RENEWAL);
        })));
    add(
        Sort.PERMIT,
        "questions",
        LOSES,
        s -> s.holding(lease -> {
          lease.verify();
          forceRelease(s, lease);
        }));
  }

  private void ofReads() {
    add(Sort.READ, "re-entry", s -> s.holding(outer -> s.holding(inner -> {})));
    add(Sort.READ, "asLock", s -> asLock(s.rw().read().asLock()));
    add(
        Sort.READ,
        "three who wait and share a grant",
        s -> s.othersHolding(() -> {
          s.waits();
          s.waits();
          s.waits(() -> s.lock(FIXED).lock());
        }));
    add(Sort.READ, "a shared grant that is lost", LOSES, s -> {
      s.othersHolding(() -> {
        s.waits(s::keptForTheTtl);
        s.waits(s::keptForTheTtl);
      });
      s.pause();
      s.takeAway();
      passTheTtl(s);
    });
    add(Sort.READ, "a leak of one of two who share a grant", LOSES, s -> {
      s.othersHolding(() -> {
        s.start("dropping", () -> {
          ModelEngine.drop(s.lock().lock());
          return null;
        });
        s.pause();
        s.waits(s::keptForTheTtl);
      });
      passTheTtl(s);
    });
    add(Sort.READ, "a close in doubt, of one of two who share a grant", LOSES, s -> {
      AnyLease[] leases = new AnyLease[1];
      s.othersHolding(() -> {
        s.start("doubting", () -> {
          leases[0] = s.lock().lock();
          return null;
        });
        s.waits(s::keptForTheTtl);
      });
      s.pause();
      s.jumpWallClock(Duration.ofHours(1));
      if (leases[0] != null) {
        leases[0].close();
      }
    });
    add(Sort.READ, "a read within a write", s -> {
      Lease write = s.one().tryLock().orElseThrow();
      try {
        s.holding(read -> write.close());
      } finally {
        write.close();
      }
    });
    add(
        Sort.READ,
        "no upgrade",
        s -> s.holding(read -> {
          try {
            s.one().tryLock().ifPresent(Lease::close);
            throw new AssertionError("A reader writes");
          } catch (IllegalStateException e) {
            read.ensureHeld();
          }
        }));
    add(
        Sort.READ,
        "questions",
        LOSES,
        s -> s.holding(read -> {
          read.verify();
          Object unused = List.of(s.rw().read().isHeldByCurrentThread(), s.one().inspect());
          for (LockHolder holder : s.rw().read().holders()) {
            boolean unused2 = s.rw().read().forceRelease(holder.token());
          }
        }));
  }

  private static void forceRelease(Scene s, AnyLease lease) {
    DistributedSemaphore semaphore = (DistributedSemaphore) s.lock();
    long token = ((Lease) lease).token();
    if (semaphore.holders().stream().noneMatch(holder -> holder.token() == token)) {
      throw new AssertionError("Another has it: " + semaphore.holders());
    }
    boolean unused = semaphore.forceRelease(token);
  }
}
