package io.holdfast.lock.spring;

import io.holdfast.lock.AnyLease;

/**
 * Interrupts a thread when a lease is lost, until the thread has ended its work under the lease.
 *
 * <p>Threads: made and ended by the thread in question; the loss comes on any thread.
 */
final class LossInterrupt {
  private final Thread worker = Thread.currentThread();

  // Under the monitor.
  private boolean over;
  private boolean interrupted;

  private LossInterrupt() {}

  static LossInterrupt on(AnyLease lease) {
    LossInterrupt interrupt = new LossInterrupt();
    lease.onLost(loss -> interrupt.strike());
    return interrupt;
  }

  private synchronized void strike() {
    if (!over) {
      interrupted = true;
      worker.interrupt();
    }
  }

  /** Ends this: it interrupts no more, and leaves no interrupt of its own pending. */
  void end() {
    synchronized (this) {
      over = true;
      if (!interrupted) {
        return;
      }
    }
    Thread.interrupted();
  }
}
