package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A loss that must be told.
 *
 * @param hold the hold that was lost
 * @param loss the details
 * @param listeners its own listeners; each is removed when it is told
 * @param guarded whether a guard was open
 */
public record LossNotice(
    Hold hold, LeaseLoss loss, Deque<Consumer<? super LeaseLoss>> listeners, boolean guarded) {

  /** Makes the notice of a hold that was lost with these handles. */
  static LossNotice of(Hold hold, List<Handle> handles, boolean guarded) {
    LeaseLoss loss = lossOf(hold, Objects.requireNonNull(hold.grant().state().lostBy()));
    Deque<Consumer<? super LeaseLoss>> listeners = new ArrayDeque<>();
    for (Handle handle : handles) {
      listeners.addAll(handle.lossListeners());
    }
    return new LossNotice(hold, loss, listeners, guarded);
  }

  /** Makes the loss of a hold, as listeners see it. */
  public static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new Loss(hold.lockName(), hold.token(), reason);
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}
}
