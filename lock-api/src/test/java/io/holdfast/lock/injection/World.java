package io.holdfast.lock.injection;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.JointLease;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.SemaphoreClientBuilder;
import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.internal.memory.MemoryStore;
import io.holdfast.lock.internal.memory.MemoryTable;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.ScriptedStore;
import io.holdfast.lock.simulation.SimulatedTime;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** One client whose every call out is hooked, and what is around it. */
final class World {
  static final Duration TTL = Duration.ofSeconds(30);

  /** Due, whatever the jitter. */
  static final Duration AT_RENEWAL = Duration.ofMillis(11_100);

  /** The speed of the simulated clock, in multiples of the real one, while a client closes. */
  private static final int SPEED = 20;

  /** The name that a life cycle is about. */
  static final String NAME = "x";

  /** The name that some life cycles take after that one, together with it. */
  static final String PARTNER = "x's partner";

  /** The name of a lease that the client holds all along. */
  static final String KEPT = "kept";

  final SimulatedTime time = new SimulatedTime();
  final MemoryTable server = new MemoryTable();
  final ScriptedStore store = new ScriptedStore(time, server);
  final CallsOut calls;
  final SemaphoreClient client;
  final Lease kept;

  private final HookedThreads threads;
  private final MemoryStore others = new MemoryStore(server, time);
  private final AtomicInteger othersClaims = new AtomicInteger();
  private final Collection<User> users = new ConcurrentLinkedQueue<>();
  private volatile @Nullable StoreEvents events;
  private volatile boolean over;

  World(CallsOut calls, boolean withExecutor) {
    this.calls = calls;
    this.threads = new HookedThreads(calls);
    Builder builder = new Builder()
        .clientName("test")
        .timeSource(new HookedTime(calls, time))
        .addListener(new HookedListener(calls));
    if (withExecutor) {
      builder = builder.callbackExecutor(threads.executor());
    }
    this.client = builder.build();
    EngineProbe.changeThreads(client, threads::around);
    this.kept = client.get(KEPT).tryLock().orElseThrow();
  }

  private final class Builder extends SemaphoreClientBuilder<Builder> {
    @Override
    protected PermitStore openStore(StoreSettings settings) {
      events = settings.events();
      return new HookedStore(calls, store);
    }
  }

  /** A thread of a user, which lives on when it is done, as those of pools do. */
  final class User {
    private final Thread thread;
    private volatile @Nullable Throwable thrown;
    private volatile boolean done;

    private User(String name, boolean livesOn, Callable<?> action) {
      this.thread = new Thread(
          () -> {
            calls.enter();
            try {
              Object unused = action.call();
            } catch (Throwable e) {
              thrown = e;
            }
            done = livesOn;
            while (livesOn && !over) {
              LockSupport.park();
            }
          },
          name);
      thread.setDaemon(true);
      thread.start();
    }

    /** Returns when the thread waits for time to pass or for somebody to wake it, or is done. */
    void awaitParked() {
      Eventually.await(this + " to wait", this::isDoneOrParked);
      int parks = time.parks(thread);
      // One that was woken looks parked until it runs.
      LockSupport.unpark(thread);
      Eventually.await(
          this + " to look", () -> isDone() || (time.parks(thread) > parks && isParked()));
    }

    private boolean isParked() {
      return time.isParked(thread) && thread.getState() == Thread.State.WAITING;
    }

    boolean isDone() {
      return done || thread.getState() == Thread.State.TERMINATED;
    }

    boolean isDoneOrParked() {
      return isDone() || isParked();
    }

    void interrupt() {
      thread.interrupt();
    }

    @Nullable
    Throwable thrown() {
      return thrown;
    }

    @Override
    public String toString() {
      return "thread '" + thread.getName() + "'";
    }

    Throwable whereItIs() {
      Throwable here = new Throwable(this + " is here");
      here.setStackTrace(thread.getStackTrace());
      return here;
    }
  }

  /** A user's thread of this name does this. */
  User user(String name, Callable<?> action) {
    return user(name, true, action);
  }

  /** As {@link #user}, and its thread dies when it is done. */
  User dyingUser(String name, Callable<?> action) {
    return user(name, false, action);
  }

  private User user(String name, boolean livesOn, Callable<?> action) {
    User user = new User(name, livesOn, action);
    users.add(user);
    return user;
  }

  /** Nothing comes after this. */
  void end() {
    over = true;
    users.forEach(user -> LockSupport.unpark(user.thread));
  }

  List<User> users() {
    return List.copyOf(users);
  }

  DistributedLock lock() {
    return client.get(NAME);
  }

  DistributedLock lock(LockOptions options) {
    return client.get(NAME, options);
  }

  DistributedLock partner() {
    return client.get(PARTNER);
  }

  /** The lock of both names. */
  JointLock both(LockOptions options) {
    return client.all(List.of(PARTNER, NAME), options);
  }

  JointLock both() {
    return both(LockOptions.defaults());
  }

  /** A semaphore with two permits. */
  DistributedSemaphore semaphore(LockOptions options) {
    return client.semaphore(NAME, 2, options);
  }

  /** One permit of it, which is free. */
  PermitLease permit() {
    return semaphore(LockOptions.defaults())
        .tryLock()
        .orElseThrow(() -> new AssertionError("busy, though a permit is free"));
  }

  /** A lease of both locks, which nobody has. */
  JointLease bothHeld(LockOptions options) {
    return both(options).tryLock().orElseThrow(() -> new AssertionError("busy, though it is free"));
  }

  JointLease bothHeld() {
    return bothHeld(LockOptions.defaults());
  }

  /** A lease of a lock that nobody has. */
  Lease held() {
    return held(LockOptions.defaults());
  }

  Lease held(LockOptions options) {
    return lock(options).tryLock().orElseThrow(() -> new AssertionError("busy, though it is free"));
  }

  /** A listener for the loss of a lease. */
  void onLost(AnyLease lease) {
    lease.onLost(loss -> calls.at("onLost"));
  }

  StoreEvents events() {
    return Objects.requireNonNull(events);
  }

  /** Another client asks once. */
  Optional<Grant> others(String name) {
    return others(name, TTL);
  }

  Optional<Grant> others(String name, Duration ttl) {
    Claim claim = new Claim(
        new LockKey(LockKind.MUTEX, name),
        Claim.EXCLUSIVE,
        "other" + othersClaims.incrementAndGet(),
        ttl,
        Duration.ZERO,
        "another client");
    try {
      return others.tryAcquire(claim);
    } catch (StoreException e) {
      throw new AssertionError("The store in memory has one permit for each mutex", e);
    }
  }

  /** Whether anybody has a permit of the semaphore of this name. */
  boolean isPermitTaken(String name) {
    return !others.holders(new LockKey(LockKind.PERMIT, name)).isEmpty();
  }

  void release(Grant othersGrant) {
    Object unused = others.release(othersGrant, Duration.ZERO);
  }

  /** Another client frees a lock of this one. */
  void takeAway() {
    takeAway(NAME);
  }

  void takeAway(String name) {
    boolean unused =
        others.forceRelease(new LockKey(LockKind.MUTEX, name), store.grant(name).number());
  }

  // Time

  /** Lets time pass, and the engine do what is due. */
  void pass(Duration duration) {
    settle();
    time.advance(duration);
    settle();
  }

  /** Returns when the engine's own threads have nothing to do at this time. */
  void settle() {
    Thread keeper = EngineProbe.keeper(client);
    boolean settled = false;
    while (keeper.isAlive() && !settled) {
      Eventually.await("the engine to settle", () -> !keeper.isAlive() || isQuiet());
      int parks = time.parks(keeper);
      // One more look, after all that is over.
      LockSupport.unpark(keeper);
      Eventually.await(
          "the keeper to look",
          () -> !keeper.isAlive() || (time.parks(keeper) > parks && time.isParked(keeper)));
      settled = isQuiet();
    }
  }

  private boolean isQuiet() {
    Thread keeper = EngineProbe.keeper(client);
    if (keeper.getState() == Thread.State.TIMED_WAITING) {
      // It pauses on the machine's clock, since ours failed.
      LockSupport.unpark(keeper);
    }
    return time.isParked(keeper)
        && EngineProbe.renewing(client) == 0
        && EngineProbe.areWorkersWaiting(client)
        && threads.made().stream().allMatch(World::isWaiting);
  }

  private static boolean isWaiting(Thread thread) {
    return switch (thread.getState()) {
      case NEW, WAITING, TIMED_WAITING, TERMINATED -> true;
      case RUNNABLE, BLOCKED -> false;
    };
  }

  /** Whether the lease stands that is held all along; a doubt is settled by the store. */
  boolean isKept() {
    if (!kept.isHeld()) {
      settle();
    }
    return kept.isHeld();
  }

  // The end

  List<Throwable> deaths() {
    return threads.deaths();
  }

  /** Closes the client, while time runs. */
  void close() {
    time.runDuring(SPEED, client::close);
  }

  /** Returns when no thread of the engine is left. */
  void awaitNoThread() {
    List<Thread> all = new ArrayList<>(threads.made());
    all.add(EngineProbe.keeper(client));
    Eventually.await(
        "the threads of a closed client to end", () -> all.stream().noneMatch(Thread::isAlive));
  }
}
