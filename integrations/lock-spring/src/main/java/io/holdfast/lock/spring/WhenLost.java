package io.holdfast.lock.spring;

/** The outcomes of a call whose lease is lost before the method ends. */
public enum WhenLost {
  /**
   * The method goes on to its end, and then the call throws a
   * {@link io.holdfast.lock.LockLostException}, or the method's own exception with that one
   * suppressed.
   */
  THROW,
  /**
   * The thread is interrupted at the loss. When the method has ended, the call throws a
   * {@link io.holdfast.lock.LockLostException} in any case, with the method's own exception
   * suppressed. The thread's interrupt flag is then clear, even if somebody else interrupted it
   * meanwhile. Not for methods that return a {@code CompletionStage}.
   */
  INTERRUPT
}
