package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.queue.Closing;
import io.holdfast.lock.internal.queue.EarlyEvents;
import io.holdfast.lock.internal.queue.HandOff;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.LossNotice;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Settles the end of a lease: closed, given back by its attempt, dropped by its user, lost, or
 * closed under a guard that has now ended. Also takes in what else is heard of grants, and tells
 * listeners.
 *
 * <p>The state changes first; then listeners are told; then the log. If an Error cuts that short, a
 * task does the rest: the hold's calls {@link #release}, the grant's {@link #settle}, again and
 * again until it succeeds. An open handle stays open, and is its user's to close again; if an Error
 * cuts a guard's end short, the lease ends with its TTL.
 *
 * <p>A close and a loss can meet. The state of the grant decides:
 *
 * <pre>
 * lost before the handle closes  close() throws LockLostException, also if a guard is open; a
 *                                settler has onLost told
 * lost before the release begins the same, but the closing thread has onLost told
 * the release begins before      what the store answers to it decides, and who releases has onLost
 *                                told
 * handed on, or left to others   close() returns; a later loss is that of those who have it
 * closed while a guard is open   close() throws IllegalStateException, and waits for nothing; the
 *                                end of the last guard has it released in the background. A loss
 *                                until then, or found by that release, is told to onLost
 * lost while a guard is open     it is freed at the store when the last guard ends
 * </pre>
 */
final class Settlement implements ActiveGrant.Observer {
  private static final SafeLogger log = SafeLogger.of(Settlement.class);

  private final Parts parts;
  private final HandOff handOff;

  /** @param handOff decides whether a closed lease is handed on within the client */
  Settlement(Parts parts, HandOff handOff) {
    this.parts = parts;
    this.handOff = handOff;
  }

  /** Closes a lease for its user. */
  void close(Handle handle) {
    Hold hold = handle.hold();
    switch (end(handle)) {
      case CLOSED_BEFORE, STILL_HELD -> {}
      case HANDED_ON, LEFT -> parts.events().released(hold, true);
      case LOST, LOST_AND_OVER -> throw hold.lostException();
      case TO_BE_RELEASED -> {
        Error thrownByStore = releaseReserved(hold, false);
        if (thrownByStore != null) {
          throw thrownByStore;
        }
        if (hold.grant().state().lostBy() != null) {
          throw hold.lostException();
        }
      }
      case GUARDED ->
        throw new IllegalStateException(
            ("A guard is open on the lease of lock '%s': close the guard"
                    + " first. The lease is no longer renewed, and is released when the guard ends")
                .formatted(hold.lockName()));
    }
  }

  /**
   * Asks the store about a grant in doubt that others share. If they keep it, no release tells
   * whether it was valid until now; without an answer, it is lost to all of them.
   */
  private void settleDoubt(ActiveGrant grant) {
    while (!grant.stands() && !grant.state().isOver()) {
      ClockReading asked = parts.time().read();
      try {
        Optional<Duration> left =
            StoreCalls.callUninterrupted(() -> parts.store().verify(grant.grant()));
        if (left.isEmpty()) {
          grant.lose(LeaseLoss.Reason.TAKEN);
        } else {
          boolean unused = grant.verified(asked, left.get());
        }
      } catch (StoreException e) {
        log.debug("A read of lock '{}' is closed in doubt", grant.key().name(), e);
        grant.lose(LeaseLoss.Reason.EXPIRED);
      }
    }
  }

  /** Closes a handle that its caller never saw. */
  void giveBack(Handle handle) {
    Hold hold = handle.hold();
    Closing closing = end(handle);
    if ((closing == Closing.HANDED_ON || closing == Closing.LEFT) && hold.isSeen()) {
      parts.events().released(hold, true);
    } else if (closing == Closing.TO_BE_RELEASED) {
      Error unused = releaseReserved(hold, false);
    }
  }

  /**
   * Closes a handle in its queue. If that fails after the last one was closed, another thread
   * finishes it.
   */
  private Closing end(Handle handle) {
    boolean done = false;
    try {
      Closing closing = endHere(handle);
      done = true;
      return closing;
    } finally {
      if (!done) {
        handle.hold().unreserveRelease();
        parts.cleaners().submit(handle.hold());
      }
    }
  }

  /** Reads the clocks first, but closes the handle even if that fails. */
  private Closing endHere(Handle handle) {
    Hold hold = handle.hold();
    WaitQueue queue = hold.queue();
    HandOff allowed = HandOff.NEVER;
    long nowNanos = 0;
    Closing closing;
    try {
      if (queue.isOfReaders() && !handle.isClosed()) {
        settleDoubt(hold.grant());
        queue.noteRead(hold, parts.time().nanos());
      }
      // First stands(), which marks a deadline that has passed, so that the queue knows of the
      // loss.
      if (hold.grant().stands() && queue.isAwaited() && hold.grant().isFresh()) {
        nowNanos = parts.time().nanos();
        allowed = handOff;
      }
    } finally {
      closing = hold.close(handle, Thread.currentThread(), allowed, nowNanos);
      if (closing == Closing.LOST_AND_OVER || closing == Closing.LEFT) {
        parts.queues().endUse(queue);
      } else if (closing == Closing.GUARDED) {
        hold.grant().schedule().stop();
      }
    }
    return closing;
  }

  /** Settles the end of a guard. */
  void closeGuard(Hold hold) {
    Closing closing = hold.closeGuard();
    if (closing == Closing.LOST) {
      freeIfLostHereOnly(hold.grant());
    } else if (closing == Closing.TO_BE_RELEASED) {
      parts.cleaners().submit(hold);
    }
  }

  // Giving back

  /** Releases a hold that its closing thread could not release; goes on where that one failed. */
  void release(Hold hold) {
    hold.wakeSuccessor();
    // This can be another hold of the grant: the next one, if a hand-off was cut short.
    Hold unfinished = hold.queue().unfinishedRelease(hold.grant());
    if (unfinished != null && unfinished.reserveRelease()) {
      Error unused = releaseReserved(unfinished, true);
    }
  }

  /**
   * Releases a hold at the store, and lets the next thread in the wait queue ask. The release is
   * reserved for the calling thread.
   *
   * @param inBackground whether its holder's call may have returned
   * @return an Error that the store threw, if any: the caller throws it when all else is done
   */
  private @Nullable Error releaseReserved(Hold hold, boolean inBackground) {
    boolean done = false;
    try {
      Error thrownByStore = releaseOnce(hold, inBackground);
      done = true;
      return thrownByStore;
    } finally {
      hold.unreserveRelease();
      if (!done) {
        parts.cleaners().submit(hold);
      }
    }
  }

  private @Nullable Error releaseOnce(Hold hold, boolean inBackground) {
    ActiveGrant grant = hold.grant();
    StoreException failure = null;
    parts.keeper().forget(grant);
    grant.schedule().stop();
    // It is ENDING already if an earlier call was cut short.
    if (grant.beginEnd() || grant.state().phase() == Phase.ENDING) {
      failure = endAtStore(grant);
    } else {
      freeIfLostHereOnly(grant);
    }
    if (hold.queue().endRelease(hold, failure)) {
      parts.queues().endUse(hold.queue());
      tellEnd(hold, inBackground, failure);
    }
    return failure != null && failure.getCause() instanceof Error error ? error : null;
  }

  /**
   * Releases a grant at the store. Returns the failure if the store did not confirm the release,
   * which is then tried again in the background.
   */
  private @Nullable StoreException endAtStore(ActiveGrant grant) {
    try {
      ReleaseOutcome outcome = StoreCalls.callUninterrupted(
          () -> parts.store().release(grant.grant(), grant.minHoldLeft()));
      switch (outcome) {
        case RELEASED -> grant.endReleased();
        case RELEASED_OR_LOST -> grant.endUnconfirmed();
        case ALREADY_LOST -> grant.endLost();
      }
      return null;
    } catch (StoreException e) {
      parts.cleanup().release(grant.grant(), grant.crashBound(), grant.minHoldLeft());
      grant.endUnconfirmed();
      return e;
    }
  }

  private void tellEnd(Hold hold, boolean inBackground, @Nullable StoreException failure) {
    LeaseLoss.Reason lostBy = hold.grant().state().lostBy();
    if (!hold.isSeen()) {
      log.debug("Lock '{}' given back unused, lost by: {}", hold.lockName(), lostBy);
    } else if (lostBy != null) {
      LeaseLoss loss = LossNotice.lossOf(hold, hold.grant().state());
      if (inBackground) { // Else close() throws.
        warnOfLoss(hold, loss);
      }
      for (Consumer<? super LeaseLoss> listener : hold.lastListeners()) {
        tellLoss(loss, listener);
      }
      parts.events().lost(hold, loss);
    } else if (inBackground) {
      parts.events().releasedInBackground(hold, failure == null);
    } else {
      parts.events().released(hold, failure == null);
    }
    if (failure != null) {
      log.warn(
          "The lease of lock '{}' could not be given back; we go on trying until its TTL is over",
          hold.lockName(),
          failure);
    }
  }

  /**
   * Tells a listener about a loss; on this thread if there is no memory for a task, since nothing
   * repeats this call.
   */
  private void tellLoss(LeaseLoss loss, Consumer<? super LeaseLoss> listener) {
    try {
      parts.events().tellLoss(loss, listener);
    } catch (Throwable e) { // There is no memory for a task.
      try {
        listener.accept(loss);
      } catch (Throwable thrownByUser) {
        log.warn("A listener for the loss of lock '{}' failed", loss.name(), thrownByUser);
      }
    }
  }

  /** Releases a grant that no caller ever saw. */
  void giveBackUnseen(Grant grant) {
    try {
      ReleaseOutcome outcome =
          StoreCalls.callUninterrupted(() -> parts.store().release(grant, Duration.ZERO));
      log.debug("Lock '{}' given back unused: {}", grant.claim().key().name(), outcome);
    } catch (StoreException e) {
      parts.cleanup().release(grant, grant.crashBound(grant.claim().ttl()), Duration.ZERO);
      log.debug("Lock '{}' not given back yet", grant.claim().key().name(), e);
    }
  }

  /**
   * Releases a grant that was lost but that the store may still show, so that others need not wait
   * for the rest of the TTL.
   */
  private void freeIfLostHereOnly(ActiveGrant grant) {
    if (grant.isLostHereOnly()) {
      parts.cleanup().release(grant.grant(), grant.crashBound(), grant.minHoldLeft());
    }
  }

  // Losing

  /** Settles the loss of a grant, or its dropped handles. No I/O. */
  @Override
  public void settle(ActiveGrant grant) {
    if (grant.state().isOver()) {
      parts.keeper().forget(grant);
    }
    for (WaitQueue queue : parts.queues().of(grant.key())) {
      settle(queue, grant);
    }
    finishRelease(grant);
  }

  private void settle(WaitQueue queue, ActiveGrant grant) {
    Handle.Dropped dropped;
    while ((dropped = queue.takeDropped(grant)) != null) {
      settleDropped(queue, dropped);
    }
    boolean first = true; // Readers that share the grant have a notice each.
    for (Hold hold = queue.untold(grant); hold != null; hold = queue.untold(grant)) {
      LossNotice notice = Objects.requireNonNull(hold.untold()); // Only this thread tells it.
      grant.schedule().stop();
      if (first && !notice.guarded()) {
        freeIfLostHereOnly(grant);
      }
      first = false;
      settleLoss(hold, notice);
    }
  }

  /**
   * Submits the release of a grant if its closing thread could not finish it, so that a grant
   * without a holder is not renewed.
   */
  void finishRelease(ActiveGrant grant) {
    for (WaitQueue queue : parts.queues().of(grant.key())) {
      Hold hold = queue.unfinishedRelease(grant);
      if (hold != null) {
        // The task does nothing while another thread is releasing the hold.
        parts.cleaners().submit(hold);
      }
    }
  }

  private void settleDropped(WaitQueue queue, Handle.Dropped dropped) {
    Hold hold = dropped.hold();
    if (dropped.leaks()) {
      hold.grant().schedule().stop();
    }
    if (dropped.isOver()) {
      parts.queues().endUse(queue);
    }
    parts.events().leaked(hold);
    parts
        .callbacks()
        .log(() -> log.warn(
            "A lease of lock '{}' with token {} became unreachable without close(){}",
            hold.lockName(),
            hold.token(),
            dropped.leaks() ? "; it is no longer renewed, and ends with its TTL" : ""));
  }

  private void settleLoss(Hold hold, LossNotice notice) {
    for (var listener = notice.listeners().peek();
        listener != null;
        listener = notice.listeners().peek()) {
      parts.events().tellLoss(notice.loss(), listener);
      notice.listeners().remove();
    }
    if (hold.told()) {
      parts.queues().endUse(hold.queue());
    }
    if (hold.isSeen()) {
      parts.events().lost(hold, notice.loss());
      // On another thread: an appender can block, and would delay the losses of other leases.
      parts.callbacks().log(() -> warnOfLoss(hold, notice.loss()));
    }
  }

  private static void warnOfLoss(Hold hold, LeaseLoss loss) {
    log.warn(
        "The lease of lock '{}' with token {} was lost: {}",
        hold.lockName(),
        hold.token(),
        loss.reason());
  }

  // Told by grants

  @Override
  public void askAtOnce(ActiveGrant grant) {
    grant.schedule().askAtOnce();
    parts.keeper().requestScan();
  }

  @Override
  public void certaintyChanged(ActiveGrant grant, int changes) {
    try {
      parts.events().inOrder(() -> tellChanges(grant, changes));
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
      for (Hold hold : holdsOf(grant)) {
        if (grant.isChangeToUncertain()) {
          parts.events().uncertain(hold);
        } else {
          parts.events().confirmed(hold);
        }
      }
    }
  }

  @Override
  public void lost(ActiveGrant grant) {
    parts.settlers().submit(grant);
  }

  /** Takes in a renewal by the keeper. */
  void renewedInRound(ActiveGrant grant) {
    try {
      finishRelease(grant);
      renewed(grant);
    } catch (Throwable e) { // The lease was renewed all the same; the next renewal checks again.
      log.warn("What follows a renewal of lock '{}' was cut short", grant.key().name(), e);
    }
  }

  void renewed(ActiveGrant grant) {
    parts.events().inOrder(() -> holdsOf(grant).forEach(parts.events()::renewed));
  }

  private List<Hold> holdsOf(ActiveGrant grant) {
    for (WaitQueue queue : parts.queues().of(grant.key())) {
      List<Hold> holds = queue.holdsOf(grant);
      if (!holds.isEmpty()) {
        return holds;
      }
    }
    return List.of();
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
}
