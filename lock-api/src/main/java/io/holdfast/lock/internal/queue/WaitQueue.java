package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Waiter.News;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The wait queue of one name in one client: the holder, the thread that asks the store, and those
 * that wait. The readers of a name have a queue of their own, beside that of its writers. Pure
 * bookkeeping: no I/O, no waiting, no clock, and no user code.
 *
 * <p>Threads: any. Everything is guarded by the queue's mutex, under which nothing else is locked.
 * The mutex is a monitor, which the JVM releases even if the stack overflows; the queues of one
 * semaphore share it.
 */
public final class WaitQueue {
  /*
   * Overview.
   *
   * At most one thread of a client is the holder, or leads: asks the store for the lock, waits in
   * the store's queue, or gives the lock back. The rest stand in order of arrival. Leading is a
   * role and no mutex: it is kept across calls to the store, and handed to the next by endLeading,
   * leadingFailed or endRelease.
   *
   *     enter --> Leads ----------------> granted --> a Hold, and a Handle for each acquisition
   *          \--> Queued ... YourTurn --^    |
   *                     \--- HandedOn <------+ close, within the client
   *                                          +--> givenBack: leads until endRelease
   *                                          \--> lost: in the list of lost holds until its handles
   *                                               are closed and its loss is told
   *
   * Readers do not exclude each other. So in their queue a thread can lead while others hold; who
   * leads gets a grant for all that wait with equal options, and lets them in before any of them
   * wakes; who comes while the latest grant is open to others joins it. Each has a Hold of its own.
   * The last hold of a grant is released at the store, without leading, and until then it is marked
   * as given back.
   *
   * Of a semaphore, each attempt has a queue of its own, and they share the list of those that wait,
   * and its mutex. PermitTurns says which of them have a turn: those lead, or hold. A lease is handed
   * on to the first that waits, whose own queue is then of no more use.
   *
   * "Taken" is an answer that only the store, or a holder in this client, can give. A waiter whose
   * time is over while the leader has no answer is `overdue`: it is told with that answer, and if
   * the leader leaves without one, it leads itself and asks once.
   *
   * Every method does what can fail (allocating) before its first change; from there on it only
   * writes fields. So whatever is thrown out of here has changed nothing; but for a stack that ends
   * in the middle, after which `unfinishedRelease` finds what nobody has.
   *
   * A loss is found by a compare-and-set in ActiveGrant, possibly by a thread that must not block
   * on this mutex. The next thread that comes here books it (`book`), so that nobody acts on a
   * holder that has lost the lock; the loss is told later, by the notice that booking leaves.
   */

  /** Releases a hold that its closing thread could not release. */
  public interface Releaser {
    /** Releases the hold; goes on where the last try failed. */
    void release(Hold hold) throws Exception;
  }

  private enum Leading {
    NOBODY,
    /** The leader has no answer yet. */
    ASKING,
    /** The store said "taken"; the leader stands in its queue. */
    IN_STORE_QUEUE,
    /** The leader is releasing the lock. */
    RELEASING
  }

  /** Allocated in advance: a turn must be passed on even if the heap is full. */
  private static final News YOUR_TURN = new Waiter.YourTurn();

  private final LockKey key;
  private final Releaser releaser;
  private final boolean isShared;

  /** The number of calls and holds that use this queue; guarded by {@link WaitQueues}. */
  int users;

  /** The mutex: the monitor of the waiters. */
  final Object mutex;

  private final Waiters waiters;

  /** The turns of the semaphore; null of other locks, where one turn is all there is. */
  private final @Nullable PermitTurns turns;

  /** Whether it has one of the {@link #turns}. */
  private boolean hasTurn;

  /** Whether it leads with one of the {@link #turns}. */
  private boolean asksInTurn;

  /** Whether the store has put it in its queue, with one of the {@link #turns}. */
  private boolean waitsInTurn;

  private final CurrentHolds current;
  private final Holds holds;
  private final Sharers sharers;
  private final EarlyEvents earlyEvents = new EarlyEvents(this);

  private Leading leading = Leading.NOBODY;

  /** The leading waiter; null if nobody leads, or {@link #givenBack} does. */
  private @Nullable Waiter leader;

  private @Nullable Runnable wakeLeader;

  /** The hold that leads because it is being released. */
  private @Nullable Hold givenBack;

  private boolean clientClosed;

  WaitQueue(LockKey key, Sharing sharing, Releaser releaser) {
    this(key, sharing, releaser, null);
  }

  /** @param turns those of the semaphore; null if each of its attempts asks the store at once */
  WaitQueue(LockKey key, Sharing sharing, Releaser releaser, @Nullable PermitTurns turns) {
    this.waiters = turns == null ? new Waiters() : turns.waiters;
    this.mutex = waiters;
    this.turns = turns;
    this.key = key;
    this.releaser = releaser;
    this.isShared = key.kind() == LockKind.READ;
    this.current = new CurrentHolds(isShared);
    this.holds = new Holds(this, current);
    this.sharers = new Sharers(this, sharing, current);
  }

  /** Returns the key of the lock. */
  public LockKey key() {
    return key;
  }

  /** Returns the holder and the lost holds. */
  public Holds holds() {
    return holds;
  }

  /** Returns the events of the store that came before their grant. */
  public EarlyEvents earlyEvents() {
    return earlyEvents;
  }

  Releaser releaser() {
    return releaser;
  }

  /** Whether its holders do not exclude each other: it is that of readers. */
  boolean isShared() {
    return isShared;
  }

  // Acquiring

  private static final Entry LEADS = new Entry.Leads();
  private static final Entry CLOSED = new Entry.Closed();

  /**
   * Returns the grant that a reader with these options may join now, for {@link #enter}; null if
   * there is none. Reads clocks.
   */
  public @Nullable ActiveGrant joinable(LockOptions options, long nowNanos) {
    return sharers.joinable(options, nowNanos);
  }

  /**
   * Enters a thread that wants the lock. Its waiter has its news at once if it leads or re-enters.
   *
   * @param waits whether the thread waits for the lock; otherwise it stays in the queue only until
   *     it is known whether the lock is taken
   * @throws IllegalStateException the thread owns the lock with other options
   * @throws LockLostException the thread owns a lease that was lost and is not closed
   */
  public Entry enter(Waiter waiter, boolean waits) {
    return enter(waiter, waits, null, 0);
  }

  /**
   * Enters a reader, as {@link #enter(Waiter, boolean)} does, or lets it join a grant. It then has
   * its news at once, too.
   *
   * @param joined what {@link #joinable} returned just now; null if a writer is before the reader
   * @throws IllegalStateException the thread owns the lock with other options
   * @throws LockLostException the thread owns a lease that was lost and is not closed
   */
  public Entry enter(Waiter waiter, boolean waits, @Nullable ActiveGrant joined, long nowNanos) {
    Thread thread = waiter.thread();
    try {
      synchronized (mutex) {
        if (clientClosed) {
          return CLOSED;
        }
        Entry reentered = reenter(waiter, isShared);
        if (reentered != null) {
          return reentered;
        }
        Entry shared = sharers.join(joined, waiter, nowNanos);
        if (shared != null) {
          return shared;
        }
        if (turns != null) {
          return enterForPermit(turns, waiter, waits);
        }
        Hold holder = holds.exclusive();
        if (holder == null && leading == Leading.NOBODY && waiters.isEmpty()) {
          leading = Leading.ASKING;
          leader = waiter;
          waiter.news = YOUR_TURN;
          return LEADS;
        }
        if (!waits && isKnownTaken()) {
          return new Entry.Taken(Hold.description(holder));
        }
        Entry entry = new Entry.Queued(holder != null && holder.isAcquiredBy(thread));
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

  /** Enters a thread that wants a permit; who does not wait has a turn though all are taken. */
  private Entry enterForPermit(PermitTurns all, Waiter waiter, boolean waits) {
    if (all.clientClosed) {
      return CLOSED;
    }
    if (!waits || (waiters.isEmpty() && all.isAnyForNewcomer())) {
      waiter.news = YOUR_TURN;
      beginTurn(all, waiter);
      return LEADS;
    }
    Entry entry = new Entry.Queued(false);
    waiter.ownQueue = this;
    waiters.append(waiter);
    passTurn();
    return entry;
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

  /**
   * Enters a thread that wants the read lock into its own write lock, here. The handle is nested in
   * the write lock's hold.
   *
   * @return null if the thread does not own the write lock
   * @throws IllegalStateException the thread owns the lock with other options
   * @throws LockLostException the thread owns a lease that was lost and is not closed
   */
  public @Nullable Entry enterAsReader(Waiter waiter) {
    try {
      synchronized (mutex) {
        return clientClosed ? CLOSED : reenter(waiter, true);
      }
    } finally {
      wakeTold();
    }
  }

  /**
   * Checks that a thread that wants the write lock does not own the read lock, in whose queue this
   * is called.
   *
   * @throws LockLostException it owns a lease that was lost and is not closed
   * @throws IllegalStateException it owns the read lock
   */
  void requireNoReader(Thread thread) {
    try {
      synchronized (mutex) {
        if (holds.currentOwnedBy(thread) != null) {
          throw new IllegalStateException("This thread owns the read lock '"
              + key.name()
              + "' and asks for the write lock: it would wait for itself, and for every other reader"
              + " that does the same. Close the read lease first, and look again at what was read, or"
              + " take the write lock from the start");
        }
        holds.requireNoneLost(thread);
      }
    } finally {
      wakeTold();
    }
  }

  /** Opens a nested handle if the waiter's thread owns a current hold; else returns null. */
  private @Nullable Entry reenter(Waiter waiter, boolean reads) {
    Hold hold = holds.currentOwnedBy(waiter.thread());
    if (hold == null) {
      holds.requireNoneLost(waiter.thread());
      return null;
    }
    requireEqual(hold.grant().options(), waiter.options());
    Handle handle = new Handle(hold, reads);
    Entry entry = new Entry.Reentered(handle);
    News news = new Waiter.HandedOn(handle);
    hold.open.add(handle);
    waiter.news = news;
    return entry;
  }

  /** Removes a waiter that gives up; false if it already has news, which it must handle. */
  public boolean leave(Waiter waiter) {
    synchronized (mutex) {
      return waiters.remove(waiter);
    }
  }

  /**
   * Times a waiter out: at once if the lock is known to be taken, or with the leader's answer. Who
   * wants a permit gets a turn to ask once, since nobody else asks for all of them.
   */
  public void timeIsUp(Waiter waiter) {
    try {
      synchronized (mutex) {
        Hold holder = holds.exclusive();
        if (!waiter.queued) {
          return;
        }
        if (turns != null) {
          giveTurn(turns, waiter);
        } else if (isKnownTaken()) {
          waiters.tell(waiter, new Waiter.Taken(Hold.description(holder)));
        } else {
          waiters.markOverdue(waiter);
        }
      }
    } finally {
      wakeTold();
    }
  }

  /** Notes that the leader, so far in the store's queue, sends a request. */
  public void asks() {
    synchronized (mutex) {
      leading = Leading.ASKING;
    }
  }

  /**
   * Notes that the leader was told that the lock is taken, and waits in the store's queue.
   *
   * @param wake wakes the leader if the client closes meanwhile; only unparks
   */
  public void waitsAtStore(Runnable wake) {
    try {
      synchronized (mutex) {
        waiters.tellOverdueTaken(null);
        if (turns != null && asksInTurn && !waitsInTurn) {
          waitsInTurn = true;
          turns.waiting++;
        }
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
   * Makes the leader, which got a grant, the holder. That also becomes its news, so that the handle
   * can be found even if this call fails to return it. Of readers, those that wait with equal
   * options are let in as well.
   *
   * @return the handle; null if the client was closed meanwhile, and the grant must be given back
   */
  public @Nullable Handle granted(Waiter waiter, ActiveGrant grant) {
    try {
      synchronized (mutex) {
        if (clientClosed) {
          return null;
        }
        Hold hold = new Hold(this, grant, 0, waiter.thread(), grant.grantedAtNanos());
        Handle handle = hold.open();
        News news = new Waiter.HandedOn(handle);
        if (!isShared) {
          waiters.tellOverdueTaken(grant.grant().claim().holder());
          stopLeading();
          current.begin(hold);
          waiter.news = news;
          if (turns != null) {
            passTurn();
          }
          return handle;
        }
        stopLeading();
        sharers.granted(hold, waiter, news, waiters);
        passTurn();
        return handle;
      }
    } finally {
      wakeTold();
    }
  }

  /** Lets no more readers join this grant. Under the mutex. */
  void closeToOthers(ActiveGrant grant) {
    sharers.close(grant);
  }

  /**
   * Ends the leader's turn without a lease, so that the next may ask. Does nothing if the waiter no
   * longer leads, so a call that was cut short can be repeated.
   *
   * @param taken whether it was told that the lock is taken; then waiters whose time is over are
   *     told the same
   * @param brokenOff why it has no answer although it asked; waiters whose time is over get the
   *     same, since they have no time left to ask themselves
   */
  public void endLeading(Waiter waiter, boolean taken, @Nullable StoreException brokenOff) {
    News news = brokenOff == null ? null : new Waiter.StoreFailed(brokenOff);
    try {
      synchronized (mutex) {
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
   * Ends the leader's turn with no usable answer. Those behind it get the same failure: if each
   * asked again, that would take one store timeout after the other. Does nothing if the waiter no
   * longer leads.
   */
  public void leadingFailed(Waiter waiter, StoreException failure) {
    News news = new Waiter.StoreFailed(failure);
    try {
      synchronized (mutex) {
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

  /** Whether a thread waits here; the answer may be outdated at once. */
  public boolean isAwaited() {
    return !waiters.isEmpty();
  }

  /**
   * Closes a handle.
   *
   * @param handOff whether the lease may be handed on locally; only its owner may do that, since no
   *     other thread knows whether the owner is still at work
   */
  public Closing close(Handle handle, Thread thread, HandOff handOff, long nowNanos) {
    try {
      synchronized (mutex) {
        holds.bookIfLost();
        if (handle.isClosed()) {
          return Closing.CLOSED_BEFORE;
        }
        Hold hold = handle.hold();
        if (hold.loss != null) {
          hold.remove(handle, LeaseState.LOST);
          return holds.unlistIfOver(hold) ? Closing.LOST_AND_LEFT : Closing.LOST;
        }
        if (!current.has(hold)) {
          // An earlier call was cut short by a stack overflow.
          return Closing.CLOSED_BEFORE;
        }
        if (hold.open.size() > 1) {
          hold.remove(handle, LeaseState.RELEASED);
          return Closing.STILL_HELD;
        }
        if (hold.openGuards > 0) {
          sharers.closeUnlessKept(hold);
          hold.remove(handle, null);
          hold.releaseWanted = true;
          // As good as released, so no longer open to re-entry.
          hold.owned = false;
          return Closing.GUARDED;
        }
        if (isShared) {
          hold.remove(handle, null);
          beginRelease(hold);
          return Closing.TO_BE_RELEASED;
        }
        Waiter next = !hold.owned || hold.isAcquiredBy(thread) ? waiters.first() : null;
        if (next != null && handOff.allows(hold, next.options(), nowNanos)) {
          Hold successor =
              new Hold(this, hold.grant(), hold.handOffs() + 1, next.thread(), nowNanos);
          News news = new Waiter.HandedOn(successor.open());
          hold.remove(handle, LeaseState.RELEASED);
          successor.undelivered = true;
          current.begin(successor);
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
   * Ends the turn of a hold that was released, or was found to be lost; the next may ask.
   *
   * @param failure why the store did not confirm the release; waiters whose time is over get it,
   *     since they have no time left to ask such a store
   * @return false if the turn had ended before
   */
  public boolean endRelease(Hold hold, @Nullable StoreException failure) {
    News news = failure == null ? null : new Waiter.StoreFailed(failure);
    try {
      synchronized (mutex) {
        if (isShared) {
          return sharers.end(hold);
        }
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

  /**
   * Returns the grant's hold that must still be released, or that a stack overflow left behind. Of
   * several, one that no thread is releasing.
   */
  public @Nullable Hold unfinishedRelease(ActiveGrant grant) {
    try {
      synchronized (mutex) {
        holds.bookIfLost();
        Hold abandoned;
        while ((abandoned = current.abandoned(grant)) != null) {
          beginRelease(abandoned);
        }
        passTurn();
        if (isShared) {
          return current.givenBack(grant);
        }
        return givenBack != null && givenBack.grant() == grant ? givenBack : null;
      }
    } finally {
      wakeTold();
    }
  }

  // The end of the client

  /** Closes the queue with its client: nobody can enter any more, and those that wait are told. */
  public void closeClient() {
    News news = new Waiter.ClientClosed();
    try {
      synchronized (mutex) {
        clientClosed = true;
        if (turns != null) {
          turns.clientClosed = true;
        }
        waiters.tellAll(news);
        if (wakeLeader != null) {
          wakeLeader.run();
        }
      }
    } finally {
      wakeTold();
    }
  }

  /** Whether a thread is asking the store, or releasing the lock there. */
  public boolean isLed() {
    synchronized (mutex) {
      return leading != Leading.NOBODY || current.isAnyGivenBack();
    }
  }

  // Under the mutex

  private boolean isKnownTaken() {
    return current.isExclusive() || leading == Leading.IN_STORE_QUEUE;
  }

  /**
   * Makes the hold lead until {@link #endRelease}. That of a reader does not lead, and leaves the
   * grant to those who share it, if there are any.
   */
  void beginRelease(Hold hold) {
    if (isShared) {
      sharers.giveBack(hold);
      return;
    }
    current.end(hold);
    givenBack = hold;
    leading = Leading.RELEASING;
    leader = null;
  }

  private void stopLeading() {
    leading = Leading.NOBODY;
    leader = null;
    wakeLeader = null;
    givenBack = null;
    if (turns != null) {
      stopAsking(turns);
    }
  }

  private void stopAsking(PermitTurns all) {
    if (asksInTurn) {
      asksInTurn = false;
      all.asking--;
    }
    if (waitsInTurn) {
      waitsInTurn = false;
      all.waiting--;
    }
  }

  /** Lets the next in the queue lead, if nobody leads or holds. */
  void passTurn() {
    if (turns != null) {
      passTurns(turns);
      return;
    }
    Waiter next = waiters.first();
    if (next != null && !current.isExclusive() && leading == Leading.NOBODY) {
      waiters.tell(next, YOUR_TURN);
      // The last step: nothing that can fail comes after it, so no waiter leads without being told.
      leading = Leading.ASKING;
      leader = next;
    }
  }

  /** Gives back the turn, if nobody leads or holds here, and lets the first waiter have one. */
  private void passTurns(PermitTurns all) {
    if (hasTurn && leading == Leading.NOBODY && !current.isExclusive()) {
      hasTurn = false;
      all.taken--;
      // It still asks if an earlier call was cut short by a stack overflow.
      stopAsking(all);
    }
    Waiter next = waiters.first();
    if (next != null && all.isAnyForWaiter()) {
      giveTurn(all, next);
    }
  }

  /** Lets a thread that waits for a permit lead in its own queue. */
  private void giveTurn(PermitTurns all, Waiter next) {
    WaitQueue own = Objects.requireNonNull(next.ownQueue);
    waiters.tell(next, YOUR_TURN);
    own.beginTurn(all, next);
  }

  private void beginTurn(PermitTurns all, Waiter first) {
    leading = Leading.ASKING;
    leader = first;
    hasTurn = true;
    all.taken++;
    asksInTurn = true;
    all.asking++;
  }

  /**
   * Wakes the waiters that were told, after the mutex was released, so that they do not run into
   * it.
   */
  void wakeTold() {
    // Read without the mutex: a thread sees here those that it told itself, or else another thread
    // has woken them.
    if (waiters.hasTold()) {
      Waiter told;
      synchronized (mutex) {
        told = waiters.takeTold();
      }
      Waiters.wake(told);
    }
  }
}
