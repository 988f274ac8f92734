package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Events of the store about grants of one name. A store may tell of a grant before the call that
 * asked for it has returned: such an event is kept until the leader has the grant.
 *
 * <p>Threads: any. The mutex of the {@link WaitQueue} guards what says "held", so that an event
 * meets either a holder or a question on its way.
 */
public final class EarlyEvents {
  private static final AtomicReferenceFieldUpdater<EarlyEvents, @Nullable String> ASKING_OWNER_ID =
      AtomicReferenceFieldUpdater.newUpdater(EarlyEvents.class, String.class, "askingOwnerId");

  private final WaitQueue queue;

  /** The owner id that the leader asks with, or asked with last. Written without the mutex. */
  private volatile @Nullable String askingOwnerId;

  /** An event about a grant that the leader has not seen yet. */
  private volatile @Nullable Event early;

  /**
   * An event of the store about a grant.
   *
   * @param lostBy why the grant is gone; null: it may be in danger
   */
  public record Event(String ownerId, LeaseLoss.@Nullable Reason lostBy) {}

  EarlyEvents(WaitQueue queue) {
    this.queue = queue;
  }

  /** The leader is about to ask with this owner id, for the first time or again. */
  public void asksWith(String ownerId) {
    // It need only be seen once the request is on its way.
    ASKING_OWNER_ID.lazySet(this, ownerId);
  }

  /**
   * The grant that an event is about, if it is held; if it may be on its way here, the event is
   * kept for {@link #take}.
   */
  public @Nullable ActiveGrant grantOf(Event event) {
    try {
      synchronized (queue) {
        Hold current = queue.holds().current();
        if (current != null && current.grant().grant().claim().ownerId().equals(event.ownerId())) {
          return current.grant();
        }
        Event before = early;
        boolean graver =
            before == null || !before.ownerId().equals(event.ownerId()) || before.lostBy() == null;
        if (event.ownerId().equals(askingOwnerId) && graver) {
          early = event;
        }
        return null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** The event that came before its grant, once the grant is held. */
  public @Nullable Event take(ActiveGrant grant) {
    if (early == null) {
      return null;
    }
    try {
      synchronized (queue) {
        Event event = early;
        if (event == null || !event.ownerId().equals(grant.grant().claim().ownerId())) {
          // The next leader's, or one that nobody wants any more.
          return null;
        }
        early = null;
        return event;
      }
    } finally {
      queue.wakeTold();
    }
  }
}
