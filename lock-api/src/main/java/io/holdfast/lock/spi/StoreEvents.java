package io.holdfast.lock.spi;

import io.holdfast.lock.LeaseLoss;

/**
 * The events that a store tells the engine unasked. For stores with sessions; a store whose only
 * sign of trouble is a failed call has nothing to tell.
 *
 * <p>A grant may be told about as soon as the store knows of it, also before the call that asked
 * for it has returned. One that is over is ignored.
 *
 * <p>Threads: any; returns at once, throws nothing, and calls no user code.
 */
public interface StoreEvents {
  /**
   * The grant may be in danger: its lease becomes uncertain until the answer to a question that is
   * sent from now on confirms it.
   */
  void suspended(Grant grant);

  /** The grant is gone: its lease is lost. */
  void lost(Grant grant, LeaseLoss.Reason reason);
}
