package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.Optional;

/**
 * A claim's place in a store's line. Used by one thread at a time. Must be closed when the wait is
 * over, unless {@link #poll()} or {@link #handedOver()} granted the lock.
 */
public interface Ticket extends AutoCloseable {

  /**
   * Asks the store whether the claim has the lock by now, and takes the lock if it is free for this
   * claim. Called after the wake-up given to {@link LockStore#acquireOrQueue}, after
   * {@link Waiting#recheckAfter}, and once more before the engine reports that a wait timed out. So
   * it must really ask the store, and throw if the store does not answer.
   *
   * @throws StoreException no usable answer; the engine then closes the ticket and withdraws the
   *     claim
   */
  Status poll() throws StoreException;

  /**
   * Returns a grant that the store pushed to this waiter, without having been asked, after this
   * ticket's last request was sent: the last {@link #poll()}, or {@link LockStore#acquireOrQueue}
   * if there was none. If it cannot be proved that the grant is later than that request, there is
   * none. Called before each {@link #poll()}, for a lease that will be renewed. If the engine
   * accepts the grant, the ticket is used up, and the engine soon has the grant renewed for its
   * whole TTL; otherwise it polls. No I/O.
   *
   * @return the grant, valid for {@link Grant#validFor()} from when that last request was sent; or
   *     empty, which does not mean that the lock is taken
   */
  default Optional<Grant> handedOver() {
    return Optional.empty();
  }

  /** Returns the holder of the lock, as far as this ticket knows. No I/O. */
  Optional<String> holder();

  /**
   * Leaves the line, so that the claim is never granted later. If it was granted without this
   * ticket's knowledge, the lock is given back. Idempotent, and harmless before, after or during a
   * {@link LockStore#withdraw} of the same claim; if {@link #poll()} granted the lock, it does
   * nothing.
   *
   * @throws StoreException it is not known whether the claim left the line; the engine then
   *     withdraws the claim
   */
  @Override
  void close() throws StoreException;

  /** The result of {@link #poll()}. */
  sealed interface Status {}

  /**
   * The claim was granted the lock; the ticket is used up.
   *
   * @param grant the grant, valid for {@link Grant#validFor()} from when {@code poll()} was called
   */
  record Granted(Grant grant) implements Status {}

  /**
   * The lock is still taken.
   *
   * @param recheckAfter the time after which {@code poll()} must be called again if no wake-up has
   *     come
   */
  record Waiting(Duration recheckAfter) implements Status {}

  /** The place was lost (its session ended, or its turn lapsed): the engine queues again. */
  record Gone() implements Status {}
}
