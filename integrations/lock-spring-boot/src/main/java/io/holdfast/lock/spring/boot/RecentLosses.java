package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockListener;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The last losses of the client's leases, for the page of the endpoint. */
final class RecentLosses implements LockListener {
  static final int MOST = 50;

  // Guarded by this object's monitor.
  private final Deque<Loss> losses = new ArrayDeque<>(MOST);

  @Override
  public void lost(Lost event) {
    LeaseLoss loss = event.loss();
    Loss last = new Loss(loss.name(), loss.token(), Instant.now(), loss.reason());
    synchronized (this) {
      if (losses.size() == MOST) {
        losses.removeLast();
      }
      losses.addFirst(last);
    }
  }

  /** Returns the losses, the newest first. */
  synchronized List<Loss> newestFirst() {
    return List.copyOf(losses);
  }

  /**
   * A loss.
   *
   * @param at when this listener learned of it
   */
  record Loss(String name, long token, Instant at, LeaseLoss.Reason reason) {}
}
