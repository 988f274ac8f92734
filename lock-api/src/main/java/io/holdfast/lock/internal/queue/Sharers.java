package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The readers of one name in one client: who shares a grant of the store with whom. Each has a hold
 * of its own. Guarded by the queue's mutex, but for {@link #joinable}.
 */
final class Sharers {
  private final WaitQueue queue;
  private final Sharing rule;
  private final CurrentHolds holds;

  /** The grant that readers can join; null if there is none. Written under the mutex. */
  private volatile @Nullable ActiveGrant open;

  Sharers(WaitQueue queue, Sharing rule, CurrentHolds holds) {
    this.queue = queue;
    this.rule = rule;
    this.holds = holds;
  }

  /** A reader that waited and is let in, prepared so that nothing can fail any more. */
  private record Admission(Waiter waiter, Waiter.LetIn news) {}

  /** Returns the grant that a reader with these options may join now. Reads clocks. */
  @Nullable
  ActiveGrant joinable(LockOptions options, long nowNanos) {
    ActiveGrant grant = open;
    return grant != null && grant.options().equals(options) && Sharing.isOpen(grant, nowNanos)
        ? grant
        : null;
  }

  /** Lets a reader join what {@link #joinable} returned; null if that is over by now. */
  @Nullable
  Entry join(@Nullable ActiveGrant grant, Waiter waiter, long nowNanos) {
    if (grant == null || grant != open) {
      return null;
    }
    Hold hold = new Hold(queue, grant, 0, waiter.thread(), nowNanos);
    Handle handle = hold.open();
    Entry entry = new Entry.Joined(handle);
    Waiter.News news = new Waiter.LetIn(handle);
    holds.begin(hold);
    waiter.news = news;
    return entry;
  }

  /**
   * Begins the hold of the reader that got a grant, and lets in those that wait and may share it.
   */
  void granted(Hold hold, Waiter leader, Waiter.News news, Waiters waiters) {
    ActiveGrant grant = hold.grant();
    boolean isOpen = rule.allows(grant.options());
    List<Admission> admissions = new ArrayList<>();
    if (isOpen) {
      for (Waiter waiter : waiters.withOptions(grant.options())) {
        Hold own = new Hold(queue, grant, 0, waiter.thread(), grant.grantedAtNanos());
        admissions.add(new Admission(waiter, new Waiter.LetIn(own.open())));
      }
    }
    holds.begin(hold);
    leader.news = news;
    open = isOpen ? grant : null;
    for (int i = 0; i < admissions.size(); i++) {
      letIn(admissions.get(i), waiters);
    }
  }

  private void letIn(Admission admission, Waiters waiters) {
    Hold hold = admission.news().handle().hold();
    hold.seen = false;
    hold.undelivered = true;
    hold.usesQueue = false;
    holds.begin(hold);
    waiters.tell(admission.waiter(), admission.news());
    hold.undelivered = false;
    hold.usesQueue = true;
  }

  /** Lets no more readers join this grant. */
  void close(ActiveGrant grant) {
    if (open == grant) {
      open = null;
    }
  }

  /** Lets no more readers join the grant of this hold, unless others have a lease of it. */
  void closeUnlessKept(Hold hold) {
    if (open == hold.grant() && !holds.isKeptByOthers(hold)) {
      open = null;
    }
  }

  /** Marks a hold as given back: to those who share its grant, or, by the last, to the store. */
  void giveBack(Hold hold) {
    boolean isShared = holds.isShared(hold);
    // Without an answer of the store, a doubt is a loss.
    boolean isInDoubt = hold.grant().state().phase() == Phase.SUSPECT;
    closeUnlessKept(hold);
    if (isShared) {
      hold.left = isInDoubt ? LeaseState.LOST : LeaseState.RELEASED;
    }
    hold.owned = false;
    hold.givenBack = true;
  }

  /** Ends a hold that was given back; false if it had ended before. */
  boolean end(Hold hold) {
    boolean ends = hold.givenBack && holds.isListed(hold);
    holds.end(hold);
    return ends;
  }
}
