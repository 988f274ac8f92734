package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.List;
import java.util.function.Consumer;

/**
 * A user's lease, as its wait queue sees it: the keeper of its loss listeners. The lease keeps
 * them, and not the engine, since a listener usually refers to its lease: if the engine referred to
 * the listener, a dropped lease would stay reachable.
 */
public interface LossListeners {
  /** Returns the listeners that were added. Called under the queue's mutex; not copied. */
  List<Consumer<? super LeaseLoss>> lossListeners();

  /** Adds a listener. Called under the queue's mutex. */
  void addLossListener(Consumer<? super LeaseLoss> listener);
}
