package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A user's lease, as its wait queue sees it: the keeper of its loss listeners. The lease keeps
 * them, and not the engine, since a listener usually refers to its lease: if the engine referred to
 * the listener, a dropped lease would stay reachable. Guarded by the queue's mutex.
 */
public abstract class LossListeners {
  private List<Consumer<? super LeaseLoss>> listeners = List.of();

  /** Returns the listeners that were added; not copied. */
  List<Consumer<? super LeaseLoss>> lossListeners() {
    return listeners;
  }

  void addLossListener(Consumer<? super LeaseLoss> listener) {
    if (listeners.isEmpty()) {
      listeners = new ArrayList<>(2);
    }
    listeners.add(listener);
  }
}
