package io.holdfast.lock.internal;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts right in the background what a failing store left undone: leases that could not be given
 * back, and attempts whose outcome is not known. It tries until the TTL has ended them anyway, or
 * until the client is closed: then each gets one more try.
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

  private final Set<Chore> open = ConcurrentHashMap.newKeySet();
  private final Set<Chore> failedAtTheEnd = ConcurrentHashMap.newKeySet();
  private volatile boolean ending;

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
    begin(new Chore(grant.claim(), Nanos.of(grant.crashBound()), List.of(), () -> {
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
    long ttlNanos = Nanos.of(claim.ttl());
    long lateNanos =
        Math.max(Math.min(ttlNanos, LATE_TIMEOUTS_MAX * storeTimeoutNanos), 2 * storeTimeoutNanos);
    begin(new Chore(
        claim,
        lateNanos + ttlNanos,
        List.of(nowNanos + storeTimeoutNanos, nowNanos + lateNanos),
        () -> store.withdraw(claim)));
  }

  /** Leaves a store's line, or else withdraws the claim. */
  void leave(Ticket ticket, Claim claim) {
    begin(new Chore(claim, Nanos.of(claim.ttl()), List.of(), () -> {
      try {
        ticket.close();
      } catch (StoreException | RuntimeException e) {
        log.debug("The line of lock '{}' could not be left", name(claim), e);
        withdraw(claim);
      }
    }));
  }

  private void begin(Chore chore) {
    open.add(chore);
    background.cleanUp(chore);
  }

  /** Has all that is not done yet tried now, for the last time; what is begun from now on, too. */
  void end() {
    ending = true;
    open.forEach(background::cleanUp);
  }

  boolean isOver() {
    return open.isEmpty();
  }

  /** After the end: the names of the locks that may be taken until their TTL is over. */
  List<String> leftUndone() {
    return Stream.of(open, failedAtTheEnd)
        .flatMap(Set::stream)
        .map(chore -> name(chore.claim))
        .distinct()
        .toList();
  }

  private static String name(Claim claim) {
    return claim.key().name();
  }

  private interface StoreCall {
    void run() throws StoreException;
  }

  /**
   * A call that is made again, at growing distances, until it is answered or no longer matters, and
   * then at the times at which it is to be repeated.
   */
  private final class Chore implements Runnable {
    private final Claim claim;
    private final long untilNanos;
    private final StoreCall call;
    private final AtomicBoolean isRunning = new AtomicBoolean();

    /** The earliest first. Whoever runs the chore has this and the next. */
    private final Deque<Long> repeatAtNanos;

    private long delayNanos = RETRY_NANOS_MIN;

    Chore(Claim claim, long lastsNanos, List<Long> repeatAtNanos, StoreCall call) {
      this.claim = claim;
      this.untilNanos = time.nanos() + lastsNanos;
      this.repeatAtNanos = new ArrayDeque<>(repeatAtNanos);
      this.call = call;
    }

    @Override
    public void run() {
      if (!isRunning.compareAndSet(false, true)) {
        return;
      }
      Long nextNanos = null;
      try {
        if (open.contains(this)) {
          nextNanos = ending ? attemptAtTheEnd() : attempt();
        }
      } finally {
        if (nextNanos == null) {
          open.remove(this);
        }
        isRunning.set(false);
      }
      if (nextNanos != null) {
        // Looked at only now: the end may have come upon this chore while it was running.
        if (ending) {
          background.cleanUp(this);
        } else {
          keeper.runAt(nextNanos, this);
        }
      }
    }

    private @Nullable Long attemptAtTheEnd() {
      try {
        call.run();
      } catch (StoreException | RuntimeException e) {
        log.debug("Lock '{}' could not be cleaned up at the store", name(claim), e);
        failedAtTheEnd.add(this);
      }
      return null;
    }

    /** When it is to run next; null: never. */
    private @Nullable Long attempt() {
      try {
        call.run();
      } catch (StoreException | RuntimeException e) {
        return retryAt(e);
      }
      delayNanos = RETRY_NANOS_MIN;
      long nowNanos = time.nanos();
      while (!repeatAtNanos.isEmpty() && repeatAtNanos.peek() - nowNanos <= 0) {
        repeatAtNanos.remove();
      }
      return repeatAtNanos.peek();
    }

    private @Nullable Long retryAt(Exception failure) {
      long nextNanos = time.nanos() + delayNanos;
      if (nextNanos - untilNanos > 0) {
        log.warn(
            "Lock '{}' could not be cleaned up at the store; its TTL is over by now",
            name(claim),
            failure);
        return null;
      }
      log.debug(
          "Lock '{}' could not be cleaned up at the store; again later", name(claim), failure);
      delayNanos = Math.min(2 * delayNanos, RETRY_NANOS_MAX);
      return nextNanos;
    }
  }
}
