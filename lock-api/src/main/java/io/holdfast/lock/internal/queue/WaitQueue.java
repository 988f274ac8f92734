package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Waiter.News;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A wait queue of one name in one client: the open hold, the leader, and the threads that wait. Of
 * readers, it is for one grant of the store, which all that wait here for it share. Pure
 * bookkeeping: no I/O, no waiting, no clock, and no user code.
 *
 * <p>Threads: any. Everything is guarded by the queue's mutex, under which nothing else is locked.
 * The mutex is this object's monitor.
 */
public final class WaitQueue {
  /*
   * Overview.
   *
   * At any time there is at most one of these: an open hold; a leader, which asks the store or
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
   * Readers differ in two ways. When their leader is granted, all that wait get a hold of that grant
   * with it; the last of them to close gives it back. And from then on nobody waits here: a reader
   * that comes joins them while their window is open, and else uses another queue.
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

  private static final News ELSEWHERE = new Waiter.Elsewhere();

  private final LockKey key;

  /** The mode in which its leaders ask for the lock. */
  final Claim.Mode mode;

  /** Releases a hold that its closing thread could not release; goes on where that one failed. */
  final Consumer<Hold> releaser;

  /** The number of calls and holds that use this queue; guarded by {@link WaitQueues}. */
  int users;

  private final Waiters waiters = new Waiters();
  private final EarlyEvents earlyEvents = new EarlyEvents(this::grant);

  /**
   * The open holds, all of one grant: one at most, if they are no readers'. That it was lost may
   * not have been booked yet.
   */
  private final ArrayList<Hold> open = new ArrayList<>(1);

  /** The time in which readers may join the grant; null if it is no queue of readers. */
  final @Nullable ShareWindow window;

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

  /** @param window null unless it is a queue of readers */
  WaitQueue(LockKey key, Claim.Mode mode, @Nullable ShareWindow window, Consumer<Hold> releaser) {
    this.key = key;
    this.mode = mode;
    this.window = window;
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
   * @throws IllegalStateException the thread owns the lock, in the same mode, with other options
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
      if (!open.contains(owned)) {
        throw owned.lostException();
      }
      if (waiter.mode.equals(mode)) {
        waiter.requireEqual(owned.grant().options(), key.name());
      }
      return owned.reenter(waiter);
    }
    if (!waiter.mode.equals(mode)) {
      return ELSEWHERE;
    }
    if (window != null && window.isGranted()) {
      return join(waiter);
    }
    if (open.isEmpty() && !isLed() && waiters.isEmpty()) {
      leader = waiter;
      waiter.news = YOUR_TURN;
      return YOUR_TURN;
    }
    if (!waits && isKnownTaken()) {
      return new Waiter.Taken(descriptionOfHolder());
    }
    waiter.behindItself = !open.isEmpty() && open.get(0).acquirer() == thread;
    waiters.append(waiter);
    if (!waits) {
      waiters.markOverdue(waiter);
    }
    passTurn();
    return waiter.news;
  }

  /** Lets a reader in with those who have the grant, if it is there still and it wants the same. */
  private News join(Waiter waiter) {
    if (!waiter.mayJoin
        || open.isEmpty()
        || !open.get(0).grant().options().equals(waiter.options)) {
      return ELSEWHERE;
    }
    Waiter.Acquired news =
        acquired(waiter, open.get(0).grant(), waiter.joinsAtNanos, Source.SHARED);
    open.add(news.handle().hold());
    waiter.news = news;
    return news;
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
      waiters.tell(waiter, new Waiter.Taken(descriptionOfHolder()));
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
   * Makes the leader, which got a grant, the holder; of readers, all that wait. The handle also
   * becomes the waiter's news, so that it can be found even if this call fails to return it.
   *
   * @param askedNanos the time before the request was sent
   * @return the handle; null if the client was closed meanwhile, and the grant must be given back
   */
  public synchronized @Nullable Handle granted(Waiter waiter, ActiveGrant grant, long askedNanos) {
    if (clientClosed) {
      return null;
    }
    Waiter.Acquired news = acquired(waiter, grant, grant.grantedAtNanos(), Source.STORE);
    if (window != null) {
      share(grant);
      window.granted(grant, askedNanos);
    } else {
      waiters.tellOverdueTaken(grant.grant().claim().holder());
    }
    stopLeading();
    open.add(news.handle().hold());
    waiter.news = news;
    return news.handle();
  }

  private Waiter.Acquired acquired(
      Waiter waiter, ActiveGrant grant, long sinceNanos, Source source) {
    Hold hold = new Hold(this, grant, 0, waiter.thread, sinceNanos);
    return new Waiter.Acquired(hold.open(waiter.mode), source);
  }

  /** Gives all that wait a hold of this grant, except those that asked with other options. */
  private void share(ActiveGrant grant) {
    List<News> news = new ArrayList<>();
    for (Waiter waiter = waiters.first(); waiter != null; waiter = waiter.next) {
      boolean equal = waiter.options.equals(grant.options());
      news.add(equal ? acquired(waiter, grant, grant.grantedAtNanos(), Source.SHARED) : ELSEWHERE);
    }
    open.ensureCapacity(news.size() + 1); // The last call that can fail.
    for (News each : news) {
      if (each instanceof Waiter.Acquired acquired) {
        open.add(acquired.handle().hold());
      }
      waiters.tell(Objects.requireNonNull(waiters.first()), each);
    }
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

  /** Whether it is a queue of readers. */
  public boolean isOfReaders() {
    return window != null;
  }

  /** Notes how long a read took that is about to be closed. */
  public synchronized void noteRead(Hold hold, long nowNanos) {
    Objects.requireNonNull(window).closed(nowNanos - hold.sinceNanos());
  }

  /** Whether a thread waits here; the answer may be outdated at once. */
  public boolean isAwaited() {
    return !waiters.isEmpty();
  }

  /** Returns the grant that is held here. That it was lost may not have been booked yet. */
  public synchronized @Nullable ActiveGrant grant() {
    return open.isEmpty() ? null : open.get(0).grant();
  }

  /** Returns the open holds of this grant. That they were lost may not have been booked yet. */
  public synchronized List<Hold> holdsOf(ActiveGrant grant) {
    return grant() == grant ? List.copyOf(open) : List.of();
  }

  /** Returns the holds whose grants the store may show: open, or lost under an open guard. */
  public synchronized List<Hold> toGiveUp() {
    return Stream.concat(open.stream().limit(1), lost.stream().filter(Hold::isGuarded))
        .toList();
  }

  /** Returns the hold that this thread owns, lost or not. Allocates nothing. */
  public synchronized @Nullable Hold ownedBy(Thread thread) {
    for (int index = 0; index < open.size(); index++) {
      if (open.get(index).isOwnedBy(thread)) {
        return open.get(index);
      }
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
   * Returns this thread's latest open acquisition in this mode through {@code asLock()}. Allocates
   * nothing, so that a thread can unlock even if the heap is full.
   */
  public synchronized @Nullable Handle lastThreadOwned(Thread thread, Claim.Mode asked) {
    Hold hold = ownedBy(thread);
    return hold == null ? null : hold.lastThreadOwned(asked);
  }

  /**
   * Returns a hold of this grant whose loss must still be told; {@link Hold#told} must follow. Null
   * if the grant is not lost, if all were told, or if the closing thread tells it.
   */
  public synchronized @Nullable Hold untold(ActiveGrant grant) {
    bookIfLost();
    for (Hold hold : lost) {
      if (hold.grant() == grant && hold.untold() != null) {
        return hold;
      }
    }
    return null;
  }

  /** Closes one of this grant's handles that its user dropped; null if there is none. */
  public synchronized Handle.@Nullable Dropped takeDropped(ActiveGrant grant) {
    bookIfLost();
    for (List<Hold> holds : List.of(open, lost)) {
      for (Hold hold : holds) {
        Handle.Dropped dropped = hold.grant() == grant ? hold.takeDropped() : null;
        if (dropped != null) {
          if (window != null && dropped.leaks()) {
            window.close();
          }
          return dropped;
        }
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
    if (grant() == grant && !isShared() && open.get(0).isAbandoned()) {
      beginRelease(open.get(0));
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

  private @Nullable String descriptionOfHolder() {
    return open.isEmpty() ? null : open.get(0).grant().grant().claim().holder();
  }

  private boolean isKnownTaken() {
    return !open.isEmpty() || wakeLeader != null;
  }

  /** Whether several holds share the grant that is held here. */
  boolean isShared() {
    return open.size() > 1;
  }

  /** Ends a hold whose grant others share. */
  void leave(Hold hold) {
    open.remove(hold);
  }

  /** Books the loss of the open holds, if their grant was lost. */
  void bookIfLost() {
    while (!open.isEmpty() && open.get(0).bookIfLost()) {
      // Each leaves the list.
    }
  }

  /** Moves an open hold to the list of lost holds; if this throws, it has not moved. */
  void listLost(Hold hold) {
    lost.add(hold);
    open.remove(hold);
  }

  /** Takes a hold off the list of lost holds; false if it was not there. */
  boolean unlistLost(Hold hold) {
    return lost.remove(hold);
  }

  @Nullable
  Waiter firstWaiter() {
    return waiters.first();
  }

  /** Replaces the open hold by a waiter's, without waking it. */
  void handOn(Waiter next, News news, Hold successor) {
    waiters.give(next, news);
    open.set(0, successor);
  }

  /** Makes the hold lead until {@link #endRelease}. */
  void beginRelease(Hold hold) {
    open.remove(hold);
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
    if (next != null && open.isEmpty() && !isLed()) {
      waiters.give(next, YOUR_TURN);
      // No call that can fail lies between, so whoever has the news also leads.
      leader = next;
      next.wake();
    }
  }
}
