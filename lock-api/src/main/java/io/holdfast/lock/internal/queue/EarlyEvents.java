package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Events of the store about grants of one name. A store may report an event before the call that
 * acquired the grant has returned; such an event is kept until the leader has the grant.
 *
 * <p>Threads: any.
 */
public final class EarlyEvents {
  private final Supplier<@Nullable ActiveGrant> held;

  /** The owner id of the leader's current or last request. */
  private volatile @Nullable String askingOwnerId;

  /** An event about a grant that the leader does not have yet. */
  private final AtomicReference<@Nullable Event> early = new AtomicReference<>();

  /**
   * An event of the store about a grant.
   *
   * @param ownerId the grant's owner id
   * @param lostBy why the grant is gone; null if it may only be in danger
   */
  public record Event(String ownerId, LeaseLoss.@Nullable Reason lostBy) {
    boolean isAbout(@Nullable ActiveGrant grant) {
      return grant != null && grant.grant().claim().ownerId().equals(ownerId);
    }

    /** Whether it says more than the event that was kept before. */
    boolean replaces(@Nullable Event before) {
      return before == null || !before.ownerId.equals(ownerId) || before.lostBy == null;
    }
  }

  /** @param held returns the grant that is held now */
  EarlyEvents(Supplier<@Nullable ActiveGrant> held) {
    this.held = held;
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
    boolean kept = event.ownerId().equals(askingOwnerId) && keep(event);
    // After it was kept: whoever gets the grant after this sees the event.
    ActiveGrant now = held.get();
    if (!event.isAbout(now)) {
      return null;
    }
    // If it is not there any more, the leader has it, or a graver event came after it.
    return kept && !early.compareAndSet(event, null) ? null : now;
  }

  private boolean keep(Event event) {
    return event.replaces(early.getAndUpdate(kept -> event.replaces(kept) ? event : kept));
  }

  /** Returns the event that came before this grant was held, if any, and forgets it. */
  public @Nullable Event take(ActiveGrant grant) {
    Event event = early.get();
    // Another event is about the next leader's request, or about one that is over.
    return event != null && event.isAbout(grant) && early.compareAndSet(event, null) ? event : null;
  }
}
