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
    Hold hold, LeaseLoss loss, Deque<Consumer<? super LeaseLoss>> listeners, boolean guarded) {}
