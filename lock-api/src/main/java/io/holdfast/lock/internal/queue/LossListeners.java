package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.List;
import java.util.function.Consumer;

/**
 * A user's lease, as its wait queue sees it: where the listeners for its loss are. They are kept
 * there and not here, since a listener usually mentions its lease: one that the engine referred to
 * would keep a lease reachable that its user has dropped.
 */
public interface LossListeners {
  /** Those that were added. Called under the queue's mutex; not copied. */
  List<Consumer<? super LeaseLoss>> lossListeners();

  /** One more. Called under the queue's mutex. */
  void addLossListener(Consumer<? super LeaseLoss> listener);
}
