package io.holdfast.lock.shedlock;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lease of a task. It is closed when {@code lockAtMostFor} is over, if the TTL lasts longer.
 *
 * <p>Threads: any. Closing and extending wait for each other, since either may come while the other
 * asks the store.
 */
final class Tenure {
  private static final Logger log = LoggerFactory.getLogger(Tenure.class);

  private final Lease lease;
  private final TaskTtl ttls;
  private final ReentrantLock mutex = new ReentrantLock();

  /** The time at which {@code lockAtMostFor} is over; guarded by the mutex. */
  private long endNanos = System.nanoTime();

  /** The time at which the TTL is over, or somewhat before; guarded by the mutex. */
  private long leaseEndNanos = endNanos;

  /** Guarded by the mutex. */
  private Phase phase = Phase.HELD;

  private enum Phase {
    HELD,
    /** Its task closed it, or knows that it was lost. */
    CLOSED,
    /** It was closed here, since {@code lockAtMostFor} was over. */
    OVERRUN
  }

  Tenure(Lease lease, TaskTtl ttls) {
    this.lease = lease;
    this.ttls = ttls;
  }

  /** Moves both ends to these times from now, unless they are later already. */
  void last(Duration lockAtMostFor, Duration ttl) {
    mutex.lock();
    try {
      long nowNanos = System.nanoTime();
      endNanos = later(endNanos, nowNanos + lockAtMostFor.toNanos());
      leaseEndNanos = later(leaseEndNanos, nowNanos + ttl.toNanos());
      if (leaseEndNanos - endNanos > 0) {
        endLater(endNanos - nowNanos);
      }
    } finally {
      mutex.unlock();
    }
  }

  /** Closes the lease for its task. */
  void close() {
    mutex.lock();
    try {
      if (phase == Phase.OVERRUN) {
        throw new LockLostException(lease.name(), lease.token(), LeaseLoss.Reason.EXPIRED);
      }
      phase = Phase.CLOSED;
      lease.close();
    } finally {
      mutex.unlock();
    }
  }

  /** Extends the lease; false if it is over. */
  boolean extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
    mutex.lock();
    try {
      endIfOver();
      if (phase != Phase.HELD) {
        return false;
      }
      Duration ttl = ttls.use(lockAtMostFor, allowed -> {
        lease.extend(allowed, lockAtLeastFor);
        return allowed;
      });
      last(lockAtMostFor, ttl);
      return true;
    } catch (LockLostException e) {
      // The client has logged the loss and told its listeners; the result tells the caller.
      phase = Phase.CLOSED;
      giveUp();
      return false;
    } finally {
      mutex.unlock();
    }
  }

  private void endLater(long delayNanos) {
    // On a thread of its own, since the store may be slow to answer.
    CompletableFuture.delayedExecutor(delayNanos, TimeUnit.NANOSECONDS, this::start)
        .execute(this::endInTime);
  }

  private void start(Runnable task) {
    Thread thread = new Thread(null, task, "holdfast-shedlock-" + lease.name(), 0, false);
    thread.setDaemon(true);
    thread.start();
  }

  private void endInTime() {
    mutex.lock();
    try {
      endIfOver();
    } finally {
      mutex.unlock();
    }
  }

  /** Gives the lease up if {@code lockAtMostFor} is over, unless the task closed it. */
  private void endIfOver() {
    if (phase == Phase.HELD && System.nanoTime() - endNanos >= 0) {
      phase = Phase.OVERRUN;
      log.warn(
          "Lock '{}' with token {} is given up since its lockAtMostFor is over; its task may still"
              + " be at work",
          lease.name(),
          lease.token());
      giveUp();
    }
  }

  private void giveUp() {
    try {
      lease.close();
    } catch (LockLostException e) {
      // It is over, and this is known by now.
    }
  }

  private static long later(long nanos, long otherNanos) {
    return otherNanos - nanos > 0 ? otherNanos : nanos;
  }
}
