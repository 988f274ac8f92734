package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection that a client keeps for itself, so that leases are renewed even if the application
 * has exhausted its pool. It is taken from that pool at the start, and replaced if it breaks.
 *
 * <p>A connection that is kept does not follow a switchover, whereas a pool retires its connections
 * and opens new ones to the current server. So a renewal uses a new one from the pool, if the pool
 * has one, and that one is kept from then on. The kept one is also exchanged when it is used and is
 * about a minute old, and when it is used after it seemed to lead to a wrong server. The new one is
 * taken before the old one is given back: if the pool has none to give, the old one stays.
 *
 * <p>Threads: safe for use by any number of threads; one borrows at a time, and the others wait
 * within their deadlines. A renewal waits for one of the others at most.
 */
public final class OwnConnection implements Lender, AutoCloseable {
  /**
   * The idle time after which the connection is checked before it is used or goes back to the pool:
   * the server or a firewall may have ended it. The check before it goes back is needed since pools
   * hand out unchecked what was given back just now.
   */
  private static final long TRUSTED_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /**
   * The least age at which a use exchanges the connection. The age is random up to
   * {@link #AGE_NANOS_MAX}, so that clients do not all change at once.
   */
  private static final long AGE_NANOS_MIN = TimeUnit.SECONDS.toNanos(45);

  private static final long AGE_NANOS_MAX = TimeUnit.SECONDS.toNanos(75);

  /** The pause after the pool had none to give, before a use tries again: each try waits. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(5);

  /**
   * The wait for a new connection, and a check, may each take a borrower's time divided by this:
   * enough for the check of a pool whose server takes a third, and then another third is left.
   */
  private static final int SHARE_OF_DEADLINE = 2;

  private static final Logger log = LoggerFactory.getLogger(OwnConnection.class);

  private final Pool pool;
  private final Duration closeMax;

  /** Held by the one who may borrow or wait to, renewals apart. Taken before the other lock. */
  private final ReentrantLock turn = new ReentrantLock();

  private final ReentrantLock borrowed = new ReentrantLock(true);

  // Guarded by the second lock.
  private @Nullable Lent kept;
  private long usedAtNanos;

  /** The time just before the kept connection was asked for. */
  private volatile long keptSinceNanos;

  /** The time from which a use exchanges the connection. */
  private volatile long changeAtNanos;

  /** The last time at which a connection seemed to lead to a wrong server. */
  private volatile long expiredAtNanos = System.nanoTime();

  private volatile boolean closed;

  /**
   * @param closeMax the longest time that a close takes; a borrower may take longer, since H2's
   *     driver can't limit a call over a network
   */
  public OwnConnection(Pool pool, Duration closeMax) {
    this.pool = pool;
    this.closeMax = closeMax;
  }

  /** Lends the connection, which was checked if it was idle. */
  @Override
  public Lent lend(Deadline deadline) throws StoreException {
    return lendInTurn(deadline, true);
  }

  /** Does {@link #lend}, without a check. For a borrower whose time is half over. */
  Lent lendUnchecked(Deadline deadline) throws StoreException {
    return lendInTurn(deadline, false);
  }

  private Lent lendInTurn(Deadline deadline, boolean checked) throws StoreException {
    lock(turn, deadline);
    Lent lent = null;
    try {
      lent = lendKept(deadline, checked, turn::unlock);
      return lent;
    } finally {
      if (lent == null) {
        turn.unlock();
      }
    }
  }

  /**
   * Lends a connection of the pool, which is kept from then on if it works; the kept one if the
   * pool gives none within {@code patience}.
   */
  Lent lendForRenewal(Deadline patience, Deadline deadline) throws StoreException {
    long askedNanos = System.nanoTime();
    Lent fresh;
    try {
      fresh = pool.lend(patience);
    } catch (StoreException e) {
      log.debug("The client's own connection is used, since the pool gives none", e);
      return lendKept(deadline, false, () -> {});
    }
    return new Lent(fresh.connection(), (connection, usable) -> {
      // If it can't be locked, it is lent; the next renewal exchanges it.
      if (usable && borrowed.tryLock()) {
        try {
          keep(fresh, askedNanos);
        } finally {
          giveBack(true);
        }
      } else {
        fresh.close(usable);
      }
    });
  }

  private Lent lendKept(Deadline deadline, boolean checked, Runnable after) throws StoreException {
    lock(borrowed, deadline);
    Lent lent = null;
    try {
      if (closed) {
        throw StoreException.refused("The client is closed", null);
      }
      if (checked) {
        check(deadline);
      }
      Lent current = kept;
      if (current == null) {
        long askedNanos = System.nanoTime();
        current = pool.lend(deadline);
        keep(current, askedNanos);
      }
      lent = new Lent(current.connection(), (connection, usable) -> {
        try {
          giveBack(usable);
        } finally {
          after.run();
        }
      });
      return lent;
    } finally {
      if (lent == null) {
        borrowed.unlock();
      }
    }
  }

  /**
   * Exchanges the connection if that is due; else drops it if it is broken. Not both: the pool may
   * have taken so much of the time that a slow connection would look like a broken one.
   */
  private void check(Deadline deadline) {
    Lent current = kept;
    if (current == null) {
      return;
    }
    Deadline share = Deadlines.part(deadline, SHARE_OF_DEADLINE);
    if (System.nanoTime() - changeAtNanos >= 0) {
      change(share);
    } else if (!isRecent(usedAtNanos) && !test(current, share)) {
      drop(current, false);
    }
  }

  /** Exchanges the connection for one that the pool gives now, if it gives one. */
  private void change(Deadline patience) {
    long askedNanos = System.nanoTime();
    try {
      keep(pool.lend(patience), askedNanos);
    } catch (StoreException e) {
      changeAtNanos = System.nanoTime() + RETRY_NANOS;
      log.debug("The client's own connection stays, since the pool gives no other", e);
    }
  }

  /** Keeps a connection that was asked for at that time, and gives back the former one. */
  private void keep(Lent taken, long askedNanos) {
    Lent old = kept;
    boolean works = !isSuspect();
    long idleSinceNanos = usedAtNanos;
    kept = taken;
    keptSinceNanos = askedNanos;
    usedAtNanos = System.nanoTime();
    long ageNanos = ThreadLocalRandom.current().nextLong(AGE_NANOS_MIN, AGE_NANOS_MAX);
    changeAtNanos = usedAtNanos + (isSuspect() ? 0 : ageNanos);
    if (old == null) {
      return;
    }
    if (!works || isRecent(idleSinceNanos)) {
      old.close(works);
    } else {
      pool.later(() -> closeTested(old), () -> old.close(false));
    }
  }

  /** Gives a connection back, soon enough for somebody who waits for the pool meanwhile. */
  private void closeTested(Lent old) {
    boolean works = false;
    try {
      works = test(old, Deadlines.after(closeMax.dividedBy(SHARE_OF_DEADLINE)));
    } finally {
      old.close(works);
    }
  }

  /**
   * Has the connection exchanged at its next use, if the pool has another. Until then it is used,
   * but never given back as good: it may lead to a wrong server. If the pool had none, to say it
   * again hastens nothing.
   */
  void expire() {
    boolean first = !isSuspect();
    expiredAtNanos = System.nanoTime();
    if (first) {
      changeAtNanos = expiredAtNanos;
    }
  }

  private boolean isSuspect() {
    return expiredAtNanos - keptSinceNanos > 0;
  }

  private void giveBack(boolean usable) {
    try {
      usedAtNanos = System.nanoTime();
      if (kept != null && (!usable || closed)) {
        drop(kept, usable);
      }
    } finally {
      borrowed.unlock();
    }
  }

  /** Gives the connection back to the pool, and keeps none. */
  private void drop(Lent old, boolean usable) {
    kept = null;
    old.close(usable && !isSuspect());
  }

  /**
   * Gives the connection back to the pool for good; if it is lent, its borrower does so when it is
   * done.
   */
  @Override
  public void close() {
    closed = true;
    Deadline deadline = Deadlines.after(closeMax);
    if (!tryLock(borrowed, deadline)) {
      log.warn(
          "The client's own connection is still in use after {}; it is closed after that",
          closeMax);
      return;
    }
    boolean works = false;
    try {
      works = kept != null && (isRecent(usedAtNanos) || test(kept, deadline));
    } finally {
      giveBack(works);
    }
  }

  private static boolean isRecent(long usedNanos) {
    return System.nanoTime() - usedNanos < TRUSTED_NANOS;
  }

  /** Whether the connection works. */
  private static boolean test(Lent tested, Deadline deadline) {
    try {
      // Not isValid(): a pool notices that a statement failed, and drops the connection.
      Sessions.execute(tested.connection(), deadline, "SELECT 1");
      return true;
    } catch (SQLException e) {
      return false;
    }
  }

  private static void lock(ReentrantLock lock, Deadline deadline) throws StoreException {
    if (!tryLock(lock, deadline)) {
      throw StoreException.refused(
          "The client's own connection was busy for all of " + deadline.whole(), null);
    }
  }

  private static boolean tryLock(ReentrantLock lock, Deadline deadline) {
    return deadline.awaitUninterruptibly(
        leftNanos -> lock.tryLock(leftNanos, TimeUnit.NANOSECONDS));
  }
}
