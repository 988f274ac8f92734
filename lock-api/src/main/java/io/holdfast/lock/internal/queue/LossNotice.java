package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.Deque;
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

  /** Makes the loss of a hold, as listeners see it. */
  public static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new Loss(hold.lockName(), hold.token(), reason);
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}
}
