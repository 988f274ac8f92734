package io.holdfast.lock.internal.memory;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;

/** A place in a row's line. */
final class MemoryTicket implements Ticket {
  private final MemoryStore store;
  private final Claim claim;
  private final Runnable wakeUp;

  MemoryTicket(MemoryStore store, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.claim = claim;
    this.wakeUp = wakeUp;
  }

  Claim claim() {
    return claim;
  }

  void wake() {
    wakeUp.run();
  }

  /** The time to the next poll if no wake-up comes, since the end of a TTL wakes nobody. */
  Duration recheckAfter() {
    return store.takenFor(claim.key()).plus(MemoryStore.RECHECK_SLACK);
  }

  @Override
  public Status poll() {
    MemoryGrant grant = store.poll(this);
    return grant == null ? new Waiting(recheckAfter()) : new Granted(grant);
  }

  @Override
  public Optional<String> holder() {
    return store.holderOf(claim.key());
  }

  @Override
  public void close() {
    store.leave(this);
  }
}
