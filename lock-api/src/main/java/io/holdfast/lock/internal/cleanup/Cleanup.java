package io.holdfast.lock.internal.cleanup;

import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.task.Timer;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Puts right in the background what a failing store left undone: leases that could not be given
 * back, and attempts whose outcome is not known. It tries until the TTL has ended them anyway, or
 * until the client is closed: then each gets one more try.
 */
public final class Cleanup {
  static final SafeLogger log = SafeLogger.of(Cleanup.class);

  /** A request is not on its way for longer than this many store timeouts. */
  private static final int LATE_TIMEOUTS_MAX = 10;

  private final LockStore store;
  private final TimeSource time;
  private final Workers workers;
  private final Timer timer;
  private final long storeTimeoutNanos;

  private final Set<CleanupTask> open = ConcurrentHashMap.newKeySet();
  private final Set<CleanupTask> failedAtTheEnd = ConcurrentHashMap.newKeySet();
  private volatile boolean ending;

  /** @param workers do the calls, and the timer's tasks */
  public Cleanup(
      LockStore store, TimeSource time, Workers workers, Timer timer, long storeTimeoutNanos) {
    this.store = store;
    this.time = time;
    this.workers = workers;
    this.timer = timer;
    this.storeTimeoutNanos = storeTimeoutNanos;
  }

  /** Gives a grant back, however often that takes, until its TTL is over. */
  public void release(Grant grant, Duration holdFor) {
    long heldUntilNanos = time.nanos() + Nanos.of(holdFor);
    begin(new CleanupTask(this, grant.claim(), Nanos.of(grant.crashBound()), List.of(), () -> {
      long leftNanos = Math.max(0, heldUntilNanos - time.nanos());
      ReleaseOutcome outcome = store.release(grant, Duration.ofNanos(leftNanos));
      log.info(
          "Lock '{}' was given back in the background: {}", grant.claim().key().name(), outcome);
    }));
  }

  /**
   * Makes sure that an attempt leaves nothing at the store. Once more after a store timeout and
   * again at the end of the TTL or of ten store timeouts, since the request may still be on its way
   * when the first withdrawal arrives.
   */
  public void withdraw(Claim claim) {
    long nowNanos = time.nanos();
    long ttlNanos = Nanos.of(claim.ttl());
    long lateNanos =
        Math.max(Math.min(ttlNanos, LATE_TIMEOUTS_MAX * storeTimeoutNanos), 2 * storeTimeoutNanos);
    begin(new CleanupTask(
        this,
        claim,
        lateNanos + ttlNanos,
        List.of(nowNanos + storeTimeoutNanos, nowNanos + lateNanos),
        () -> store.withdraw(claim)));
  }

  /** Leaves a store's queue, or else withdraws the claim. */
  public void leave(Ticket ticket, Claim claim) {
    begin(new CleanupTask(this, claim, Nanos.of(claim.ttl()), List.of(), () -> {
      try {
        ticket.close();
      } catch (Throwable e) {
        withdraw(claim);
        log.debug("The queue of lock '{}' could not be left", claim.key().name(), e);
      }
    }));
  }

  private void begin(CleanupTask task) {
    open.add(task);
    workers.submit(task);
  }

  /** Has all that is not done yet tried now, for the last time; what is begun from now on, too. */
  public void end() {
    ending = true;
    open.forEach(workers::submit);
  }

  /** Whether nothing is left to do. */
  public boolean isOver() {
    return open.isEmpty();
  }

  /** After the end: the names of the locks that may be taken until their TTL is over. */
  public List<String> leftUndone() {
    return Stream.of(open, failedAtTheEnd)
        .flatMap(Set::stream)
        .map(CleanupTask::lockName)
        .distinct()
        .toList();
  }

  // For the tasks

  boolean isEnding() {
    return ending;
  }

  boolean isOpen(CleanupTask task) {
    return open.contains(task);
  }

  void done(CleanupTask task) {
    open.remove(task);
  }

  void failedAtTheEnd(CleanupTask task) {
    failedAtTheEnd.add(task);
    open.remove(task);
  }

  void againAt(long atNanos, CleanupTask task) {
    timer.runAt(atNanos, task);
  }

  long nowNanos() {
    return time.nanos();
  }
}
