package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One call to acquire several locks, one after the other, in the order of their names. Used by one
 * thread, once.
 *
 * @param <T> the type that the caller gets for the handles of all locks
 */
final class JointAttempt<T> extends Task {
  /*
   * Overview.
   *
   * Nobody waits for a name while holding a later one, so no two callers wait for each other. A
   * lock that is lost while later ones are waited for is asked for again, once and without waiting,
   * and if it is taken, the later ones are given back before it is waited for.
   *
   * The Attempt for each lock puts its handle into `handles` before it gives the handle up. So at
   * every moment either it or this object gives it back (twice does no harm). However this call
   * ends, `work` gives back all that is in `handles`, unless the caller has them.
   */

  private final Leases leases;
  private final List<LockKey> keys;
  private final LockOptions options;
  private final WaitMode mode;
  private final Function<List<Handle>, T> handOut;

  /** The handles that this attempt owns, by the index of their keys; null where there is none. */
  private final @Nullable Handle[] handles;

  /** Whether the caller has the handles. */
  private boolean handedOut;

  /**
   * @param keys in the order that all callers acquire them in
   * @param handOut converts the handles of all locks to what the caller gets
   */
  JointAttempt(
      Leases leases,
      List<LockKey> keys,
      LockOptions options,
      WaitMode mode,
      Function<List<Handle>, T> handOut) {
    this.leases = leases;
    this.keys = keys;
    this.options = options;
    this.mode = mode;
    this.handOut = handOut;
    this.handles = new Handle[keys.size()];
  }

  Attempt.Outcome<T> run() throws InterruptedException {
    requireOrder();
    try {
      Attempt.Taken<?> taken = acquireAll();
      if (taken != null) {
        return new Attempt.Taken<>(taken.lockName(), taken.holder());
      }
      Attempt.Outcome<T> outcome = new Attempt.Acquired<>(handOut.apply(List.of(handles)));
      handedOut = true;
      return outcome;
    } finally {
      runHere(leases.parts.cleaners());
    }
  }

  /**
   * Checks that this call would not wait for a lock while its thread holds a later one of its
   * locks: two threads that did so could wait for each other.
   */
  private void requireOrder() {
    Thread thread = Thread.currentThread();
    keys.forEach(key -> leases.parts.queues().requireNoRead(key, thread));
    if (!mode.waits()) {
      return;
    }
    LockKey missing = null;
    for (LockKey key : keys) {
      Hold hold = leases.ownedBy(key, Claim.EXCLUSIVE, thread);
      if (hold == null) {
        missing = missing == null ? key : missing;
      } else if (!hold.grant().stands() && hold.grant().state().isOver()) {
        throw hold.lostException();
      } else if (missing != null) {
        throw new IllegalStateException(("This thread owns lock '%s' and would wait for lock '%s',"
                + " which comes before it: another that takes both in order could wait for this"
                + " thread for ever. Take all of them at once, or close the outer lease first")
            .formatted(key.name(), missing.name()));
      }
    }
  }

  /** Returns the lock that stayed taken, or null if all were acquired. */
  private Attempt.@Nullable Taken<?> acquireAll() throws InterruptedException {
    while (true) {
      int missing = first(handle -> handle == null);
      if (missing < handles.length) {
        Attempt.Taken<?> taken = acquire(missing);
        if (taken != null) {
          return taken;
        }
      } else {
        int notHeld = first(handle -> !handle.isHeld());
        if (notHeld == handles.length) {
          return null;
        }
        settle(notHeld);
      }
    }
  }

  /** Returns the index of the first handle that matches, or the number of handles. */
  private int first(Predicate<@Nullable Handle> matches) {
    int index = 0;
    while (index < handles.length && !matches.test(handles[index])) {
      index++;
    }
    return index;
  }

  /**
   * Acquires one lock, or gives back the later ones so that it can be waited for.
   *
   * @return that the lock stayed taken; null if the attempt goes on
   */
  private Attempt.@Nullable Taken<?> acquire(int index) throws InterruptedException {
    boolean holdsLater = false;
    for (int later = index + 1; later < handles.length; later++) {
      holdsLater |= handles[later] != null;
    }
    WaitMode modeNow = holdsLater ? mode.askingOnce() : mode;
    Request request = new Request(keys.get(index), Claim.EXCLUSIVE, options, modeNow);
    // Stored while the Attempt still owns the handle, and gives it back if this fails.
    Attempt.Outcome<Handle> outcome = leases.acquire(request, handle -> handles[index] = handle);
    if (outcome instanceof Attempt.Taken<Handle> taken) {
      if (!holdsLater) {
        return taken;
      }
      giveBackFrom(index + 1);
    }
    return null;
  }

  /**
   * Gives up a lock that was lost while others were acquired; asks the store first if it is in
   * doubt.
   */
  private void settle(int index) {
    Handle handle = Objects.requireNonNull(handles[index]);
    if (leases.questions.standsOrVerify(handle.hold().grant())) {
      return;
    }
    giveBack(index);
    String name = keys.get(index).name();
    leases.parts.requireOpen(name);
    if (!mode.stillWaits(leases.parts.time())) {
      throw new LockStoreException(
          name,
          "Lock '" + name + "' was lost before all were acquired, and no time is left to ask again",
          null);
    }
  }

  /** Gives back all that this attempt still owns. */
  @Override
  protected void work() {
    if (!handedOut) {
      giveBackFrom(0);
    }
  }

  private void giveBackFrom(int first) {
    for (int index = handles.length - 1; index >= first; index--) {
      giveBack(index);
    }
  }

  private void giveBack(int index) {
    Handle handle = handles[index];
    if (handle != null) {
      leases.settlement.giveBack(handle);
      handles[index] = null;
    }
  }
}
