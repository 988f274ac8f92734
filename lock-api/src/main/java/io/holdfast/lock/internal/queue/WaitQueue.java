package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Waiter.News;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The wait queue of one name in one client: the current hold, the leader, and the threads that
 * wait. Pure bookkeeping: no I/O, no waiting, no clock, and no user code.
 *
 * <p>Threads: any. Everything is guarded by the queue's mutex, under which nothing else is locked.
 * The mutex is this object's monitor.
 */
public final class WaitQueue {
  /*
   * Overview.
   *
   * At any time there is at most one of these: a current hold; a leader, which asks the store or
   * waits in its line; a hold that is being given back to the store. The last two are called
   * leading. The other threads wait in order of arrival. Leading is a role, not a mutex: it is kept
   * across calls to the store, and ended by granted, endLeading or endRelease.
   *
   *     enter --> YourTurn (leads) --> granted (a Hold, and a Handle for each acquisition)
   *       |          ^                   |
   *       v          |                   +-- close --> handed on: the next waiter gets Acquired
   *     queued ------+                   +-- close --> releasing: leads until endRelease
   *       |                              \-- loss ---> in the list of lost holds until its handles
   *       \--> Acquired                                are closed and its loss is told
   *
   * A leader without a lease, since its time is over or the store failed, calls endLeading: the next
   * waiter leads, with a claim of its own, which is the last in the store's line.
   *
   * A waiter is told "taken" only if the store said so, or the holder is in this client. A waiter
   * whose time is over while the leader has no answer is `overdue`: it gets the leader's answer. If
   * the leader leaves without one, the waiter leads, and asks once.
   *
   * Every method does what can fail (allocating) before its first change; from there on it only
   * writes fields. So a call that throws has changed nothing.
   */

  /** Allocated in advance: a turn must be passed on even if the heap is full. */
  private static final News YOUR_TURN = new Waiter.YourTurn();

  private final LockKey key;

  /** Releases a hold that its closing thread could not release; goes on where that one failed. */
  final Consumer<Hold> releaser;

  /** The number of calls and holds that use this queue; guarded by {@link WaitQueues}. */
  int users;

  private final Waiters waiters = new Waiters();
  private final EarlyEvents earlyEvents = new EarlyEvents(this);

  /** The current hold. That it was lost may not have been booked yet. */
  private @Nullable Hold current;

  /** The lost holds that are still open, or whose loss is still to be told. */
  private final List<Hold> lost = new ArrayList<>(0);

  /** The leading waiter; null if nobody leads, or {@link #releasing} does. */
  private @Nullable Waiter leader;

  /**
   * Wakes the leader. Set only while the leader waits in the store's line, and so only while the
   * store's last answer was "taken".
   */
  private @Nullable Runnable wakeLeader;

  /** The hold that is to be released, and leads until it is. */
  private @Nullable Hold releasing;

  private boolean clientClosed;

  WaitQueue(LockKey key, Consumer<Hold> releaser) {
    this.key = key;
    this.releaser = releaser;
  }

  /** Returns the key of the lock. */
  public LockKey key() {
    return key;
  }

  /** Returns the events of the store that came before their grant. */
  public EarlyEvents earlyEvents() {
    return earlyEvents;
  }

  // Acquiring

  /**
   * Enters a thread that wants the lock.
   *
   * @param waits whether the thread waits for the lock; otherwise it stays in the queue only until
   *     it is known whether the lock is taken
   * @return its news, or null if it waits in the queue
   * @throws IllegalStateException the thread owns the lock with other options
   * @throws LockLostException the thread owns a lease that was lost and is not closed
   */
  public synchronized @Nullable News enter(Waiter waiter, boolean waits) {
    Thread thread = waiter.thread;
    if (clientClosed) {
      return new Waiter.ClientClosed();
    }
    bookIfLost();
    Hold owned = ownedBy(thread);
    if (owned != null) {
      if (owned != current) {
        throw owned.lostException();
      }
      requireEqual(owned.grant().options(), waiter.options);
      return owned.reenter(waiter);
    }
    if (current == null && !isLed() && waiters.isEmpty()) {
      leader = waiter;
      waiter.news = YOUR_TURN;
      return YOUR_TURN;
    }
    if (!waits && isKnownTaken()) {
      return new Waiter.Taken(descriptionOfCurrent());
    }
    waiter.behindItself = current != null && current.acquirer() == thread;
    waiters.append(waiter);
    if (!waits) {
      waiters.markOverdue(waiter);
    }
    passTurn();
    return waiter.news;
  }

  private void requireEqual(LockOptions held, LockOptions asked) {
    if (!held.equals(asked)) {
      throw new IllegalStateException(("This thread owns lock '%s' with other options (%s) than it"
              + " asks for now (%s): it would wait for itself. Close the outer lease first, or ask"
              + " with equal options")
          .formatted(key.name(), held, asked));
    }
  }

  /** Removes a waiter that gives up; false if it already has news, which it must act on. */
  public synchronized boolean leave(Waiter waiter) {
    return waiters.remove(waiter);
  }

  /** Times a waiter out: at once if the lock is known to be taken, or with the leader's answer. */
  public synchronized void timeIsUp(Waiter waiter) {
    // First: if this finds a loss, the waiter may get the turn.
    bookIfLost();
    if (!waiter.queued) {
      return;
    }
    if (isKnownTaken()) {
      waiters.tell(waiter, new Waiter.Taken(descriptionOfCurrent()));
    } else {
      waiters.markOverdue(waiter);
    }
  }

  /** Notes that the leader, until now waiting in the store's line, asks the store again. */
  public synchronized void asks() {
    wakeLeader = null;
  }

  /**
   * Notes that the leader was told that the lock is taken, and waits in the store's line.
   *
   * @param wake wakes the leader if the client closes meanwhile; never blocks
   */
  public synchronized void waitsAtStore(Runnable wake) {
    waiters.tellOverdueTaken(null);
    wakeLeader = wake;
    if (clientClosed) {
      wake.run();
    }
  }

  /**
   * Makes the leader, which got a grant, the holder. The handle also becomes the waiter's news, so
   * that it can be found even if this call fails to return it.
   *
   * @return the handle; null if the client was closed meanwhile, and the grant must be given back
   */
  public synchronized @Nullable Handle granted(Waiter waiter, ActiveGrant grant) {
    if (clientClosed) {
      return null;
    }
    Hold hold = new Hold(this, grant, 0, waiter.thread, grant.grantedAtNanos());
    Handle handle = hold.open();
    News news = new Waiter.Acquired(handle, Source.STORE);
    waiters.tellOverdueTaken(grant.grant().claim().holder());
    stopLeading();
    current = hold;
    waiter.news = news;
    return handle;
  }

  /**
   * Ends the leader's turn without a lease, so that the next may ask. If the waiter no longer
   * leads, only passes on a turn that nobody has, so a call that was cut short can be repeated.
   *
   * @param news what those behind it are told, if anything
   * @param toAll whether all of them are told: after a failure of the store, each would otherwise
   *     ask in turn, and wait for one store timeout. If false, only those whose time is over are
   *     told, so that they need not wait for a further request
   */
  public synchronized void endLeading(Waiter waiter, @Nullable News news, boolean toAll) {
    endTurn(leader == waiter, news, toAll);
  }

  // Holds

  /** Whether a thread waits here; the answer may be outdated at once. */
  public boolean isAwaited() {
    return !waiters.isEmpty();
  }

  /** Returns the current hold. That it was lost may not have been booked yet. */
  public synchronized @Nullable Hold current() {
    return current;
  }

  /**
   * Returns the current hold, or null if it is marked as lost. Reads no clock: its deadline may
   * have passed.
   */
  synchronized @Nullable Hold currentUnlessLost() {
    bookIfLost();
    return current;
  }

  /** Whether a guard is open on the current hold. */
  public synchronized boolean isGuarded() {
    return current != null && current.isGuarded();
  }

  /** Returns the hold that this thread owns, lost or not. Allocates nothing. */
  public synchronized @Nullable Hold ownedBy(Thread thread) {
    if (current != null && current.isOwnedBy(thread)) {
      return current;
    }
    for (int index = 0; index < lost.size(); index++) {
      Hold hold = lost.get(index);
      if (hold.isOwnedBy(thread) && hold.isOpen()) {
        return hold;
      }
    }
    return null;
  }

  /**
   * Returns this thread's latest open acquisition through {@code asLock()}. Allocates nothing, so
   * that a thread can unlock even if the heap is full.
   */
  public synchronized @Nullable Handle lastThreadOwned(Thread thread) {
    Hold hold = ownedBy(thread);
    return hold == null ? null : hold.lastThreadOwned();
  }

  /**
   * Returns the loss of this grant if it must still be told; {@link Hold#told} must follow. Null if
   * the grant is not lost, if its loss was told, or if the closing thread tells it.
   */
  public synchronized @Nullable LossNotice notice(ActiveGrant grant) {
    bookIfLost();
    Hold hold = holdOf(grant);
    return hold == null ? null : hold.untold();
  }

  /**
   * A handle that its user dropped, and that is closed now.
   *
   * @param hold the handle's hold
   * @param last whether this was the hold's last handle
   * @param isOver whether the hold is over: the caller must call {@link WaitQueues#endUse}
   */
  public record Dropped(Hold hold, boolean last, boolean isOver) {}

  /** Closes one of this grant's handles that its user dropped; null if there is none. */
  public synchronized @Nullable Dropped takeDropped(ActiveGrant grant) {
    bookIfLost();
    Hold hold = holdOf(grant);
    return hold == null ? null : hold.takeDropped();
  }

  private @Nullable Hold holdOf(ActiveGrant grant) {
    if (current != null && current.grant() == grant) {
      return current;
    }
    for (int index = 0; index < lost.size(); index++) {
      if (lost.get(index).grant() == grant) {
        return lost.get(index);
      }
    }
    return null;
  }

  /**
   * Ends the turn of a hold that was released, or was found to be lost; the next may ask.
   *
   * @param failure why the store did not confirm the release; waiters whose time is over get it, so
   *     that they need not wait for a further request to such a store
   * @return false if the turn had ended before
   */
  public synchronized boolean endRelease(Hold hold, @Nullable StoreException failure) {
    News news = failure == null ? null : new Waiter.StoreFailed(failure);
    boolean leads = releasing == hold;
    endTurn(leads, news, false);
    return leads;
  }

  /**
   * Returns the hold of this grant that is still to be released. First begins the release of one
   * that nobody has.
   */
  public synchronized @Nullable Hold unfinishedRelease(ActiveGrant grant) {
    bookIfLost();
    if (current != null && current.grant() == grant && current.isAbandoned()) {
      beginRelease(current);
    }
    passTurn();
    return releasing != null && releasing.grant() == grant ? releasing : null;
  }

  // The end of the client

  /** Closes the queue with its client: nobody can enter any more, and those that wait are told. */
  public void closeClient() {
    News news = new Waiter.ClientClosed();
    synchronized (this) {
      clientClosed = true;
      waiters.tell(news, true);
      if (wakeLeader != null) {
        wakeLeader.run();
      }
    }
  }

  /** Whether a thread asks the store, waits in its line, or releases the lock there. */
  public synchronized boolean isLed() {
    return leader != null || releasing != null;
  }

  // Under the mutex

  private @Nullable String descriptionOfCurrent() {
    return current == null ? null : current.grant().grant().claim().holder();
  }

  private boolean isKnownTaken() {
    return current != null || wakeLeader != null;
  }

  /** Books the loss of the current hold, if it was lost. */
  void bookIfLost() {
    if (current != null) {
      current.bookIfLost();
    }
  }

  /** Moves the current hold to the list of lost holds; if this throws, it has not moved. */
  void listLost(Hold hold) {
    lost.add(hold);
    current = null;
  }

  /** Takes a hold off the list of lost holds; false if it was not there. */
  boolean unlistLost(Hold hold) {
    return lost.remove(hold);
  }

  @Nullable
  Waiter firstWaiter() {
    return waiters.first();
  }

  /** Makes a waiter's hold the current one, without waking it. */
  void handOn(Waiter next, News news, Hold successor) {
    waiters.give(next, news);
    current = successor;
  }

  /** Makes the hold lead until {@link #endRelease}. */
  void beginRelease(Hold hold) {
    current = null;
    releasing = hold;
  }

  private void endTurn(boolean leads, @Nullable News news, boolean toAll) {
    if (leads) {
      if (news != null) {
        waiters.tell(news, toAll);
      }
      stopLeading();
    }
    passTurn();
  }

  private void stopLeading() {
    leader = null;
    wakeLeader = null;
    releasing = null;
  }

  /** Lets the next in the queue lead, if nobody leads or holds. */
  void passTurn() {
    Waiter next = waiters.first();
    if (next != null && current == null && !isLed()) {
      waiters.give(next, YOUR_TURN);
      // No call that can fail lies between, so whoever has the news also leads.
      leader = next;
      next.wake();
    }
  }
}
