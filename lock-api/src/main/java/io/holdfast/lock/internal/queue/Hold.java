package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.event.HeldLease;
import io.holdfast.lock.internal.event.JfrEvents;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.task.Task;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One owner's part of a grant, shared by the owner's nested acquisitions. A hand-off begins the
 * next hold of the same grant. As a task, a hold finishes its own release if the closing thread
 * could not.
 *
 * <p>Mutable fields are guarded by the mutex of the {@link WaitQueue}, unless they say otherwise.
 */
public final class Hold extends Task implements HeldLease {
  private final WaitQueue queue;
  private final ActiveGrant grant;
  final int handOffs;
  private final long token;
  private final Thread acquirer;
  private final long sinceNanos;
  private final JfrEvents.Held jfrEvent = new JfrEvents.Held();

  /** The thread that may re-enter; null if none may. */
  @Nullable
  Thread owner;

  /** See {@link #isSeen()}; also read without the mutex. */
  volatile boolean seen;

  /**
   * Whether it was detached from its thread. It may then end on any thread, so it is not handed on
   * locally.
   */
  boolean detached;

  /**
   * Whether a guard was ever opened on it. It is then not handed on locally, since the store could
   * not tell the successor from it.
   */
  boolean everGuarded;

  int openGuards;

  /**
   * The waiter that it was handed on to, until it is woken. Also read without the mutex, by the
   * thread that closed this hold.
   */
  @Nullable
  Waiter handedOnTo;

  /** Whether its last handle was dropped without being closed: it then ends with its TTL. */
  boolean leaked;

  /** The loss, if it was lost. */
  @Nullable
  LeaseLoss loss;

  /** The notice of its loss, until it is told. */
  @Nullable
  LossNotice untold;

  /** The acquisitions that are not closed yet, the latest last. */
  final List<Handle> openHandles = new ArrayList<>(1);

  /** The thread that is releasing it. */
  private final AtomicReference<@Nullable Thread> releasing = new AtomicReference<>();

  /** See {@link #lastListeners()}; also read without the mutex, by the releasing thread. */
  private List<Consumer<? super LeaseLoss>> lastListeners = List.of();

  Hold(WaitQueue queue, ActiveGrant grant, int handOffs, Thread acquirer, long sinceNanos) {
    this.queue = queue;
    this.grant = grant;
    this.handOffs = handOffs;
    this.token = Token.of(grant.grant().number(), handOffs);
    this.acquirer = acquirer;
    this.sinceNanos = sinceNanos;
    this.owner = grant.options().ownership() == Ownership.THREAD ? acquirer : null;
    jfrEvent.begin();
  }

  /** Returns the queue that it is in. */
  public WaitQueue queue() {
    return queue;
  }

  /** Returns the grant that it is part of. */
  public ActiveGrant grant() {
    return grant;
  }

  /** Returns the thread that acquired it. */
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

  /** Makes the exception for a lease of it that is no longer valid. */
  public LockLostException lostException() {
    return grant.lostException(token);
  }

  /** Whether its acquirer has received it; until then, listeners hear of no end of it. */
  public boolean isSeen() {
    return seen;
  }

  /**
   * Reserves the release for the calling thread; false if another thread has it. If true,
   * {@link #unreserveRelease} must follow.
   */
  public boolean reserveRelease() {
    return releasing.compareAndSet(null, Thread.currentThread());
  }

  /** Ends the calling thread's reservation, if it has it, whether the release succeeded or not. */
  public void unreserveRelease() {
    boolean unused = releasing.compareAndSet(Thread.currentThread(), null);
  }

  @Override
  protected void work() {
    queue.releaser.accept(this);
  }

  /**
   * Returns the loss listeners of the handle that was closed last: when it is released, the store
   * may say that the lease was lost before.
   */
  public List<Consumer<? super LeaseLoss>> lastListeners() {
    return lastListeners;
  }

  /**
   * Removes a handle and closes it; {@code end} is its final state, or null if it shows the state
   * of its grant.
   */
  void remove(Handle handle, @Nullable LeaseState end) {
    if (openHandles.size() == 1) {
      lastListeners = handle.lossListeners();
    }
    openHandles.remove(handle);
    handle.close(end);
  }

  /**
   * Whether it has no open handle and no open guard, but was not released: its last guard was
   * closed after its last handle.
   */
  boolean isAbandoned() {
    return openHandles.isEmpty() && openGuards == 0 && !leaked;
  }

  Handle open() {
    Handle handle = new Handle(this);
    openHandles.add(handle);
    return handle;
  }

  /** Returns the latest open acquisition through {@code asLock()}. */
  @Nullable
  Handle lastThreadOwned() {
    for (int index = openHandles.size() - 1; index >= 0; index--) {
      if (openHandles.get(index).threadOwned) {
        return openHandles.get(index);
      }
    }
    return null;
  }

  /** Returns the holder's description, or null if there is no hold. */
  static @Nullable String description(@Nullable Hold hold) {
    return hold == null ? null : hold.grant().grant().claim().holder();
  }
}
