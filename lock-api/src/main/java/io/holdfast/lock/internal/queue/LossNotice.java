package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.event.HeldLease;
import io.holdfast.lock.internal.grant.GrantState;
import java.util.Deque;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A loss that must be told.
 *
 * @param loss the details
 * @param listeners the hold's own listeners; each is removed when it is told
 * @param guarded whether a guard was open
 */
public record LossNotice(
    LeaseLoss loss, Deque<Consumer<? super LeaseLoss>> listeners, boolean guarded) {

  /** Makes the loss of a hold, as listeners see it, whose grant is in this state. */
  public static LeaseLoss lossOf(HeldLease hold, GrantState state) {
    return new Loss(hold.lockName(), hold.token(), Objects.requireNonNull(state.lostBy()));
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}
}
