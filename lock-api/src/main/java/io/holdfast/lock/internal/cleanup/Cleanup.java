package io.holdfast.lock.internal.cleanup;

import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Releases leases, and withdraws claims whose outcome is unknown, in the background; repeats that
 * while the store fails, until they have ended at the store by themselves. When the client is
 * closed, each gets one last try.
 */
public final class Cleanup {
  private static final SafeLogger log = SafeLogger.of(Cleanup.class);

  /** The number of store timeouts after which a request is no longer expected to arrive. */
  private static final int LATE_TIMEOUTS_MAX = 10;

  private static final long RETRY_NANOS_MIN = 100_000_000;
  private static final long RETRY_NANOS_MAX = 5_000_000_000L;

  private final LockStore store;
  private final TimeSource time;
  private final Workers workers;
  private final long storeTimeoutNanos;
  private final Runnable onEarlier;

  private final Set<CleanupTask> open = ConcurrentHashMap.newKeySet();
  private final Set<CleanupTask> failedAtTheEnd = ConcurrentHashMap.newKeySet();
  private volatile boolean ending;

  /**
   * Whether a task was given up since there was last nothing to do; of the first a line is logged.
   */
  private final AtomicBoolean givingUp = new AtomicBoolean();

  /**
   * @param workers the threads that make the calls
   * @param onEarlier called, on any thread, when something is due earlier than {@link #submitDue}
   *     said; throws nothing
   */
  public Cleanup(
      LockStore store,
      TimeSource time,
      Workers workers,
      long storeTimeoutNanos,
      Runnable onEarlier) {
    this.store = store;
    this.time = time;
    this.workers = workers;
    this.storeTimeoutNanos = storeTimeoutNanos;
    this.onEarlier = onEarlier;
  }

  /**
   * Releases a grant; after a failure, tries again until the grant has ended at the store by
   * itself.
   *
   * @param lasts the longest time for which the store keeps the grant by itself
   * @param holdFor the time for which the name must stay taken, counted from now
   */
  public void release(Grant grant, Duration lasts, Duration holdFor) {
    long heldUntilNanos = time.nanos() + Nanos.of(holdFor);
    begin(new CleanupTask(grant.claim(), false, Nanos.of(lasts), List.of(), () -> {
      long leftNanos = Math.max(0, heldUntilNanos - time.nanos());
      ReleaseOutcome outcome = store.release(grant, Duration.ofNanos(leftNanos));
      log.info(
          "Lock '{}' was given back in the background: {}", grant.claim().key().name(), outcome);
    }));
  }

  /**
   * Withdraws a claim, so that it leaves nothing at the store. Its request can arrive later than
   * the withdrawal; so this is done again after one store timeout, and once more after the TTL or
   * ten store timeouts, whichever is less, but not before two store timeouts.
   */
  public void withdraw(Claim claim) {
    long nowNanos = time.nanos();
    long ttlNanos = Nanos.of(claim.ttl());
    long lateNanos =
        Math.max(Math.min(ttlNanos, LATE_TIMEOUTS_MAX * storeTimeoutNanos), 2 * storeTimeoutNanos);
    begin(new CleanupTask(
        claim,
        true,
        lateNanos + ttlNanos,
        List.of(nowNanos + storeTimeoutNanos, nowNanos + lateNanos),
        () -> store.withdraw(claim)));
  }

  /** Leaves a store's line, on this thread; withdraws the claim if that fails. */
  public void leaveLine(Ticket ticket, Claim claim) {
    try {
      ticket.close();
    } catch (Throwable e) { // The withdrawal ends the place, and is repeated.
      withdraw(claim);
      log.debug("The line of lock '{}' could not be left", claim.key().name(), e);
    }
  }

  /** Leaves a store's line like {@link #leaveLine}, but on another thread. */
  public void leaveLineLater(Ticket ticket, Claim claim) {
    // Never fails, so it is never repeated: what can't be left is withdrawn.
    begin(new CleanupTask(
        claim, true, Nanos.of(claim.ttl()), List.of(), () -> leaveLine(ticket, claim)));
  }

  /**
   * Withdraws now, on this thread, the claims of this key whose withdrawal was not answered yet.
   *
   * @return whether there were any
   * @throws StoreException one may still have something at the store
   */
  public boolean withdrawUnanswered(LockKey key) throws StoreException {
    List<CleanupTask> unanswered = open.stream()
        .filter(task -> task.withdraws && !task.answered && task.claim.key().equals(key))
        .toList();
    if (unanswered.isEmpty()) {
      return false;
    }
    long untilNanos = time.nanos() + storeTimeoutNanos;
    for (CleanupTask task : unanswered) {
      if (time.nanos() - untilNanos > 0) {
        throw StoreException.refused(
            "Earlier attempts of this client could not be withdrawn in time", null);
      }
      store.withdraw(task.claim);
      task.answered = true;
    }
    return true;
  }

  private void begin(CleanupTask task) {
    if (workers.isClosed()) { // The end of a guard, after the client's.
      log.warn(
          "Lock '{}' may stay taken until its TTL is over, since its lock client is closed",
          task.lockName(),
          null);
    }
    open.add(task);
    workers.submit(task);
  }

  /** Submits what is due to be done again, and returns the time at which more is due. */
  public long submitDue() {
    long nowNanos = time.nanos();
    long nextNanos = nowNanos + Nanos.FOREVER;
    for (CleanupTask task : open) {
      if (task.dueNanos - nowNanos > 0) {
        nextNanos = Nanos.earlier(nextNanos, task.dueNanos);
      } else {
        // First, since the task sets the time of its next run.
        task.dueNanos = nowNanos + Nanos.FOREVER;
        workers.submit(task);
      }
    }
    return nextNanos;
  }

  /**
   * Makes a last try, now, of everything that is not done. What is begun after this gets one try.
   */
  public void end() {
    ending = true;
    open.forEach(workers::submit);
  }

  /** Whether nothing is left to do. */
  public boolean isOver() {
    return open.isEmpty();
  }

  /**
   * Returns, after {@link #end}, the names of the locks that may stay taken until their TTL is
   * over.
   */
  public List<String> leftUndone() {
    return Stream.of(open, failedAtTheEnd)
        .flatMap(Set::stream)
        .map(CleanupTask::lockName)
        .distinct()
        .toList();
  }

  private void forget(CleanupTask task) {
    open.remove(task);
    if (open.isEmpty()) {
      givingUp.set(false);
    }
  }

  /** A call to the store. */
  private interface StoreCall {
    void run() throws StoreException;
  }

  /**
   * A call to the store that is repeated at growing intervals until it is answered or no longer
   * matters. Once it is answered, it is made again at each of the given times.
   */
  private final class CleanupTask extends Task {

    private final Claim claim;

    /** Whether it ends an attempt, and not a lease. */
    private final boolean withdraws;

    private final long untilNanos;
    private final StoreCall call;

    /**
     * The times at which to make the call again, the earliest first. Like {@link #delayNanos},
     * accessed only by the thread that runs the task.
     */
    private final Deque<Long> repeatAtNanos;

    private long delayNanos = RETRY_NANOS_MIN;

    /** Whether the call was answered; it is made again for requests that arrive late. */
    private volatile boolean answered;

    /** The time at which to run again; far in the future once it is submitted. */
    private volatile long dueNanos;

    CleanupTask(
        Claim claim, boolean withdraws, long lastsNanos, List<Long> repeatAtNanos, StoreCall call) {
      this.claim = claim;
      this.withdraws = withdraws;
      long nowNanos = time.nanos();
      this.untilNanos = nowNanos + lastsNanos;
      this.dueNanos = nowNanos + Nanos.FOREVER;
      this.repeatAtNanos = new ArrayDeque<>(repeatAtNanos);
      this.call = call;
    }

    String lockName() {
      return claim.key().name();
    }

    @Override
    protected void work() {
      // submitDue() or end() may have submitted it once more though it is done.
      if (!open.contains(this)) {
        return;
      }
      if (ending) {
        lastTry();
        return;
      }
      Long nextNanos = attempt();
      if (nextNanos == null) {
        forget(this);
      } else if (ending) {
        // The client was closed while this task was running.
        lastTry();
      } else {
        dueNanos = nextNanos;
        onEarlier.run();
      }
    }

    private void lastTry() {
      try {
        call.run();
        open.remove(this);
      } catch (Throwable e) { // The close of the client names the lock.
        failedAtTheEnd.add(this);
        open.remove(this);
        log.debug("Lock '{}' could not be cleaned up at the store", lockName(), e);
      }
    }

    /** Makes the call. Returns the time at which to run again, or null if the task is done. */
    private @Nullable Long attempt() {
      try {
        call.run();
      } catch (Throwable e) { // Whatever a store throws means that it gave no usable answer.
        return retryAt(e);
      }
      answered = true;
      delayNanos = RETRY_NANOS_MIN;
      long nowNanos = time.nanos();
      while (!repeatAtNanos.isEmpty() && repeatAtNanos.peek() - nowNanos <= 0) {
        repeatAtNanos.remove();
      }
      return repeatAtNanos.peek();
    }

    private @Nullable Long retryAt(Throwable failure) {
      long nowNanos = time.nanos();
      if (nowNanos - untilNanos >= 0) {
        if (givingUp.compareAndSet(false, true)) {
          log.warn(
              "Lock '{}', and maybe others, could not be cleaned up at the store; each is free once"
                  + " its TTL is over and the store answers",
              lockName(),
              failure);
        }
        return null;
      }
      long nextNanos = Nanos.earlier(nowNanos + delayNanos, untilNanos);
      delayNanos = Math.min(2 * delayNanos, RETRY_NANOS_MAX);
      log.debug("Lock '{}' could not be cleaned up at the store; again later", lockName(), failure);
      return nextNanos;
    }
  }
}
