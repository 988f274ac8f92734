package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A ticket that polls, since independent servers have no common line. It polls less and less often,
 * at random intervals, so that two waiters do not keep splitting the servers between them.
 */
final class QuorumTicket implements Ticket {
  private static final long PAUSE_MILLIS_MIN = 20;
  private static final long PAUSE_MILLIS_MAX = 160;

  private final QuorumStore store;
  private final Claim claim;
  private volatile String holder = "";
  private volatile boolean isOver;
  private long pauseMillis = PAUSE_MILLIS_MIN; // used by one thread

  QuorumTicket(QuorumStore store, Claim claim) {
    this.store = store;
    this.claim = claim;
  }

  /** Polls for the first time: the claim waits unless it is granted the lock at once. */
  Acquisition join() throws StoreException {
    Status status = poll();
    return status instanceof Waiting waiting
        ? new Acquisition.Queued(this, waiting.recheckAfter())
        : new Acquisition.Granted(((Granted) status).grant());
  }

  @Override
  public Status poll() throws StoreException {
    QuorumStore.Asked asked = store.askInRounds(claim, true);
    if (asked instanceof QuorumStore.Asked.Granted granted) {
      isOver = true;
      return new Granted(granted.grant());
    }
    holder = ((QuorumStore.Asked.Busy) asked).holder();
    return new Waiting(nextPause());
  }

  /**
   * Returns the pause, varied at random from half to one and a half times its length, and lengthens
   * the next one.
   */
  private Duration nextPause() {
    long nanos = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
    pauseMillis = Math.min(PAUSE_MILLIS_MAX, 2 * pauseMillis);
    return Duration.ofNanos(nanos / 2 + ThreadLocalRandom.current().nextLong(nanos));
  }

  @Override
  public Optional<String> holder() {
    return Optional.of(holder);
  }

  @Override
  public void close() throws StoreException {
    if (isOver) {
      return;
    }
    store.withdraw(claim);
    isOver = true;
  }
}
