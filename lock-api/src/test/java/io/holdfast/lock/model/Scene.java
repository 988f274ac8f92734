package io.holdfast.lock.model;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockException;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.Engine;
import io.holdfast.lock.internal.ModelEngine;
import io.holdfast.lock.model.CallsOut.Answering;
import io.holdfast.lock.model.LifeCycle.Trait;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A life cycle in the model's world: a client whose every call out is counted and can fail, threads
 * that use it as the life cycle says, and what other clients have at the server.
 */
final class Scene {
  static final Duration TTL = Duration.ofSeconds(30);

  /** Due, whatever the jitter. */
  static final Duration AT_RENEWAL = Duration.ofMillis(11_100);

  /** The name that a life cycle is about. */
  static final String NAME = "x";

  /** The name that is taken after that one, together with it. */
  static final String PARTNER = "y";

  /** A name that others have. */
  static final String THIRD = "z";

  private static final int PERMITS = 2;
  private static final LockOptions RENEWED = LockOptions.renewed(TTL);

  /** The name of a lease that the client holds all along; the store renews it with that of x. */
  private static final String KEPT = "held";

  /** The answer to a call that was carried out is lost. */
  static final Answering LOST = call -> {
    Object unused = call.call();
    throw StoreException.unanswered("the answer was lost", null);
  };

  /** A call changes nothing and fails. */
  static final Answering REFUSED = call -> {
    throw StoreException.refused("the store is down", null);
  };

  /** Enough for each call under way, its retries, and what is done in the background. */
  private static final Duration SETTLING = Duration.ofSeconds(8);

  /** In three TTLs, an engine that looks ten times a second, and renews, makes fewer calls. */
  private static final int CALLS_MAX = 10_000;

  /** The sorts of things that are acquired. */
  enum Sort {
    LOCK,
    TWO_LOCKS,
    PERMIT,
    READ
  }

  private final World world;
  private final Server server;
  private final LifeCycle cycle;
  private final CallsOut calls;
  private final Machine machine;
  private final SemaphoreClient client;
  private final List<Actor> actors = new ArrayList<>();

  /** All so far; kept, so that no garbage collector finds them. */
  private final List<AnyLease> leases = new ArrayList<>();

  private boolean over;

  Scene(
      World world,
      Server server,
      Setting setting,
      LifeCycle cycle,
      CallsOut calls,
      Machine machine,
      RemoteStore store,
      long seed) {
    this.world = world;
    this.server = server;
    this.cycle = cycle;
    this.calls = calls;
    this.machine = machine;
    Engine.Settings settings = new Engine.Settings(
        machine.toString(),
        RENEWED,
        Duration.ofNanos(setting.timeoutNanos()),
        List.of(calls.through(LockListener.class, new LockListener() {})),
        cycle.is(Trait.HAS_EXECUTOR) ? calls.executor(machine::thread) : null,
        setting.handOff(),
        calls.through(TimeSource.class, machine));
    this.client = ModelEngine.start(
        settings,
        machine.toString(),
        seed,
        calls.through(PermitStore.class, store),
        calls.threads(machine::thread));
  }

  SemaphoreClient client() {
    return client;
  }

  // The play

  /** Plays the life cycle; throws if somebody waits for ever, or gets what he should not. */
  void play() {
    await(start("opener", () -> leases.add(client.get(KEPT).tryLock().orElseThrow())));
    calls.begin(this::wakeLater);
    await(start("caller", () -> {
      cycle.play().run(this);
      return null;
    }));
    boolean unused = world.run(() -> false, SETTLING.toNanos());
    calls.end();
    for (Actor actor : actors) {
      await(actor);
      actor.gotNothingElse();
    }
  }

  private void await(Actor actor) {
    if (!world.run(() -> actor.done, 20 * TTL.toNanos())) {
      throw new Broken(Rule.ENDS, actor + " waits for ever");
    }
  }

  /** After each step: what its user would be told is held is so at the server. */
  void look() {
    for (AnyLease lease : cycle.is(Trait.LOSES) ? List.<AnyLease>of() : leases) {
      for (ModelEngine.Held held : ModelEngine.allHeld(lease)) {
        if (held.seemsToStand(machine.nanosNow(), machine.wallAheadNanos())
            && server.verify(held.grant()).isEmpty()) {
          throw new Broken(Rule.ONE_HOLDER, held + " is not what the server says");
        }
      }
    }
  }

  /**
   * If the engine's clock failed, a thread pauses on the real one, which the world does not see.
   */
  private void wakeLater() {
    Thread thread = Thread.currentThread();
    world.after(100_000_000, () -> LockSupport.unpark(thread));
  }

  /** While nobody calls, the engine renews what is held, and does nothing else. */
  void quiet() {
    int before = calls.all();
    boolean unused = world.run(() -> false, 3 * TTL.toNanos());
    if (calls.all() - before > CALLS_MAX) {
      throw new Broken(Rule.ENDS, "something spins: " + (calls.all() - before) + " calls");
    }
    AnyLease kept = leases.get(0);
    Actor closer = start("closer", () -> {
      kept.ensureHeld();
      kept.close();
      return null;
    });
    await(closer);
    if (closer.thrown != null && !cycle.is(Trait.CLOSES)) {
      throw new Broken(Rule.NOT_LOST_FOR_NOTHING, "another lease was lost", closer.thrown);
    }
  }

  /** Lets the threads end, which live on when they are done, as those of pools do. */
  void end() {
    over = true;
    actors.forEach(actor -> LockSupport.unpark(actor.thread));
  }

  /** A thread of a user. */
  final class Actor {
    private final Thread thread;
    private @Nullable Throwable thrown;
    private boolean interrupted;
    private boolean done;

    private Actor(String name, boolean livesOn, Callable<?> action) {
      this.thread = machine.thread(
          () -> {
            try {
              Object unused = action.call();
            } catch (Throwable e) { // It is judged when all is over.
              thrown = e;
            }
            done = true;
            boolean unused = Thread.interrupted();
            while (livesOn && !over) {
              LockSupport.park();
            }
          },
          name);
      thread.start();
    }

    void interrupt() {
      if (!done) {
        interrupted = true;
        thread.interrupt();
      }
    }

    /**
     * Whether it got nothing but what was injected, or an exception that says what is the matter.
     */
    private void gotNothingElse() {
      Throwable e = thrown;
      boolean may = e == null
          || Failure.isBehind(e)
          || (e instanceof InterruptedException && interrupted)
          || (e instanceof LockException
              && (!(e instanceof LockLostException) || cycle.is(Trait.LOSES)));
      if (!may) {
        throw new Broken(Rule.DOCUMENTED, this + " got " + e, e);
      }
    }

    @Override
    public String toString() {
      return "thread '" + thread.getName() + "'";
    }
  }

  // For life cycles

  /** A thread of this name does this. */
  Actor start(String name, Callable<?> action) {
    return start(name, true, action);
  }

  /** As {@link #start}, and the thread dies when it is done. */
  Actor startDying(String name, Callable<?> action) {
    return start(name, false, action);
  }

  private Actor start(String name, boolean livesOn, Callable<?> action) {
    Actor actor = new Actor(name, livesOn, action);
    actors.add(actor);
    return actor;
  }

  /** A thread that acquires this, and closes it. */
  Actor waiter(Callable<? extends AnyLease> acquire) {
    return start("waiter", () -> {
      try (AnyLease lease = acquire.call()) {
        lease.ensureHeld();
      }
      return null;
    });
  }

  /** One waits by now. */
  void waits(Callable<? extends AnyLease> acquire) {
    waiter(acquire);
    pause();
  }

  void waits() {
    waits(() -> lock().lock());
  }

  /** Lets time pass for the calling thread, whatever wakes it. */
  void pass(Duration duration) {
    long endNanos = machine.nanosNow() + duration.toNanos();
    while (endNanos - machine.nanosNow() > 0) {
      machine.park(this, endNanos - machine.nanosNow());
    }
  }

  /** Lets the others do what they can do at once; a lease can still be handed on afterwards. */
  void pause() {
    pass(Duration.ofMillis(30));
  }

  DistributedLock one() {
    return client.get(NAME);
  }

  DistributedReadWriteLock rw() {
    return client.readWrite(NAME);
  }

  /** A lease that its user keeps for some time. */
  AnyLease keptForTheTtl() throws InterruptedException {
    AnyLease lease = lock().lock();
    pass(TTL);
    return lease;
  }

  Acquirable<? extends AnyLease> lock(LockOptions options) {
    return switch (cycle.sort()) {
      case LOCK -> client.get(NAME, options);
      case TWO_LOCKS -> client.all(List.of(PARTNER, NAME), options);
      case PERMIT -> client.semaphore(NAME, PERMITS, options);
      case READ -> client.readWrite(NAME, options).read();
    };
  }

  Acquirable<? extends AnyLease> lock() {
    return lock(RENEWED);
  }

  /** A lease of what is free. */
  AnyLease held(LockOptions options) {
    Optional<? extends AnyLease> lease = lock(options).tryLock();
    lease.ifPresent(leases::add);
    return lease.orElseThrow(() -> new AssertionError("busy, though it is free"));
  }

  AnyLease held() {
    return held(RENEWED);
  }

  /** Something that is done with a lease, or while others have one. */
  interface With<T> {
    void run(T it) throws Exception;
  }

  /** Does this with a lease, and closes it. */
  void holding(LockOptions options, With<AnyLease> then) throws Exception {
    try (AnyLease lease = held(options)) {
      onLost(lease);
      then.run(lease);
      lease.ensureHeld();
    }
  }

  void holding(With<AnyLease> then) throws Exception {
    holding(RENEWED, then);
  }

  /** Does this while this client has all that there is. */
  void holdingAll(Runnable then) throws Exception {
    switch (cycle.sort()) {
      case LOCK, TWO_LOCKS -> holding(lease -> then.run());
      case PERMIT -> holding(first -> holding(second -> then.run()));
      case READ -> {
        try (Lease write = one().tryLock().orElseThrow()) {
          then.run();
          write.ensureHeld();
        }
      }
    }
  }

  /** Does this while others have all that there is, or of two locks the second. */
  void othersHolding(Runnable then) {
    othersHolding(cycle.sort() == Sort.TWO_LOCKS ? PARTNER : NAME, then);
  }

  /** Does this while others have this name. */
  void othersHolding(String name, Runnable then) {
    List<Grant> others = others(name);
    try {
      then.run();
    } finally {
      release(others);
    }
  }

  /** A listener for the loss of a lease. */
  void onLost(AnyLease lease) {
    lease.onLost(loss -> calls.at("onLost"));
  }

  /** The next such call is answered this way. */
  void next(String call, Answering answering) {
    calls.next(call, answering);
  }

  void jumpWallClock(Duration by) {
    machine.setWallClock(by.toNanos());
  }

  StoreEvents events() {
    return ModelEngine.events(client);
  }

  /** The grant of a lease that is held of one lock, or of a permit. */
  Grant grant(AnyLease lease) {
    return ModelEngine.held(lease).grant();
  }

  // What others do at the server

  /** Another client asks once, for a semaphore's every permit; what it got. */
  List<Grant> others(String name) {
    LockKey key = key(name);
    boolean isLock = key.kind() == LockKind.MUTEX;
    List<Grant> grants = new ArrayList<>();
    for (int permit = 0; permit < (isLock ? 1 : PERMITS); permit++) {
      Claim claim = new Claim(
          key,
          isLock ? Claim.EXCLUSIVE : new Claim.Permit(PERMITS),
          name + " of others, " + permit,
          TTL.multipliedBy(2),
          Duration.ZERO,
          "another client");
      server.tryAcquire(claim, 1).ifPresent(grants::add);
    }
    return grants;
  }

  void release(List<Grant> others) {
    for (Grant grant : others) {
      Object unused = server.release(grant, Duration.ZERO);
    }
  }

  private LockKey key(String name) {
    boolean permit = cycle.sort() == Sort.PERMIT && name.equals(NAME);
    return new LockKey(permit ? LockKind.PERMIT : LockKind.MUTEX, name);
  }

  /** Others take a lease away; of two locks, the second. */
  void takeAway() {
    LockKey key = key(cycle.sort() == Sort.TWO_LOCKS ? PARTNER : NAME);
    boolean unused = server.force(key, server.number(key));
  }
}
