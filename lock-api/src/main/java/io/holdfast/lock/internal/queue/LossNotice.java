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
 * @param seen whether its acquirer had received it; otherwise it was lost during a hand-off
 * @param frees whether the store is to be told: it is not the last of its grant's, or a guard is
 *     open, if not
 */
public record LossNotice(
    Hold hold,
    LeaseLoss loss,
    Deque<Consumer<? super LeaseLoss>> listeners,
    boolean seen,
    boolean frees) {}
