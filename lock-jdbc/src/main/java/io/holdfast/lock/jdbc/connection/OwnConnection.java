package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
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
 * and opens new ones to the current server. So this one is exchanged before each renewal; when it
 * is used and is about a minute old; and when it is used after it seemed to lead to a wrong server.
 * The new one is taken before the old one is given back: if the pool has none to give, the old one
 * stays.
 *
 * <p>Threads: safe for use by any number of threads; one borrows at a time, and the others wait
 * within their deadlines.
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

  /** The wait for a new connection may take at most a borrower's time divided by this. */
  private static final int SHARE_OF_DEADLINE = 4;

  private static final Logger log = LoggerFactory.getLogger(OwnConnection.class);

  private final Lender pool;
  private final Duration closeMax;
  private final ReentrantLock borrowed = new ReentrantLock();

  // Guarded by the lock.
  private @Nullable Lent kept;
  private long usedAtNanos;
  private long changeAtNanos;

  /** Whether it was to be exchanged for a better one, and the pool gave no other. */
  private boolean suspect;

  private volatile boolean expired;
  private volatile boolean closed;

  /**
   * @param closeMax the longest time that a close takes; a borrower may take longer, since H2's
   *     driver can't limit a call over a network
   */
  public OwnConnection(Lender pool, Duration closeMax) {
    this.pool = pool;
    this.closeMax = closeMax;
  }

  @Override
  public Lent lend(Deadline deadline) throws StoreException {
    if (!lock(deadline)) {
      throw StoreException.refused(
          "The client's own connection was busy for all of " + deadline.whole(), null);
    }
    Lent lent = null;
    try {
      if (closed) {
        throw StoreException.refused("The client is closed", null);
      }
      if (expired || System.nanoTime() - changeAtNanos >= 0) {
        change(deadline);
      }
      if (kept != null && !testUnlessRecent(kept, usedAtNanos, deadline)) {
        drop(kept, false);
      }
      Lent current = kept == null ? take(deadline) : kept;
      lent = new Lent(current.connection(), this::giveBack);
      return lent;
    } finally {
      if (lent == null) {
        borrowed.unlock();
      }
    }
  }

  /**
   * Exchanges the connection for one that the pool gives now, if it gives one within a part of the
   * deadline. For calls that must not run on a server that has just ceased to be the primary.
   */
  void change(Deadline deadline) {
    Deadline patience = Deadlines.part(deadline, SHARE_OF_DEADLINE);
    if (!lock(patience)) {
      return; // It is lent; its borrower notices if it is broken.
    }
    try {
      Lent old = kept;
      if (closed || old == null) {
        return;
      }
      boolean wasSuspect = suspect || expired; // Before take(), which clears both.
      long idleSinceNanos = usedAtNanos;
      try {
        take(patience);
      } catch (StoreException e) {
        suspect = wasSuspect;
        changeAtNanos = System.nanoTime() + RETRY_NANOS;
        log.debug("The client's own connection stays, since the pool gives no other", e);
        return;
      }
      boolean works = false;
      try {
        works = !wasSuspect && testUnlessRecent(old, idleSinceNanos, Deadlines.part(deadline, 2));
      } finally {
        old.close(works);
      }
    } finally {
      borrowed.unlock();
    }
  }

  /**
   * Has the connection exchanged at its next use, if the pool has another. Until then it is used,
   * but never given back as good: it may lead to a wrong server.
   */
  void expire() {
    expired = true;
  }

  private Lent take(Deadline deadline) throws StoreException {
    expired = false; // First, so that an expire() during the lending is not lost.
    Lent taken = pool.lend(deadline);
    kept = taken;
    suspect = false;
    usedAtNanos = System.nanoTime();
    changeAtNanos =
        usedAtNanos + ThreadLocalRandom.current().nextLong(AGE_NANOS_MIN, AGE_NANOS_MAX);
    return taken;
  }

  private void giveBack(Connection connection, boolean usable) {
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
    old.close(usable && !suspect && !expired);
  }

  /**
   * Gives the connection back to the pool for good; if it is lent, its borrower does so when it is
   * done.
   */
  @Override
  public void close() {
    closed = true;
    Deadline deadline = Deadlines.after(closeMax);
    if (!lock(deadline)) {
      log.warn(
          "The client's own connection is still in use after {}; it is closed after that",
          closeMax);
      return;
    }
    try {
      if (kept != null) {
        drop(kept, testUnlessRecent(kept, usedAtNanos, deadline));
      }
    } finally {
      borrowed.unlock();
    }
  }

  /** Whether the connection works; tests it, unless it was used just now. */
  private static boolean testUnlessRecent(Lent tested, long idleSinceNanos, Deadline deadline) {
    if (System.nanoTime() - idleSinceNanos < TRUSTED_NANOS) {
      return true;
    }
    try {
      // Not isValid(): a pool notices that a statement failed, and drops the connection.
      Sessions.execute(tested.connection(), Deadlines.part(deadline, 2), "SELECT 1");
      return true;
    } catch (SQLException e) {
      return false;
    }
  }

  private boolean lock(Deadline deadline) {
    return deadline.awaitUninterruptibly(
        leftNanos -> borrowed.tryLock(leftNanos, TimeUnit.NANOSECONDS));
  }
}
