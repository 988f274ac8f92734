package io.holdfast.lock;

import java.util.OptionalInt;

/** A lock that is held, as its store listed it at one moment. */
public interface HeldLock extends LockHolder {
  /** The name of the lock. */
  String name();

  /**
   * The number of acquires of other clients that stand in the store's line for it; a client whose
   * threads wait behind each other counts once. Empty if the store keeps no line, or does not count
   * it.
   */
  OptionalInt waiting();
}
