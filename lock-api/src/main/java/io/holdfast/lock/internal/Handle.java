package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the engine keeps of one acquisition. It does not know its {@link LeaseHandle}, so that a
 * handle that the user dropped can be found out.
 */
final class Handle {
  private final Hold hold;

  /** Written under the line's mutex. */
  volatile boolean closed;

  /** How it ended, where the tenure goes on without it; written under the line's mutex. */
  volatile @Nullable LeaseState end;

  /** Guarded by the line's mutex. */
  final List<Consumer<? super LeaseLoss>> lossListeners = new ArrayList<>(0);

  /**
   * Only here is the reference reachable, and a reference that is not reachable itself tells nobody
   * of anything. Null for handles that we hold ourselves, and when it was closed.
   */
  @Nullable
  LeakReference leakReference;

  Handle(Hold hold) {
    this.hold = hold;
  }

  Hold hold() {
    return hold;
  }

  boolean isHeld() {
    return !closed && hold.tenure().stands();
  }

  LeaseState state() {
    if (!closed) {
      return hold.tenure().state();
    }
    LeaseState ended = end;
    if (ended != null) {
      return ended;
    }
    LeaseState state = hold.tenure().state();
    // Closed under an open guard, and not released yet.
    return state == LeaseState.HELD ? LeaseState.UNCERTAIN : state;
  }
}
