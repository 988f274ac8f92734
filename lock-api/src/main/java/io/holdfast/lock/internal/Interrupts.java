package io.holdfast.lock.internal;

/**
 * The interrupts of a thread that wants a lock. They end an interruptible attempt; otherwise they
 * are kept, and set again when it ends.
 */
final class Interrupts {
  private final boolean interruptible;
  private boolean kept;

  Interrupts(WaitMode mode) {
    this.interruptible = mode.interruptible();
  }

  /** Clears a pending interrupt: ends the attempt, or keeps the interrupt. */
  void check() throws InterruptedException {
    if (Thread.interrupted()) {
      if (interruptible) {
        throw new InterruptedException();
      }
      kept = true;
    }
  }

  /** Keeps an interrupt that was cleared and ended nothing. */
  void keep() {
    kept = true;
  }

  /** Sets the thread's flag again if an interrupt was kept. */
  void restore() {
    if (kept) {
      Thread.currentThread().interrupt();
    }
  }
}
