package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Waiter.News;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one client that want one name: the holder, the one that asks the store, and those
 * that wait. Pure bookkeeping: no I/O, no waiting, no clock, and no user code.
 *
 * <p>Threads: any; everything is guarded by the queue's mutex, under which nothing else is locked.
 * That is its monitor, which the JVM gives up even where the stack overflows.
 */
public final class WaitQueue {
  /*
   * Overview.
   *
   * At most one thread of a client is the holder, or leads: asks the store for the lock, waits in
   * the store's queue, or gives the lock back. The rest stand in order of arrival. Leading is a role
   * and no mutex: it is kept across calls to the store, and handed to the next by endLeading,
   * leadingFailed or endRelease.
   *
   *     enter --> Leads ----------------> granted --> a Hold, and a Handle for each acquisition
   *          \--> Queued ... YourTurn --^    |
   *                     \--- HandedOn <------+ close, within the client
   *                                          +--> givenBack: leads until endRelease
   *                                          \--> lost: in the list of lost holds until its handles
   *                                               are closed and its loss is told
   *
   * "Taken" is an answer that only the store, or a holder in this client, can give. A waiter whose
   * time is over while the leader has no answer is `overdue`: it is told with that answer, and if
   * the leader leaves without one, it leads itself and asks once.
   *
   * Every method does what can fail (allocating) before its first change; from there on it only
   * writes fields. So whatever is thrown out of here has changed nothing; but for a stack that ends
   * in the middle, after which `unfinishedRelease` finds what nobody has.
   *
   * A loss is found by a compare-and-set in ActiveGrant, possibly by a thread that must not block on
   * this mutex. Whoever comes here next books it (`book`), so that nobody acts on a holder that is
   * none; it is told later, by the notice that booking leaves.
   */

  /** Gives back a hold that its closing thread could not give back. */
  public interface Releaser {
    /** Goes on where the last one failed. */
    void release(Hold hold) throws Exception;
  }

  private enum Leading {
    NOBODY,
    /** The leader has no answer yet. */
    ASKING,
    /** The store said "taken"; the leader stands in its queue. */
    IN_STORE_QUEUE,
    /** The leader gives the lock back. */
    RELEASING
  }

  /** Made ahead: a turn must be passed on even where the heap is full. */
  private static final News YOUR_TURN = new Waiter.YourTurn();

  private final LockKey key;
  private final Releaser releaser;

  /** The number of calls and holds that use this queue; guarded by {@link WaitQueues}. */
  int users;

  private final Waiters waiters = new Waiters();
  private final Holds holds = new Holds(this);
  private final EarlyEvents earlyEvents = new EarlyEvents(this);

  private Leading leading = Leading.NOBODY;

  /** Who leads; null: nobody, or {@link #givenBack}. */
  private @Nullable Waiter leader;

  private @Nullable Runnable wakeLeader;

  /** The hold that leads, to be given back. */
  private @Nullable Hold givenBack;

  private boolean clientClosed;

  WaitQueue(LockKey key, Releaser releaser) {
    this.key = key;
    this.releaser = releaser;
  }

  /** The lock that it is for. */
  public LockKey key() {
    return key;
  }

  /** The holder, and the holds that were lost. */
  public Holds holds() {
    return holds;
  }

  /** The events that the store tells of its own accord. */
  public EarlyEvents earlyEvents() {
    return earlyEvents;
  }

  Releaser releaser() {
    return releaser;
  }

  // Acquiring

  private static final Entry LEADS = new Entry.Leads();
  private static final Entry CLOSED = new Entry.Closed();

  /**
   * A thread wants the lock. Its waiter has the news at once if it leads or enters again.
   *
   * @param waits whether it waits; otherwise it stands in the queue for as long as nobody knows
   *     whether the lock is taken
   * @throws IllegalStateException it owns the lock with other options
   * @throws LockLostException it owns a lease that was lost and is not closed
   */
  public Entry enter(Waiter waiter, boolean waits) {
    Thread thread = waiter.thread();
    try {
      synchronized (this) {
        if (clientClosed) {
          return CLOSED;
        }
        Hold current = holds.current();
        if (current != null && current.owner == thread) {
          requireEqual(current.grant().options(), waiter.options());
          return reenter(current, waiter);
        }
        holds.requireNoneLost(thread);
        if (current == null && leading == Leading.NOBODY && waiters.isEmpty()) {
          leading = Leading.ASKING;
          leader = waiter;
          waiter.news = YOUR_TURN;
          return LEADS;
        }
        if (!waits && isKnownTaken()) {
          return new Entry.Taken(Hold.description(current));
        }
        Entry entry = new Entry.Queued(current != null && current.acquirer() == thread);
        waiters.append(waiter);
        if (!waits) {
          waiters.markOverdue(waiter);
        }
        passTurn();
        return entry;
      }
    } finally {
      wakeTold();
    }
  }

  private void requireEqual(LockOptions held, LockOptions asked) {
    if (!held.equals(asked)) {
      throw new IllegalStateException("This thread owns lock '"
          + key.name()
          + "' with other options ("
          + held
          + ") than it asks for now ("
          + asked
          + "): it would wait for itself. Close the outer lease first, or ask with equal options");
    }
  }

  private static Entry reenter(Hold hold, Waiter waiter) {
    Handle handle = new Handle(hold);
    Entry entry = new Entry.Reentered(handle);
    News news = new Waiter.HandedOn(handle);
    hold.open.add(handle);
    waiter.news = news;
    return entry;
  }

  /** A waiter gives up; false: it has news to deal with. */
  public synchronized boolean leave(Waiter waiter) {
    return waiters.remove(waiter);
  }

  /**
   * A waiter's time is over. If somebody has the lock, it is told so at once; otherwise with the
   * answer that the leader waits for.
   */
  public void timeIsUp(Waiter waiter) {
    try {
      synchronized (this) {
        Hold current = holds.current();
        if (!waiter.queued) {
          return;
        }
        if (isKnownTaken()) {
          waiters.tell(waiter, new Waiter.Taken(Hold.description(current)));
        } else {
          waiters.markOverdue(waiter);
        }
      }
    } finally {
      wakeTold();
    }
  }

  /** The leader, in the store's queue so far, sends a question. */
  public synchronized void asks() {
    leading = Leading.ASKING;
  }

  /**
   * The leader was told that the lock is taken, and waits in the store's queue.
   *
   * @param wake to wake it if the client closes meanwhile; only unparks
   */
  public void waitsAtStore(Runnable wake) {
    try {
      synchronized (this) {
        waiters.tellOverdueTaken(null);
        leading = Leading.IN_STORE_QUEUE;
        wakeLeader = wake;
        if (clientClosed) {
          wake.run();
        }
      }
    } finally {
      wakeTold();
    }
  }

  /**
   * The leader got a grant, and is the holder: which is its news, so that the handle is found even
   * where this call can't return it.
   *
   * @return its handle; null: the client was closed meanwhile, and the grant is to be given back
   */
  public @Nullable Handle granted(Waiter waiter, ActiveGrant grant) {
    try {
      synchronized (this) {
        if (clientClosed) {
          return null;
        }
        Hold hold = new Hold(this, grant, 0, waiter.thread(), grant.grantedAtNanos());
        Handle handle = hold.open();
        News news = new Waiter.HandedOn(handle);
        waiters.tellOverdueTaken(grant.grant().claim().holder());
        stopLeading();
        holds.begin(hold);
        waiter.news = news;
        return handle;
      }
    } finally {
      wakeTold();
    }
  }

  /**
   * The leader has no lease, and the next may ask. Changes nothing if it leads no more: its end can
   * be cut short and told again.
   *
   * @param taken whether it was told that the lock is taken: then so are those whose time is over
   * @param brokenOff why it has no answer though it asked: those whose time is over have no more of
   *     it to ask for themselves, and know as little
   */
  public void endLeading(Waiter waiter, boolean taken, @Nullable StoreException brokenOff) {
    News news = brokenOff == null ? null : new Waiter.StoreFailed(brokenOff);
    try {
      synchronized (this) {
        if (leader == waiter) {
          if (taken) {
            waiters.tellOverdueTaken(null);
          } else if (news != null) {
            waiters.tellOverdue(news);
          }
          stopLeading();
        }
        passTurn();
      }
    } finally {
      wakeTold();
    }
  }

  /**
   * The leader got no usable answer. Those behind it asked through it, so they are told the same:
   * each of them finding out anew would take one store timeout after the other. Changes nothing if
   * it leads no more.
   */
  public void leadingFailed(Waiter waiter, StoreException failure) {
    News news = new Waiter.StoreFailed(failure);
    try {
      synchronized (this) {
        if (leader == waiter) {
          waiters.tellAll(news);
          stopLeading();
        }
        passTurn();
      }
    } finally {
      wakeTold();
    }
  }

  // Closing

  /** The end of a handle. */
  public enum Closing {
    /** It was closed before. */
    CLOSED_BEFORE,
    /** An outer acquisition still holds the lock. */
    STILL_HELD,
    /** The next in the queue has it, and with it the use of this queue. */
    HANDED_ON,
    /** The hold leads, and is to be given back to the store. */
    TO_BE_RELEASED,
    /** A guard is open: to be given back when that ends. */
    GUARDED,
    /** It had been lost. */
    LOST,
    /** It had been lost and told; nothing is left of it, and the queue is to be left. */
    LOST_AND_LEFT
  }

  /** Whether somebody waits here; can be over at once. */
  public boolean isAwaited() {
    return !waiters.isEmpty();
  }

  /**
   * A handle is closed.
   *
   * @param handOff whether the lease may be handed on locally; by its owner only, since nobody else
   *     knows whether the owner is still at work
   */
  public Closing close(Handle handle, Thread thread, HandOff handOff, long nowNanos) {
    try {
      synchronized (this) {
        holds.bookIfLost();
        if (handle.isClosed()) {
          return Closing.CLOSED_BEFORE;
        }
        Hold hold = handle.hold();
        if (hold.loss != null) {
          hold.remove(handle, LeaseState.LOST);
          return holds.unlistIfOver(hold) ? Closing.LOST_AND_LEFT : Closing.LOST;
        }
        if (!holds.isHolder(hold)) {
          // An earlier call was cut short by the end of its stack.
          return Closing.CLOSED_BEFORE;
        }
        if (hold.open.size() > 1) {
          hold.remove(handle, LeaseState.RELEASED);
          return Closing.STILL_HELD;
        }
        if (hold.openGuards > 0) {
          hold.remove(handle, null);
          hold.releaseWanted = true;
          // Nobody can re-enter what is as good as released.
          hold.owner = null;
          return Closing.GUARDED;
        }
        Waiter next = hold.owner == null || hold.owner == thread ? waiters.first() : null;
        if (next != null && handOff.allows(hold, next.options(), nowNanos)) {
          Hold successor =
              new Hold(this, hold.grant(), hold.handOffs() + 1, next.thread(), nowNanos);
          News news = new Waiter.HandedOn(successor.open());
          hold.remove(handle, LeaseState.RELEASED);
          successor.undelivered = true;
          holds.begin(successor);
          waiters.tell(next, news);
          successor.undelivered = false;
          return Closing.HANDED_ON;
        }
        hold.remove(handle, null);
        beginRelease(hold);
        return Closing.TO_BE_RELEASED;
      }
    } finally {
      wakeTold();
    }
  }

  /**
   * A hold was given back, or was found to be lost; the next may ask.
   *
   * @param failure why the store did not confirm it: those whose time is over have no more of it to
   *     ask such a store
   * @return false: that was said before
   */
  public boolean endRelease(Hold hold, @Nullable StoreException failure) {
    News news = failure == null ? null : new Waiter.StoreFailed(failure);
    try {
      synchronized (this) {
        if (givenBack != hold) {
          passTurn();
          return false;
        }
        if (news != null) {
          waiters.tellOverdue(news);
        }
        stopLeading();
        passTurn();
        return true;
      }
    } finally {
      wakeTold();
    }
  }

  /** The hold of this grant to be given back, or that a stack that ended left to nobody. */
  public @Nullable Hold unfinishedRelease(ActiveGrant grant) {
    try {
      synchronized (this) {
        Hold current = holds.current();
        if (current != null && current.grant() == grant && current.isAbandoned()) {
          beginRelease(current);
        }
        passTurn();
        return givenBack != null && givenBack.grant() == grant ? givenBack : null;
      }
    } finally {
      wakeTold();
    }
  }

  // The end of the client

  /** The client closes: nobody comes in any more, and those that wait are told. */
  public void closeClient() {
    News news = new Waiter.ClientClosed();
    try {
      synchronized (this) {
        clientClosed = true;
        waiters.tellAll(news);
        if (wakeLeader != null) {
          wakeLeader.run();
        }
      }
    } finally {
      wakeTold();
    }
  }

  /** Whether a thread asks the store or gives back to it. */
  public synchronized boolean isLed() {
    return leading != Leading.NOBODY;
  }

  // Under the mutex

  private boolean isKnownTaken() {
    return holds.isHeld() || leading == Leading.IN_STORE_QUEUE;
  }

  /** The hold leads until {@link #endRelease}. */
  void beginRelease(Hold hold) {
    holds.end();
    givenBack = hold;
    leading = Leading.RELEASING;
    leader = null;
  }

  private void stopLeading() {
    leading = Leading.NOBODY;
    leader = null;
    wakeLeader = null;
    givenBack = null;
  }

  /** Lets the next in the queue lead, if nobody leads or holds. */
  void passTurn() {
    Waiter next = waiters.first();
    if (next != null && !holds.isHeld() && leading == Leading.NOBODY) {
      waiters.tell(next, YOUR_TURN);
      // Last, since nothing is called after it: a role is never taken without being told.
      leading = Leading.ASKING;
      leader = next;
    }
  }

  /** Wakes those that were told, without the mutex: they would run into it. */
  void wakeTold() {
    // Without the mutex, too: who told somebody sees that here, or another woke him.
    if (waiters.hasTold()) {
      Waiter told;
      synchronized (this) {
        told = waiters.takeTold();
      }
      Waiters.wake(told);
    }
  }
}
