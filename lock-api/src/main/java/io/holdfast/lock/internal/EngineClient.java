package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.cleanup.Cleanup;
import io.holdfast.lock.internal.event.Callbacks;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.EarlyEvents;
import io.holdfast.lock.internal.queue.HandOff;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.WaitQueues;
import io.holdfast.lock.internal.renewal.Keeper;
import io.holdfast.lock.internal.task.EngineThreads;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The client: assembles the parts of the engine and connects them. */
class EngineClient implements LockClient, StoreEvents {
  /*
   * Overview.
   *
   * A lock is acquired by an Attempt, on the caller's thread. The attempt gets a Handle of a Hold
   * in a WaitQueue; the hold belongs to an ActiveGrant, which the Keeper renews. Settlement handles
   * every end of a lease. Questions makes the user's other requests to the store.
   *
   * Threads: the keeper; settlers (what a loss leaves to do, no I/O); cleaners (releases and
   * withdrawals off the caller's thread, I/O); renewals; callbacks (user code). Each kind of work
   * has its own threads, so that a hanging store or a blocking listener delays nothing else.
   */

  private static final int SETTLERS = 1;

  /** The number of cleaner threads: few, so that an outage does not start many. */
  private static final int CLEANERS = 4;

  /** The number of callback threads: fewer slow listeners than this delay no others. */
  private static final int CALLBACKS = 32;

  private final LockOptions defaultOptions;
  private final Duration storeTimeout;
  private final ClientClosing closing;

  final Parts parts;
  final Settlement settlement;
  final Questions questions;

  EngineClient(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, LockStore store) {
    this.defaultOptions = settings.defaultOptions();
    this.storeTimeout = settings.storeTimeout();
    this.parts = parts(settings, time, clientName, claims, store);
    HandOff handOff = settings.localHandOff() ? HandOff.BOUNDED : HandOff.NEVER;
    this.settlement = new Settlement(parts, handOff);
    this.questions = new Questions(parts, settlement);
    this.closing = new ClientClosing(parts);
  }

  /** Makes the parts; what they call back is there before they are started. */
  private Parts parts(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, LockStore store) {
    EngineThreads threads = new EngineThreads(clientName);
    Workers settlers = new Workers(threads, "settlement", SETTLERS, this::wakeKeeper);
    Workers cleaners = new Workers(threads, "clean-up", CLEANERS, this::wakeKeeper);
    Workers callbackThreads = new Workers(threads, "callback", CALLBACKS, this::wakeKeeper);
    Callbacks callbacks = new Callbacks(callbackThreads, settings.callbackExecutor());
    DroppedLeases droppedLeases = new DroppedLeases(settlers);
    WaitQueues queues = new WaitQueues(this::releaseHold);
    long storeTimeoutNanos = Nanos.of(storeTimeout);
    Cleanup cleanup = new Cleanup(store, time, cleaners, storeTimeoutNanos, this::wakeKeeper);
    KeeperChores chores = new KeeperChores(
        time,
        queues,
        callbacks,
        cleanup,
        droppedLeases,
        List.of(settlers, cleaners, callbackThreads));
    return new Parts(
        time,
        store,
        storeTimeoutNanos,
        claims,
        queues,
        new Events(settings.listeners(), callbacks, time),
        callbacks,
        new Keeper(threads, store, time, chores, this::renewedInRound),
        cleanup,
        droppedLeases,
        settlers,
        cleaners,
        callbackThreads,
        new AtomicBoolean());
  }

  void start() {
    parts.keeper().start();
  }

  private void wakeKeeper() {
    parts.keeper().wake();
  }

  private void releaseHold(Hold hold) {
    settlement.release(hold);
  }

  private void renewedInRound(ActiveGrant grant) {
    settlement.renewedInRound(grant);
  }

  // Locks

  @Override
  public LockOptions defaultOptions() {
    return defaultOptions;
  }

  @Override
  public DistributedLock get(String name) {
    return new EngineLock(this, new LockKey(LockKind.MUTEX, name), defaultOptions);
  }

  @Override
  public DistributedLock get(String name, LockOptions options) {
    return lock(new LockKey(LockKind.MUTEX, name), options);
  }

  @Override
  public JointLock all(Collection<String> names) {
    return all(names, defaultOptions);
  }

  @Override
  public JointLock all(Collection<String> names, LockOptions options) {
    List<LockKey> keys = EngineJointLock.keys(names);
    checkOptions(options);
    return new EngineJointLock(this, keys, options);
  }

  DistributedLock lock(LockKey key, LockOptions options) {
    checkOptions(options);
    return new EngineLock(this, key, options);
  }

  void checkOptions(LockOptions options) {
    StoreTimeouts.check(options, storeTimeout);
    parts.store().checkOptions(options);
  }

  @Override
  public List<HeldLock> list(String namePrefix, int limit) {
    return questions.list(namePrefix, limit);
  }

  // Acquiring

  /** Makes a lease for the user. */
  EngineLease lease(Handle handle) {
    return watched(new EngineLease(this, handle));
  }

  /** Begins to watch a new lease: it is found if its user drops it. */
  final <T extends EngineLease> T watched(T lease) {
    lease.handle.watch(lease, parts.droppedLeases().references);
    lease.handle.hold().grant().beginMinHold();
    return lease;
  }

  /** Registers a handle of {@code asLock()} with its thread; it has no lease. */
  Handle threadOwned(Handle handle) {
    parts.droppedLeases().watchThreadOf(handle);
    handle.hold().markThreadOwned(handle);
    handle.hold().grant().beginMinHold();
    return handle;
  }

  <T> Attempt.Outcome<T> acquire(Request request, Function<Handle, T> handOut)
      throws InterruptedException {
    Events.Acquiring acquiring = parts.events().acquiring(request.key().name());
    Attempt.Outcome<T> outcome;
    try {
      outcome = new Attempt<>(parts, settlement, questions, request, handOut, acquiring).run();
    } catch (Throwable e) {
      acquiring.notAcquired(e);
      throw e;
    }
    if (outcome instanceof Attempt.Taken) {
      acquiring.notAcquired(null);
    }
    return outcome;
  }

  // Holding and giving back

  boolean isHeldBy(LockKey key, Thread thread) {
    Hold hold = ownedBy(key, thread);
    return hold != null && hold.grant().stands();
  }

  /** Returns the hold of this lock that the thread owns, lost or not. */
  @Nullable
  Hold ownedBy(LockKey key, Thread thread) {
    WaitQueue queue = parts.queues().find(key);
    return queue == null ? null : queue.ownedBy(thread);
  }

  void onLost(EngineLease lease, Consumer<? super LeaseLoss> listener) {
    LeaseLoss loss = lease.handle.hold().onLost(lease.handle, lease, listener);
    if (loss != null) {
      parts.events().tellLoss(loss, listener);
    }
  }

  /**
   * Returns the thread's latest open acquisition through {@code asLock()}. Allocates nothing, so
   * that a thread can unlock even if the heap is full.
   */
  @Nullable
  Handle lastThreadOwned(LockKey key, Thread thread) {
    WaitQueue queue = parts.queues().find(key);
    return queue == null ? null : queue.lastThreadOwned(thread);
  }

  /** Closes the thread's last acquisition through {@code asLock()}; false if it has none. */
  boolean closeOfThread(LockKey key, Thread thread) {
    Handle handle = lastThreadOwned(key, thread);
    if (handle == null) {
      return false;
    }
    Hold hold = handle.hold();
    try {
      settlement.close(handle);
    } finally {
      if (!hold.hasThreadOwned()) {
        parts.droppedLeases().unwatchThreadOf(hold);
      }
    }
    return true;
  }

  // Told by the store

  @Override
  public void suspended(Grant grant) {
    heard(grant, null);
  }

  @Override
  public void lost(Grant grant, LeaseLoss.Reason reason) {
    heard(grant, Objects.requireNonNull(reason));
  }

  private void heard(Grant grant, LeaseLoss.@Nullable Reason lostBy) {
    EarlyEvents.Event event = new EarlyEvents.Event(grant.claim().ownerId(), lostBy);
    for (WaitQueue queue : parts.queues().of(grant.claim().key())) {
      ActiveGrant active = queue.earlyEvents().grantOf(event);
      if (active != null) {
        settlement.heard(active, event);
      }
    }
  }

  // The end

  @Override
  public void close() {
    closing.run();
  }
}
