package io.holdfast.lock.injection;

import io.holdfast.lock.JointLease;
import io.holdfast.lock.LockException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.injection.LifeCycle.Trait;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.ScriptedStore.Op;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.Optional;

/** One life cycle, played once, and a look at what is left afterwards. */
final class Run {
  private static final Duration STEP = Duration.ofSeconds(5);

  /** In steps: a TTL and a little. */
  private static final int CRASH_BOUND = 7;

  /** In steps: somebody may have to wait for two TTLs, one after the other. */
  private static final int ALL_DONE = 15;

  private static final long STILL_NANOS = 2_000_000;

  /** Of one look of the keeper, and a little. */
  private static final int CALLS_MAX = 20;

  private final LifeCycle cycle;
  private final CallsOut calls;
  private final World world;

  private Run(LifeCycle cycle, CallsOut calls) {
    this.cycle = cycle;
    this.calls = calls;
    this.world = new World(calls, cycle.is(Trait.HAS_EXECUTOR));
  }

  /** Plays it; throws if something is not as it should be afterwards. */
  static void play(LifeCycle cycle, CallsOut calls) {
    Run run = new Run(cycle, calls);
    try {
      run.play();
      run.look();
    } finally {
      run.world.store.openGates();
      run.world.end();
      calls.end();
    }
  }

  private void play() {
    world.settle();
    calls.begin();
    World.User caller = world.user("caller", () -> {
      cycle.play().run(world);
      return null;
    });
    Eventually.await("the caller", caller::isDone);
    world.users().forEach(World.User::awaitParked);
    world.settle();
    world.users().forEach(World.User::awaitParked);
    calls.end();
    world.store.heal();
    Thread.interrupted();
  }

  private void look() {
    everybodyIsDone();
    nobodyGotWhatHeShouldNot();
    if (!cycle.is(Trait.CLOSES)) {
      theLocksAreFree();
      nothingIsRenewedThatNobodyHolds();
      theLockCanBeAcquiredAgain();
      nothingSpins();
    }
    theClientCloses();
  }

  private void everybodyIsDone() {
    for (int step = 0; step < ALL_DONE && !allDone(); step++) {
      world.pass(STEP);
      world.users().forEach(World.User::awaitParked);
    }
    for (World.User user : world.users()) {
      if (!user.isDone()) {
        throw new AssertionError(user + " waits for ever", user.whereItIs());
      }
    }
  }

  private boolean allDone() {
    return world.users().stream().allMatch(World.User::isDone);
  }

  /** No user gets anything but what was thrown, or an exception that says what is the matter. */
  private void nobodyGotWhatHeShouldNot() {
    for (World.User user : world.users()) {
      Throwable thrown = user.thrown();
      if (thrown == null
          || Fault.isBehind(thrown)
          || (thrown instanceof LockException && !(thrown instanceof LockLostException))
          || (thrown instanceof LockLostException && cycle.is(Trait.LOSES))) {
        continue;
      }
      throw new AssertionError(user + " got what it should not", thrown);
    }
    for (Throwable death : world.deaths()) {
      throw new AssertionError("A thread of the engine died", death);
    }
  }

  private void theLocksAreFree() {
    theLockIsFree(World.NAME);
    theLockIsFree(World.PARTNER);
  }

  private void theLockIsFree(String name) {
    long renewed = renewals(name);
    for (int step = 0; step <= CRASH_BOUND; step++) {
      world.settle();
      if (isFree(name)) {
        return;
      }
      if (renewals(name) > renewed) {
        // It was about to be found out.
        renewed = Long.MAX_VALUE;
        step = 0;
      }
      world.time.advance(STEP);
    }
    throw new AssertionError("The lock is taken for longer than its TTL: "
        + world.store.holder(name)
        + ", renewed "
        + renewals(name));
  }

  private boolean isFree(String name) {
    Optional<Grant> grant = world.others(name);
    grant.ifPresent(world::release);
    return grant.isPresent() && !world.isPermitTaken(name);
  }

  private long renewals(String name) {
    return world.store.calls(Op.RENEW).stream()
        .filter(call -> call.names().contains(name))
        .count();
  }

  private void nothingIsRenewedThatNobodyHolds() {
    world.settle();
    long renewed = renewals(World.NAME) + renewals(World.PARTNER);
    long kept = renewals(World.KEPT);
    for (int step = 0; step < 3; step++) {
      world.pass(STEP);
      if (!world.isKept()) {
        throw new AssertionError("Another lease of the client was lost: " + world.kept.state());
      }
    }
    if (renewals(World.NAME) + renewals(World.PARTNER) != renewed) {
      throw new AssertionError("Renewed, though nobody holds it");
    }
    if (renewals(World.KEPT) == kept) {
      throw new AssertionError("Another lease of the client is no longer renewed");
    }
  }

  private void theLockCanBeAcquiredAgain() {
    try (JointLease lease = world.bothHeld()) {
      if (!lease.isHeld() || isFree(World.NAME) || isFree(World.PARTNER)) {
        throw new AssertionError("Acquired again, and not held");
      }
    }
    if (!isFree(World.NAME) || !isFree(World.PARTNER)) {
      throw new AssertionError("Acquired again and closed, and not free");
    }
  }

  /** While time stands still and no user calls, the engine calls nobody either. */
  private void nothingSpins() {
    world.settle();
    long before = calls.all();
    long untilNanos = System.nanoTime() + STILL_NANOS;
    Eventually.await("a while", () -> System.nanoTime() - untilNanos > 0);
    if (calls.all() - before > CALLS_MAX) {
      throw new AssertionError("Something spins: " + (calls.all() - before) + " calls");
    }
  }

  private void theClientCloses() {
    world.close();
    world.awaitNoThread();
    for (int step = 0; step < CRASH_BOUND; step++) {
      if (isFree(World.NAME) && isFree(World.PARTNER) && isFree(World.KEPT)) {
        return;
      }
      world.time.advance(STEP);
    }
    throw new AssertionError("Locks of a closed client are taken for longer than their TTL");
  }
}
