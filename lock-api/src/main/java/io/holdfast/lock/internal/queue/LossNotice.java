package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * A loss that is to be told.
 *
 * @param hold what was lost
 * @param loss how
 * @param listeners its own listeners; each is taken out when it is told
 * @param seen whether its acquirer has it; otherwise it was lost on the way from the one before
 * @param guarded whether a guard was open
 */
public record LossNotice(
    Hold hold,
    LeaseLoss loss,
    Deque<Consumer<? super LeaseLoss>> listeners,
    boolean seen,
    boolean guarded) {}
