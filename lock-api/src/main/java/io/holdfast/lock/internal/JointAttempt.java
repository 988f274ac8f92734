package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.spi.LockKey;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One call to acquire several locks: one after the other, in the order of their names. Used by one
 * thread, once.
 *
 * @param <T> the type that the handle of each lock is converted to
 * @param <R> the type that the caller gets for all locks
 */
final class JointAttempt<T, R> extends Task {
  /*
   * Overview.
   *
   * Nobody waits for a name while holding a later one, so no two callers wait for each other. A
   * lock that is lost while later ones are waited for is asked for again, once and without waiting,
   * and if it is taken, the later ones are given back before it is waited for.
   *
   * Each lock is put into `parts` from within the attempt that acquires it, so that at every moment
   * somebody would give it back. However this attempt ends, `undo` gives back all that is in
   * `parts`, here or on another thread.
   */

  private final EngineClient client;
  private final List<LockKey> keys;
  private final LockOptions options;
  private final WaitMode mode;
  private final Attempt.HandOut<T> handOut;
  private final Whole<T, R> whole;

  // Owned

  /** The acquired locks, by the index of their keys; null where there is none. */
  private final List<@Nullable Part<T>> parts;

  private boolean handedOut;

  // Known

  private @Nullable LockKey taken;
  private @Nullable String holder;

  /** Combines what was made of each lock into what the caller gets. */
  interface Whole<T, R> {
    R of(List<T> parts);
  }

  /** One of the locks. A reference to {@code got} keeps a lease from being found as dropped. */
  private record Part<T>(Handle handle, T got) {}

  /** @param keys in the order that all callers acquire them in */
  JointAttempt(
      EngineClient client,
      List<LockKey> keys,
      LockOptions options,
      WaitMode mode,
      Attempt.HandOut<T> handOut,
      Whole<T, R> whole) {
    this.client = client;
    this.keys = keys;
    this.options = options;
    this.mode = mode;
    this.handOut = handOut;
    this.whole = whole;
    this.parts = new ArrayList<>(Collections.nCopies(keys.size(), null));
  }

  /** Returns what the caller gets, or null if one of the locks stayed taken. */
  @Nullable
  R run() throws InterruptedException {
    requireOrder();
    try {
      if (!acquireAll()) {
        return null;
      }
      List<T> got = new ArrayList<>(parts.size());
      for (Part<T> part : parts) {
        got.add(part.got());
      }
      R result = whole.of(got);
      handedOut = true;
      return result;
    } finally {
      undo();
    }
  }

  /** Makes the exception for the lock that stayed taken. */
  LockTimeoutException timeout() {
    String name = taken == null ? "" : taken.name();
    return new LockTimeoutException(name, mode.waited(client.time()), holder);
  }

  /**
   * Checks that this call would not wait for a lock while its thread holds a later one of them: two
   * threads that did so could wait for each other.
   */
  private void requireOrder() {
    if (!mode.waits()) {
      return;
    }
    Thread thread = Thread.currentThread();
    LockKey missing = null;
    for (LockKey key : keys) {
      Hold hold = client.ownedBy(key, thread);
      if (hold == null) {
        missing = missing == null ? key : missing;
      } else if (!hold.grant().stands() && hold.grant().state().isOver()) {
        throw hold.lostException();
      } else if (missing != null) {
        throw new IllegalStateException("This thread owns lock '"
            + key.name()
            + "' and would wait for lock '"
            + missing.name()
            + "', which comes before it: another that takes both in order could wait for this"
            + " thread for ever. Take all of them at once, or close the outer lease first");
      }
    }
  }

  /** Returns false if one of the locks is taken. */
  private boolean acquireAll() throws InterruptedException {
    while (true) {
      int missing = firstMissing();
      if (missing < parts.size()) {
        if (!acquire(missing)) {
          return false;
        }
      } else {
        int notHeld = firstNotHeld();
        if (notHeld == parts.size()) {
          return true;
        }
        settle(notHeld);
      }
    }
  }

  private int firstMissing() {
    int index = 0;
    while (index < parts.size() && parts.get(index) != null) {
      index++;
    }
    return index;
  }

  private int firstNotHeld() {
    int index = 0;
    while (index < parts.size() && parts.get(index).handle().isHeld()) {
      index++;
    }
    return index;
  }

  /** Returns false if the lock is taken; true if the caller must look again at what is missing. */
  private boolean acquire(int index) throws InterruptedException {
    boolean holdsLater = false;
    for (Part<T> later : parts.subList(index + 1, parts.size())) {
      holdsLater |= later != null;
    }
    LockKey key = keys.get(index);
    WaitMode modeNow = holdsLater ? mode.askingOnce() : mode;
    Attempt.Outcome<T> outcome =
        client.acquire(new Request(key, 1, options, modeNow), handle -> acquired(index, handle));
    if (outcome instanceof Attempt.Taken<T> known) {
      if (!holdsLater) {
        taken = key;
        holder = known.holder();
        return false;
      }
      giveBackFrom(index + 1);
    }
    return true;
  }

  /**
   * Takes in a lock, within the attempt that acquired it, which gives the lock back if this throws.
   */
  private T acquired(int index, Handle handle) {
    T got = handOut.of(handle);
    parts.set(index, new Part<>(handle, got));
    return got;
  }

  /** Gives up a lock that was lost while others were acquired; asks the store if it is in doubt. */
  private void settle(int index) {
    Handle handle = parts.get(index).handle();
    if (client.questions().settle(handle.hold().grant())) {
      return;
    }
    giveBack(index);
    String name = keys.get(index).name();
    client.requireOpen(name);
    if (!mode.stillWaits(client.time())) {
      throw new LockStoreException(
          name,
          "Lock '" + name + "' was lost while others were acquired with it, and no time is left to"
              + " ask again",
          null);
    }
  }

  /** Gives back everything that this attempt still owns, on another thread if that fails here. */
  private void undo() {
    boolean done = false;
    try {
      work();
      done = true;
    } finally {
      if (!done) {
        client.cleaners().submit(this);
      }
    }
  }

  @Override
  protected void work() {
    if (!handedOut) {
      giveBackFrom(0);
    }
  }

  private void giveBackFrom(int first) {
    for (int index = parts.size() - 1; index >= first; index--) {
      giveBack(index);
    }
  }

  private void giveBack(int index) {
    Part<T> part = parts.get(index);
    if (part != null) {
      try {
        client.settlement().giveBack(part.handle());
      } finally {
        Reference.reachabilityFence(part.got());
      }
      parts.set(index, null);
    }
  }
}
