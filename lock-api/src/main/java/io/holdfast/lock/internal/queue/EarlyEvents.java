package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import org.jspecify.annotations.Nullable;

/**
 * Events of the store about grants of one name. A store may report an event before the call that
 * acquired the grant has returned; such an event is kept until the leader has the grant.
 *
 * <p>Threads: any. Which grant is held is guarded by the mutex of the {@link WaitQueue}, so that an
 * event finds either the holder or a request under way.
 */
public final class EarlyEvents {
  private final WaitQueue queue;

  /** The owner id of the leader's current or last request. Written without the mutex. */
  private volatile @Nullable String askingOwnerId;

  /** An event about a grant that the leader does not have yet. */
  private volatile @Nullable Event early;

  /**
   * An event of the store about a grant.
   *
   * @param ownerId the grant's owner id
   * @param lostBy why the grant is gone; null if it may only be in danger
   */
  public record Event(String ownerId, LeaseLoss.@Nullable Reason lostBy) {}

  EarlyEvents(WaitQueue queue) {
    this.queue = queue;
  }

  /** Notes that the leader is about to ask with this owner id, for the first time or again. */
  public void asksWith(String ownerId) {
    askingOwnerId = ownerId;
  }

  /**
   * Returns the grant that an event is about, if it is held. If the grant may be on its way here,
   * the event is kept for {@link #take}.
   */
  public @Nullable ActiveGrant grantOf(Event event) {
    synchronized (queue) {
      queue.bookIfLost();
      ActiveGrant held = queue.grant();
      if (held != null && held.grant().claim().ownerId().equals(event.ownerId())) {
        return held;
      }
      Event before = early;
      boolean graver =
          before == null || !before.ownerId().equals(event.ownerId()) || before.lostBy() == null;
      if (event.ownerId().equals(askingOwnerId) && graver) {
        early = event;
      }
      return null;
    }
  }

  /** Returns the event that came before this grant was held, if any, and forgets it. */
  public @Nullable Event take(ActiveGrant grant) {
    if (early == null) {
      return null;
    }
    synchronized (queue) {
      Event event = early;
      if (event == null || !event.ownerId().equals(grant.grant().claim().ownerId())) {
        // The event is about the next leader's request, or about one that is over.
        return null;
      }
      early = null;
      return event;
    }
  }
}
