package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.cleanup.Cleanup;
import io.holdfast.lock.internal.event.Callbacks;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.log.SafeLogger;
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
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The client: assembles the parts of the engine and connects them. */
final class EngineClient implements LockClient, ActiveGrant.Observer, StoreEvents {
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

  private static final SafeLogger log = SafeLogger.of(EngineClient.class);

  private static final int SETTLERS = 1;

  /** The number of cleaner threads: few, so that an outage does not start many. */
  private static final int CLEANERS = 4;

  /** The number of callback threads: fewer slow listeners than this delay no others. */
  private static final int CALLBACKS = 32;

  private final LockOptions defaultOptions;
  private final Duration storeTimeout;
  private final ClientClosing closing;

  // Parts of the engine, which refer to each other through this client

  final Clocks time;
  final LockStore store;
  final Claims claims;
  final DroppedLeases droppedLeases;
  final WaitQueues queues;
  final Callbacks callbacks;
  final Events events;
  final Keeper keeper;
  final Cleanup cleanup;
  final Settlement settlement;
  final Questions questions;
  final Workers settlers;
  final Workers cleaners;
  final Workers callbackThreads;

  EngineClient(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, LockStore store) {
    this.defaultOptions = settings.defaultOptions();
    this.storeTimeout = settings.storeTimeout();
    this.time = time;
    this.store = store;
    this.claims = claims;
    EngineThreads threads = new EngineThreads(clientName);
    this.settlers = new Workers(threads, "settlement", SETTLERS, this::wakeKeeper);
    this.cleaners = new Workers(threads, "clean-up", CLEANERS, this::wakeKeeper);
    this.callbackThreads = new Workers(threads, "callback", CALLBACKS, this::wakeKeeper);
    this.callbacks = new Callbacks(callbackThreads, settings.callbackExecutor());
    this.events = new Events(settings.listeners(), callbacks, time);
    this.droppedLeases = new DroppedLeases(settlers);
    this.queues = new WaitQueues(this::releaseHold);
    this.keeper = new Keeper(threads, store, time, new KeeperChores(this), this::renewedInRound);
    this.cleanup = new Cleanup(store, time, cleaners, storeTimeoutNanos(), this::wakeKeeper);
    HandOff handOff = settings.localHandOff() ? HandOff.BOUNDED : HandOff.NEVER;
    this.settlement = new Settlement(this, handOff);
    this.questions = new Questions(this);
    this.closing = new ClientClosing(this);
  }

  void start() {
    keeper.start();
  }

  private void wakeKeeper() {
    keeper.wake();
  }

  private void releaseHold(Hold hold) {
    settlement.release(hold);
  }

  // Locks

  @Override
  public LockOptions defaultOptions() {
    return defaultOptions;
  }

  @Override
  public DistributedLock get(String name) {
    return new EngineLock(this, new LockKey(LockKind.MUTEX, name), 1, defaultOptions);
  }

  @Override
  public DistributedLock get(String name, LockOptions options) {
    return lock(new LockKey(LockKind.MUTEX, name), 1, options);
  }

  @Override
  public DistributedLock semaphore(String name, int permits) {
    return semaphore(name, permits, defaultOptions);
  }

  @Override
  public DistributedLock semaphore(String name, int permits, LockOptions options) {
    LockKey key = new LockKey(LockKind.PERMIT, name);
    if (permits < 1 || permits > Claim.PERMITS_MAX) {
      throw new IllegalArgumentException("A semaphore has 1 to %s permits, not %s (semaphore '%s')"
          .formatted(Claim.PERMITS_MAX, permits, name));
    }
    store.checkKind(LockKind.PERMIT);
    return lock(key, permits, options);
  }

  @Override
  public DistributedLock all(Collection<String> names) {
    return all(names, defaultOptions);
  }

  @Override
  public DistributedLock all(Collection<String> names, LockOptions options) {
    List<LockKey> keys = JointLock.keys(names);
    checkOptions(options);
    return keys.size() == 1
        ? new EngineLock(this, keys.get(0), 1, options)
        : new JointLock(this, keys, options);
  }

  DistributedLock lock(LockKey key, int permits, LockOptions options) {
    checkOptions(options);
    return new EngineLock(this, key, permits, options);
  }

  void checkOptions(LockOptions options) {
    StoreTimeouts.check(options, storeTimeout);
    store.checkOptions(options);
  }

  @Override
  public List<HeldLock> list(String namePrefix, int limit) {
    return questions.list(namePrefix, limit);
  }

  // Acquiring

  /** Makes a lease for the user. */
  EngineLease lease(Handle handle) {
    EngineLease lease = new EngineLease(this, handle);
    handle.watch(lease, droppedLeases.references);
    handle.hold().grant().beginMinHold();
    return lease;
  }

  /** Registers a handle of {@code asLock()} with its thread; it has no lease. */
  Handle threadOwned(Handle handle) {
    droppedLeases.watchThreadOf(handle);
    handle.hold().queue().holds().markThreadOwned(handle);
    handle.hold().grant().beginMinHold();
    return handle;
  }

  <T> Attempt.Outcome<T> acquire(Request request, Function<Handle, T> handOut)
      throws InterruptedException {
    Events.Acquiring acquiring = events.acquiring(request.key().name());
    Attempt.Outcome<T> outcome;
    try {
      outcome = new Attempt<>(this, request, handOut, acquiring).run();
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
    return ownedBy(key, thread).anyMatch(hold -> hold.grant().stands());
  }

  /** Returns the holds of this lock that the thread owns, lost or not: for a mutex, at most one. */
  Stream<Hold> ownedBy(LockKey key, Thread thread) {
    return queues.of(key).stream()
        .map(queue -> queue.holds().ownedBy(thread))
        .filter(Objects::nonNull);
  }

  void onLost(EngineLease lease, Consumer<? super LeaseLoss> listener) {
    LeaseLoss loss = lease.handle.hold().queue().holds().onLost(lease.handle, lease, listener);
    if (loss != null) {
      events.tellLoss(loss, listener);
    }
  }

  /** Returns the thread's latest open acquisition through {@code asLock()}. */
  @Nullable
  Handle lastThreadOwned(LockKey key, Thread thread) {
    WaitQueue mutex = queues.find(key);
    if (mutex != null) {
      // Allocates nothing, so that a thread can unlock even if the heap is full.
      return mutex.holds().lastThreadOwned(thread);
    }
    Handle last = null;
    for (WaitQueue queue : queues.of(key)) {
      Handle handle = queue.holds().lastThreadOwned(thread);
      if (handle != null
          && (last == null || handle.hold().sinceNanos() - last.hold().sinceNanos() > 0)) {
        last = handle;
      }
    }
    return last;
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
      if (!hold.queue().holds().hasThreadOwned(hold)) {
        droppedLeases.unwatchThreadOf(hold);
      }
    }
    return true;
  }

  // Told by grants

  @Override
  public void askAtOnce(ActiveGrant grant) {
    grant.schedule().askAtOnce();
    keeper.requestScan();
  }

  @Override
  public void certaintyChanged(ActiveGrant grant, int changes) {
    try {
      events.inOrder(() -> tellChanges(grant, changes));
    } catch (Throwable e) {
      // This change is told together with the next one.
      log.warn("A doubt about the lease of lock '{}' is told later", grant.key().name(), e);
    }
  }

  /**
   * Tells listeners about changes once each and in order, though this may be called out of order.
   */
  private void tellChanges(ActiveGrant grant, int changes) {
    while (grant.tellNextChange(changes)) {
      Hold hold = holdOf(grant);
      if (hold != null) {
        if (grant.isChangeToUncertain()) {
          events.uncertain(hold);
        } else {
          events.confirmed(hold);
        }
      }
    }
  }

  @Override
  public void lost(ActiveGrant grant) {
    settlers.submit(grant);
  }

  @Override
  public void settle(ActiveGrant grant) {
    settlement.settle(grant);
  }

  private void renewedInRound(ActiveGrant grant) {
    try {
      settlement.finishRelease(grant);
      renewed(grant);
    } catch (Throwable e) { // The lease was renewed all the same; the next renewal checks again.
      log.warn("What follows a renewal of lock '{}' was cut short", grant.key().name(), e);
    }
  }

  void renewed(ActiveGrant grant) {
    events.inOrder(() -> {
      Hold hold = holdOf(grant);
      if (hold != null) {
        events.renewed(hold);
      }
    });
  }

  private @Nullable Hold holdOf(ActiveGrant grant) {
    for (WaitQueue queue : queues.of(grant.key())) {
      Hold hold = queue.holds().current();
      if (hold != null && hold.grant() == grant) {
        return hold;
      }
    }
    return null;
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
    for (WaitQueue queue : queues.of(grant.claim().key())) {
      ActiveGrant active = queue.earlyEvents().grantOf(event);
      if (active != null) {
        heard(active, event);
      }
    }
  }

  /** Takes in an event of the store about a grant that is held. */
  void heard(ActiveGrant active, EarlyEvents.Event event) {
    if (event.lostBy() != null) {
      active.lose(event.lostBy());
    } else {
      // First, since only the answer to a later request makes the grant certain again.
      active.unanswered();
      askAtOnce(active);
    }
  }

  // The end

  @Override
  public void close() {
    closing.run();
  }

  boolean isClosed() {
    return closing.hasBegun();
  }

  /** @throws LockClientClosedException this client was closed */
  void requireOpen(String lockName) {
    if (isClosed()) {
      throw new LockClientClosedException(lockName);
    }
  }

  long storeTimeoutNanos() {
    return Nanos.of(storeTimeout);
  }
}
