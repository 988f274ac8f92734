package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.event.HeldLease;
import io.holdfast.lock.internal.event.JfrEvents;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.task.Task;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One owner's turn within a grant: what its nested acquisitions share. As a task: its release,
 * where the thread that closed it could not finish that.
 *
 * <p>Fields that can change are guarded by the mutex of its {@link WaitQueue}, unless they say
 * otherwise.
 */
public final class Hold extends Task implements HeldLease {
  private static final AtomicIntegerFieldUpdater<Hold> BEING_RELEASED =
      AtomicIntegerFieldUpdater.newUpdater(Hold.class, "beingReleased");

  private final WaitQueue queue;
  private final ActiveGrant grant;
  private final int handOffs;
  private final long token;
  private final Thread acquirer;
  private final long sinceNanos;
  private final JfrEvents.Held jfrEvent = new JfrEvents.Held();

  /** The thread that may re-enter; null: none. */
  @Nullable
  Thread owner;

  /** Whether its acquirer has it; false while it is handed on. */
  boolean seen;

  /** Taken from its thread: it may end anywhere, so it is not handed on locally. */
  boolean detached;

  /** A guard was opened on it: the store could not tell a local successor from it. */
  boolean everGuarded;

  int openGuards;

  /** Closed while a guard was open: to be released when the last guard ends. */
  boolean releaseWanted;

  /** Handed on, and the next does not know of it yet. */
  boolean undelivered;

  /** One of its handles became unreachable without being closed: it ends with its TTL. */
  boolean leaked;

  /** Why nobody has it any more. */
  @Nullable
  LeaseLoss loss;

  /** Its loss, until it is told. */
  @Nullable
  LossNotice untold;

  /** The acquisitions that were not closed yet. */
  final List<Handle> open = new ArrayList<>(1);

  /**
   * Those of them that have no lease that could be dropped ({@code asLock()}), the latest first.
   */
  private @Nullable Deque<Handle> threadOwned;

  /** Its acquirer has died, and can't close what it acquired through {@code asLock()}. */
  private volatile boolean acquirerDead;

  /** 1 while a thread is giving it back. */
  @SuppressWarnings("UnusedVariable") // The updater reads it.
  private volatile int beingReleased;

  /** The next in the queue's list of lost holds. */
  @Nullable
  Hold nextLost;

  /** The loss listeners of the handle that was closed last. */
  private List<Consumer<? super LeaseLoss>> lastListeners = List.of();

  Hold(WaitQueue queue, ActiveGrant grant, int handOffs, Thread acquirer, long sinceNanos) {
    this.queue = queue;
    this.grant = grant;
    this.handOffs = handOffs;
    this.token = Token.of(grant.grant().number(), handOffs);
    this.acquirer = acquirer;
    this.sinceNanos = sinceNanos;
    this.seen = handOffs == 0;
    this.owner = grant.options().ownership() == Ownership.THREAD ? acquirer : null;
    jfrEvent.begin();
  }

  /** The queue that it is in. */
  public WaitQueue queue() {
    return queue;
  }

  /** The grant that it lives in. */
  public ActiveGrant grant() {
    return grant;
  }

  int handOffs() {
    return handOffs;
  }

  /** The thread that acquired it. */
  public Thread acquirer() {
    return acquirer;
  }

  @Override
  public String lockName() {
    return grant.key().name();
  }

  @Override
  public long token() {
    return token;
  }

  @Override
  public long sinceNanos() {
    return sinceNanos;
  }

  @Override
  public JfrEvents.Held jfrEvent() {
    return jfrEvent;
  }

  /** For a lease of it that does not stand. */
  public LockLostException lostException() {
    return grant.lostException(token);
  }

  /**
   * Whether the calling thread is the one that gives it back now; {@link #unclaimRelease} follows.
   */
  public boolean claimRelease() {
    return BEING_RELEASED.compareAndSet(this, 0, 1);
  }

  /** The calling thread no longer gives it back, done or not. */
  public void unclaimRelease() {
    beingReleased = 0;
  }

  @Override
  protected void work() throws Exception {
    queue.releaser().release(this);
  }

  /**
   * The loss listeners of the handle that was closed last: the store may say at its release that it
   * had been lost before.
   */
  public List<Consumer<? super LeaseLoss>> lastListeners() {
    return lastListeners;
  }

  void remove(Handle handle, @Nullable LeaseState how) {
    if (open.size() == 1) {
      lastListeners = handle.lossListeners();
    }
    open.remove(handle);
    if (threadOwned != null) {
      boolean unused = threadOwned.remove(handle);
    }
    handle.close(how);
  }

  /** Whether it holds the lock for nobody. */
  boolean isAbandoned() {
    return (open.isEmpty() || undelivered) && openGuards == 0 && !leaked;
  }

  Handle open() {
    Handle handle = new Handle(this);
    open.add(handle);
    return handle;
  }

  /** Its acquirer has died; {@link Holds#takeDropped} does the rest. */
  public void markAcquirerDead() {
    acquirerDead = true;
  }

  void pushThreadOwned(Handle handle) {
    if (threadOwned == null) {
      threadOwned = new ArrayDeque<>(2);
    }
    threadOwned.push(handle);
  }

  @Nullable
  Handle lastThreadOwned() {
    return threadOwned == null ? null : threadOwned.peek();
  }

  /** Marks as dropped what a thread that has died can't close any more. */
  void dropIfAcquirerDead() {
    if (acquirerDead && threadOwned != null) {
      threadOwned.forEach(Handle::markDropped);
    }
  }

  /** The holder's description; null: there is no hold here. */
  static @Nullable String description(@Nullable Hold hold) {
    return hold == null ? null : hold.grant().grant().claim().holder();
  }
}
