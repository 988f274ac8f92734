package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Closes a client, step by step; each step is made even if the one before failed. Leases become
 * lost before the store is told, so that nobody trusts a lease whose lock another client may have
 * by then. A step that failed for lack of memory is repeated by the next call.
 */
final class ClientClosing {
  private static final SafeLogger log = SafeLogger.of(ClientClosing.class);

  private static final long LOOK_NANOS = 2_000_000;
  private static final int NAMES_LOGGED_MAX = 20;

  /** The number of threads that release leases, besides the closing one. */
  private static final int HELPERS = 3;

  private final Parts parts;
  private final AtomicBoolean running = new AtomicBoolean();

  /** Allocated in advance, since the heap may be full by then. */
  private final List<Runnable> steps;

  /** The steps that are done; accessed only by the thread that is running them. */
  private final boolean[] done;

  /** The grants that were held, in the order in which they are to be released. */
  private final List<ActiveGrant> grants = new ArrayList<>();

  private final List<ActiveGrant> guarded = new ArrayList<>();

  /** The deadline for all calls to the store; set when the close begins. */
  private volatile Deadline deadline;

  ClientClosing(Parts parts) {
    this.parts = parts;
    this.deadline = Deadline.after(Duration.ZERO, parts.time());
    this.steps = List.of(
        this::loseAll,
        this::giveUp,
        this::awaitLeaders,
        this::endCleanup,
        parts.keeper()::close,
        this::endSettling,
        parts.cleaners()::closeNow,
        parts.callbackThreads()::retire,
        parts.store()::close);
    this.done = new boolean[steps.size()];
  }

  /** Makes the steps that are not done yet; a second caller waits for the first. */
  void run() {
    Duration timeout = Duration.ofNanos(parts.storeTimeoutNanos());
    // Before any step, so that the client is unchanged if the clock fails.
    Deadline ours = Deadline.after(timeout, parts.time());
    if (!running.compareAndSet(false, true)) {
      Deadline most = Deadline.after(timeout.multipliedBy(3), parts.time());
      boolean unused = awaitUntil(() -> !running.get(), most);
      return;
    }
    boolean interrupted = Thread.interrupted();
    try {
      parts.closed().set(true);
      deadline = ours;
      for (int i = 0; i < done.length; i++) {
        done[i] = done[i] || succeeds(steps.get(i));
      }
    } finally {
      running.set(false);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Makes one step; returns false if it failed, and does not throw, so that the others are made
   * too.
   */
  private static boolean succeeds(Runnable step) {
    try {
      step.run();
      return true;
    } catch (Throwable e) {
      log.error(
          "The close of a lock client could not do all that it should, and goes on; another close()"
              + " does the rest",
          e);
      return false;
    }
  }

  private void loseAll() {
    for (WaitQueue queue : parts.queues().all()) {
      try {
        lose(queue);
      } catch (Throwable e) {
        log.error("A lock could not be given up at the close of its client", e);
      }
    }
    grants.addAll(guarded);
  }

  private void lose(WaitQueue queue) {
    queue.closeClient();
    for (Hold hold : queue.toGiveUp()) {
      ActiveGrant grant = hold.grant();
      grant.lose(LeaseLoss.Reason.CLIENT_CLOSED);
      if (grant.state().phase() == Phase.LOST) { // Else its own thread is releasing it.
        // The release of a lease with an open guard may have to wait for the guard.
        (hold.isGuarded() ? guarded : grants).add(grant);
      }
    }
  }

  private void giveUp() {
    GivingUp givingUp = new GivingUp(grants);
    int helpers = Math.min(HELPERS, grants.size() - 1);
    for (int i = 0; i < helpers; i++) {
      parts.cleaners().submit(Task.of(givingUp::work));
    }
    givingUp.work();
    boolean unused = awaitUntil(() -> givingUp.atWork.get() == 0, deadline);
    Collection<String> kept = givingUp.kept();
    if (!kept.isEmpty()) {
      log.warn(
          "The lock client was closed with {} lease(s) that could not be given back and end with"
              + " their TTL: {}",
          kept.size(),
          shortened(kept),
          givingUp.cause);
    }
  }

  /** The releases, which several threads work through together. */
  private final class GivingUp {
    private final Queue<ActiveGrant> left;
    private final Queue<String> failed = new ConcurrentLinkedQueue<>();
    private final AtomicInteger atWork = new AtomicInteger();
    private volatile @Nullable Throwable cause;

    GivingUp(List<ActiveGrant> grants) {
      this.left = new ConcurrentLinkedQueue<>(grants);
    }

    void work() {
      while (!deadline.isOver()) {
        atWork.incrementAndGet();
        try {
          ActiveGrant grant = left.poll();
          if (grant == null) {
            return;
          }
          giveUp(grant);
        } finally {
          atWork.decrementAndGet();
        }
      }
    }

    private void giveUp(ActiveGrant grant) {
      try {
        ReleaseOutcome outcome = parts.store().release(grant.grant(), grant.minHoldLeft());
        log.debug("Lock '{}' at close: {}", grant.key().name(), outcome);
      } catch (Throwable e) { // Whatever it was, the other grants must be released too.
        failed.add(grant.key().name());
        cause = e;
      }
    }

    Collection<String> kept() {
      List<String> kept = new ArrayList<>(failed);
      left.forEach(grant -> kept.add(grant.key().name()));
      return kept;
    }
  }

  private void awaitLeaders() {
    boolean unused =
        awaitUntil(() -> parts.queues().all().stream().noneMatch(WaitQueue::isLed), deadline);
    List<String> led = parts.queues().all().stream()
        .filter(WaitQueue::isLed)
        .map(queue -> queue.key().name())
        .toList();
    if (!led.isEmpty()) {
      log.warn(
          "The lock client was closed while the store had not answered about {}; what it grants"
              + " late ends with its TTL",
          shortened(led),
          null);
    }
  }

  private void endCleanup() {
    parts.cleanup().end();
    boolean unused = awaitUntil(parts.cleanup()::isOver, deadline);
    List<String> left = parts.cleanup().leftUndone();
    if (!left.isEmpty()) {
      log.warn(
          "The lock client was closed before the store confirmed that {} lock(s) are free of what"
              + " it had asked for; what is left ends with its TTL: {}",
          left.size(),
          shortened(left));
    }
  }

  private void endSettling() {
    parts.settlers().close(Duration.ofNanos(parts.storeTimeoutNanos()));
  }

  private boolean awaitUntil(BooleanSupplier condition, Deadline most) {
    boolean interrupted = false;
    while (!condition.getAsBoolean() && !most.isOver()) {
      parts.time().park(this, LOOK_NANOS);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return condition.getAsBoolean();
  }

  private static List<String> shortened(Collection<String> names) {
    return names.stream().limit(NAMES_LOGGED_MAX).toList();
  }
}
