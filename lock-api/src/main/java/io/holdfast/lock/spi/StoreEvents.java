package io.holdfast.lock.spi;

import io.holdfast.lock.LeaseLoss;

/**
 * Events that a store reports to the engine on its own initiative. Meant for stores with sessions;
 * a store that notices trouble only by failing calls reports none.
 *
 * <p>An event may concern a grant whose acquiring call has not returned yet. Events about a grant
 * that is already over are ignored.
 *
 * <p>Threads: may be called from any thread. The methods return at once, throw nothing, and call no
 * user code.
 */
public interface StoreEvents {
  /**
   * The grant may be in danger. Its lease becomes uncertain until the store confirms it in answer
   * to a request sent from now on.
   */
  void suspended(Grant grant);

  /** The grant is gone: its lease is lost. */
  void lost(Grant grant, LeaseLoss.Reason reason);
}
