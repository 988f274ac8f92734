package io.holdfast.lock.spi;

import io.holdfast.lock.LeaseLoss;

/**
 * What a store tells the engine unasked. For stores with sessions; a store whose only sign of
 * trouble is a failed call has nothing to tell.
 *
 * <p>Threads: any; returns at once and calls no user code. A grant that the engine does not know
 * (any more) is ignored.
 */
public interface StoreEvents {
  /** The grant may be in danger: its lease becomes uncertain until a renewal confirms it. */
  void suspended(Grant grant);

  /** The grant is gone: its lease is lost. */
  void lost(Grant grant, LeaseLoss.Reason reason);
}
