package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.Optional;

/**
 * A claim's place in a store's line. Used by one thread at a time; closed once its wait is over,
 * unless {@link #poll()} or {@link #handedOver()} granted the lock.
 */
public interface Ticket extends AutoCloseable {

  /**
   * Asks whether the lock is the claim's by now, and takes it if it is free for the claim. Called
   * after the wake-up given to {@link LockStore#acquireOrQueue}, after
   * {@link Waiting#recheckAfter}, and once more before the engine reports that a wait ran out: so
   * it must ask the store, and a store that does not answer is an exception.
   *
   * @throws StoreException no usable answer; the engine then closes the ticket and withdraws the
   *     claim
   */
  Status poll() throws StoreException;

  /**
   * A grant that the store pushed to this waiter since its last question was sent (the last
   * {@link #poll()}, or else {@link LockStore#acquireOrQueue}), if that can be proved. Asked before
   * each {@link #poll()}, for a lease that will be renewed. If the engine takes it, the ticket is
   * used up, and the engine soon has the grant renewed, for its whole TTL; else it polls. No I/O.
   *
   * @return the grant, good for {@link Grant#validFor()} from when that last question was sent; or
   *     empty, which says nothing
   */
  default Optional<Grant> handedOver() {
    return Optional.empty();
  }

  /** The holder of the lock, as far as this ticket has heard. No I/O. */
  Optional<String> holder();

  /**
   * Leaves the line: the claim is never granted later. If it had been granted unseen, the lock is
   * given back. Idempotent, and harmless before, after or during a {@link LockStore#withdraw} of
   * the same claim; if {@link #poll()} granted the lock, it does nothing.
   *
   * @throws StoreException it is not known whether it left; the engine then withdraws the claim
   */
  @Override
  void close() throws StoreException;

  /** The finding of {@link #poll()}. */
  sealed interface Status {}

  /**
   * The lock is the claim's; the ticket is used up.
   *
   * @param grant the grant, good for {@link Grant#validFor()} from when {@code poll()} was called
   */
  record Granted(Grant grant) implements Status {}

  /**
   * Not yet.
   *
   * @param recheckAfter the longest time to the next {@code poll()} if no wake-up comes
   */
  record Waiting(Duration recheckAfter) implements Status {}

  /** The place was lost (its session ended, its turn lapsed): the engine asks anew. */
  record Gone() implements Status {}
}
