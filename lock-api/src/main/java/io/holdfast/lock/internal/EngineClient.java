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
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
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
   * Threads: the keeper; "settlement" (what a loss leaves to do, no I/O); "clean-up" (releases and
   * withdrawals off the caller's thread, I/O); renewals; callbacks (user code). Each kind of work
   * has its own threads, so that a hanging store or a blocking listener delays nothing else.
   */

  private static final int SETTLERS = 1;

  /** The number of cleaner threads: few, so that an outage does not start many. */
  private static final int CLEANERS = 4;

  /** The number of callback threads: fewer slow listeners than this delay no others. */
  private static final int CALLBACKS = 32;

  private final LockOptions defaultOptions;
  private final ClientClosing closing;

  final Parts parts;
  final Leases leases;

  EngineClient(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, LockStore store) {
    this.defaultOptions = settings.defaultOptions();
    this.parts = parts(settings, time, clientName, claims, store);
    HandOff handOff = settings.localHandOff() ? HandOff.BOUNDED : HandOff.NEVER;
    Settlement settlement = new Settlement(parts, handOff);
    this.leases = new Leases(parts, settlement, new Questions(parts, settlement));
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
    long storeTimeoutNanos = Nanos.of(settings.storeTimeout());
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
    leases.settlement.release(hold);
  }

  private void renewedInRound(ActiveGrant grant) {
    leases.settlement.renewedInRound(grant);
  }

  // Locks

  @Override
  public LockOptions defaultOptions() {
    return defaultOptions;
  }

  @Override
  public DistributedLock get(String name) {
    return new EngineLock(leases, new LockKey(LockKind.MUTEX, name), defaultOptions);
  }

  @Override
  public DistributedLock get(String name, LockOptions options) {
    LockKey key = new LockKey(LockKind.MUTEX, name);
    parts.checkOptions(options);
    return new EngineLock(leases, key, options);
  }

  @Override
  public JointLock all(Collection<String> names) {
    return all(names, defaultOptions);
  }

  @Override
  public JointLock all(Collection<String> names, LockOptions options) {
    List<LockKey> keys = EngineJointLock.keys(names);
    parts.checkOptions(options);
    return new EngineJointLock(leases, keys, options);
  }

  @Override
  public List<HeldLock> list(String namePrefix, int limit) {
    return leases.questions.list(namePrefix, limit);
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
        leases.settlement.heard(active, event);
      }
    }
  }

  // The end

  @Override
  public void close() {
    closing.run();
  }
}
