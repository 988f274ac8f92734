package io.holdfast.lock;

import java.util.OptionalInt;

/** A lock that was held when the store listed it ({@link LockClient#list}). */
public interface HeldLock extends LockHolder {
  /**
   * The length of the store's line for this lock. A client counts once, however many of its threads
   * wait; one that has the lock itself may not count. Empty if the store has no line, or does not
   * count it.
   */
  OptionalInt waiting();
}
