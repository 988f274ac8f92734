package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.internal.time.Validity;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** An attempt's wait in the store's line. Its {@link #run} is the wake-up that the store calls. */
final class StoreWait implements Runnable {
  /**
   * The last answer counts as prompt if it comes within the store timeout divided by this after the
   * end of the wait.
   */
  private static final int PROMPT_DIVISOR = 10;

  /**
   * The store timeout divided by this is enough time for a grant to be renewed, which begins soon:
   * the answer may take a third, and then some is left.
   */
  private static final int ENOUGH_DIVISOR = 2;

  /** The least time that is enough: a pause of the process must not cost a lease just got. */
  private static final long ENOUGH_NANOS_MIN = 2_000_000_000;

  private final Parts parts;
  private final Request request;
  private final Interrupts interrupts;
  private final WaitQueue queue;
  private final Clocks time;
  private final Thread thread = Thread.currentThread();

  /** The clocks before the last request, from which a grant counts. */
  ClockReading asked;

  /** Whether the store pushed the grant, without a request. */
  boolean handedOver;

  /** Whether the store has called the wake-up since the last request. */
  private volatile boolean rung;

  /** Whether the store was slow or failed, so that the caller must not wait for it again. */
  boolean storeSlow;

  /**
   * Whether a request went unanswered, so that the lock may have been granted without our
   * knowledge.
   */
  boolean unanswered;

  /** @param asked the clocks before the request that got the place */
  StoreWait(
      Parts parts, Request request, Interrupts interrupts, WaitQueue queue, ClockReading asked) {
    this.parts = parts;
    this.request = request;
    this.interrupts = interrupts;
    this.queue = queue;
    this.time = parts.time();
    this.asked = asked;
  }

  @Override
  public void run() {
    rung = true;
    LockSupport.unpark(thread);
  }

  /**
   * Waits until the lock is granted, the place is gone, or the time is over.
   *
   * @return {@link Ticket.Waiting} if the time is over: the place must still be given up
   */
  Ticket.Status await(Ticket ticket, Duration recheckAfter)
      throws StoreException, InterruptedException {
    Duration recheck = recheckAfter;
    while (true) {
      // The time is over, and the last answer was "taken".
      if (request.waitMode().untilNanos() - time.nanos() <= 0) {
        storeSlow = time.nanos() - request.waitMode().untilNanos()
            >= parts.storeTimeoutNanos() / PROMPT_DIVISOR;
        return new Ticket.Waiting(recheck);
      }
      queue.waitsAtStore(this);
      awaitWake(time.nanos() + Nanos.of(recheck));
      Optional<Grant> grant = call(() -> handedOver(ticket));
      if (grant.isPresent()) {
        handedOver = true;
        // The line is left: should the grant turn out to be over, the lock is not known to be
        // taken.
        queue.asks();
        return new Ticket.Granted(grant.get());
      }
      asked = time.read();
      rung = false;
      queue.asks();
      Ticket.Status status = call(ticket::poll);
      if (!(status instanceof Ticket.Waiting waiting)) {
        return status;
      }
      recheck = waiting.recheckAfter();
    }
  }

  /** Returns a grant that the store pushed, if enough of its time is left to start on it. */
  private Optional<Grant> handedOver(Ticket ticket) {
    LockOptions options = request.options();
    // A fixed lease, or one with a maxHold, must have its whole time, so the store is asked.
    return options.isRenewed() && options.maxHold().isEmpty()
        ? ticket.handedOver().filter(this::isFresh)
        : Optional.empty();
  }

  /** Whether the grant has half of its time left, or enough to be renewed. */
  private boolean isFresh(Grant grant) {
    long validForNanos = Math.min(Nanos.of(request.options().ttl()), Nanos.of(grant.validFor()));
    long enoughNanos = Math.max(ENOUGH_NANOS_MIN, parts.storeTimeoutNanos() / ENOUGH_DIVISOR);
    Validity validity =
        Validity.of(asked, validForNanos, asked.nanos() + Nanos.FOREVER, asked.nanos());
    ClockReading now = time.read();
    return validity.isFresh(now)
        || (!validity.isPast(now.nanos() + enoughNanos)
            && !validity.isOutrun(now.wallAheadNanos()));
  }

  private void awaitWake(long recheckAtNanos) throws InterruptedException {
    while (true) {
      parts.requireOpen(request.key().name());
      interrupts.check();
      long nowNanos = time.nanos();
      long leftNanos =
          Math.min(recheckAtNanos - nowNanos, request.waitMode().untilNanos() - nowNanos);
      if (rung || leftNanos <= 0) {
        return;
      }
      time.park(this, leftNanos);
    }
  }

  private <A> A call(StoreCalls.Call<A> call) throws StoreException {
    try {
      return StoreCalls.call(call);
    } catch (StoreException e) {
      storeSlow = true;
      unanswered = e.mayHaveHappened();
      throw e;
    }
  }
}
