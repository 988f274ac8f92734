package io.holdfast.lock.internal;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts right in the background what a failing store left undone: leases that could not be given
 * back, and attempts whose outcome is not known. It tries until the TTL has ended them anyway.
 */
final class Aftermath {
  private static final Logger log = LoggerFactory.getLogger(Aftermath.class);

  private static final long RETRY_NANOS_MIN = 100_000_000;
  private static final long RETRY_NANOS_MAX = 5_000_000_000L;

  /** A request is not on its way for longer than this many store timeouts. */
  private static final int LATE_TIMEOUTS_MAX = 10;

  private final LockStore store;
  private final TimeSource time;
  private final Background background;
  private final Keeper keeper;
  private final long storeTimeoutNanos;

  Aftermath(
      LockStore store,
      TimeSource time,
      Background background,
      Keeper keeper,
      Duration storeTimeout) {
    this.store = store;
    this.time = time;
    this.background = background;
    this.keeper = keeper;
    this.storeTimeoutNanos = Nanos.of(storeTimeout);
  }

  /** Gives a grant back, however often that takes, until its TTL is over. */
  void release(Grant grant, Duration holdFor) {
    long heldUntilNanos = time.nanos() + Nanos.of(holdFor);
    background.cleanUp(new Retry(
        name(grant.claim()), time.nanos() + Nanos.of(grant.crashBound()), () -> {
          long leftNanos = Math.max(0, heldUntilNanos - time.nanos());
          ReleaseOutcome outcome = store.release(grant, Duration.ofNanos(leftNanos));
          log.info("Lock '{}' was given back in the background: {}", name(grant.claim()), outcome);
        }));
  }

  /**
   * Makes sure that an attempt leaves nothing at the store. Once more after a store timeout and
   * again at the end of the TTL or of ten store timeouts, since the request may still be on its way
   * when the first withdrawal arrives.
   */
  void withdraw(Claim claim) {
    long nowNanos = time.nanos();
    long lateNanos = Math.min(Nanos.of(claim.ttl()), LATE_TIMEOUTS_MAX * storeTimeoutNanos);
    withdrawAt(claim, nowNanos);
    withdrawAt(claim, nowNanos + storeTimeoutNanos);
    withdrawAt(claim, nowNanos + Math.max(lateNanos, 2 * storeTimeoutNanos));
  }

  /** Leaves a store's line, or else withdraws the claim. */
  void leave(Ticket ticket, Claim claim) {
    background.cleanUp(() -> {
      try {
        ticket.close();
      } catch (StoreException | RuntimeException e) {
        log.debug("The line of lock '{}' could not be left", name(claim), e);
        withdraw(claim);
      }
    });
  }

  private void withdrawAt(Claim claim, long atNanos) {
    keeper.runAt(
        atNanos,
        new Retry(name(claim), atNanos + Nanos.of(claim.ttl()), () -> store.withdraw(claim)));
  }

  private static String name(Claim claim) {
    return claim.key().name();
  }

  private interface StoreCall {
    void run() throws StoreException;
  }

  /** A call that is made again, at growing distances, until it is answered or no longer matters. */
  private final class Retry implements Runnable {
    private final String lockName;
    private final long untilNanos;
    private final StoreCall call;
    private long delayNanos = RETRY_NANOS_MIN;

    Retry(String lockName, long untilNanos, StoreCall call) {
      this.lockName = lockName;
      this.untilNanos = untilNanos;
      this.call = call;
    }

    @Override
    public void run() {
      try {
        call.run();
      } catch (StoreException | RuntimeException e) {
        long nextNanos = time.nanos() + delayNanos;
        if (nextNanos - untilNanos > 0) {
          log.warn(
              "Lock '{}' could not be cleaned up at the store; its TTL is over by now",
              lockName,
              e);
          return;
        }
        log.debug("Lock '{}' could not be cleaned up at the store; again later", lockName, e);
        delayNanos = Math.min(2 * delayNanos, RETRY_NANOS_MAX);
        keeper.runAt(nextNanos, this);
      }
    }
  }
}
