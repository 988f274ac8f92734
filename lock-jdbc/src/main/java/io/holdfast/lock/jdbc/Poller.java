package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the locks that threads of this client wait for, all in one query, says that they are
 * alive, and wakes who has a lock or might get one. The first in a line often for a lock that
 * changes hands often, and seldom for one that is held for long; the others when it may be their
 * turn. Where the database notifies, all seldom.
 *
 * <p>Runs a thread while anybody waits, and for a little longer. Threads: safe for all; the lock is
 * never held during I/O or while a waiter is woken.
 */
final class Poller implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Poller.class);

  private static final long LOOK_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long LOOK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(500);

  /** The first in line looks late by this share of the time that the lock has been held. */
  private static final int SHARE_OF_HOLD = 16;

  /** The others look again after this share of the time to their turn, as the line moves. */
  private static final int SHARE_OF_TURN = 2;

  private static final int SHARE_OF_TURN_AS_SECOND = 3;

  /**
   * With notifications each look is later by this factor: the first one finds a hand-over that did
   * not see the waiter yet.
   */
  private static final int NOTIFIED_FACTOR = 64;

  /** With notifications it looks when it says that it is alive, too. */
  private static final long NOTIFIED_LOOK_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);

  /** A lock that is free, but locked by a transaction, is tried half as often each time. */
  private static final int DOUBLINGS_MAX = 8;

  /** Far less than the time for which a waiter counts as alive. */
  private static final long SAY_ALIVE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A row that is locked just as a waiter comes is announced to again at these looks. */
  private static final int FIRST_LOOKS = 2;

  /** How many of a line say so: the first, and the second in case that the first is dead. */
  private static final int ANNOUNCERS = 2;

  private static final long WANTED_MICROS_MIN = TimeUnit.SECONDS.toMicros(2);
  private static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long AFTER_WAKE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long AFTER_FAILURE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Database database;
  private final TimeSource time;
  private final String threadName;
  private final @Nullable PostgresListener listener;

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private final Set<Waiter> waiters = new LinkedHashSet<>();
  /** Those that got their lock, and whose rows are still to be deleted: a batch at a time. */
  private final List<Waiter> served = new ArrayList<>();

  private long deleteServedAtNanos;
  private @Nullable Thread thread;
  private boolean closed;

  Poller(
      Database database, TimeSource time, String threadName, @Nullable PostgresListener listener) {
    this.database = database;
    this.time = time;
    this.threadName = threadName;
    this.listener = listener;
  }

  /** Begins to look for this waiter, whose claim has just found the lock taken. */
  void join(Waiter waiter) {
    lock.lock();
    try {
      if (closed) {
        return; // The engine has woken, or is about to wake, everybody with its own exception.
      }
      waiter.joinedAtNanos = time.nanos();
      waiter.lookAtNanos = waiter.joinedAtNanos + LOOK_NANOS_MIN;
      waiter.sayAliveAtNanos = waiter.joinedAtNanos + SAY_ALIVE_NANOS;
      waiter.announceAtNanos = waiter.joinedAtNanos;
      if (thread == null) {
        Thread starting = new Thread(this::run, threadName);
        starting.setDaemon(true);
        starting.start(); // If it can't be started, nothing is left behind.
        thread = starting;
      } else {
        LockSupport.unpark(thread);
      }
      waiters.add(waiter);
    } finally {
      lock.unlock();
    }
    if (listener != null) {
      listener.listen(this);
    }
  }

  /** Looks no more for this waiter. */
  void leave(Waiter waiter) {
    lock.lock();
    try {
      waiters.remove(waiter);
    } finally {
      lock.unlock();
    }
  }

  /** Looks no more for this waiter, which got its lock; its row goes later. */
  void served(Waiter waiter) {
    lock.lock();
    try {
      if (!waiters.remove(waiter)) {
        return;
      }
      if (served.isEmpty()) {
        deleteServedAtNanos = time.nanos() + LEAVE_NANOS;
      }
      served.add(waiter);
    } finally {
      lock.unlock();
    }
  }

  /** Looks again: the waiter was woken, tried, and did not get the lock. */
  void lookAgain(Waiter waiter) {
    lock.lock();
    try {
      served.remove(waiter);
      waiters.add(waiter);
      int doublings = Math.min(waiter.failedTakes++, DOUBLINGS_MAX);
      waiter.lookAtNanos = time.nanos() + Math.min(LOOK_NANOS_MAX, LOOK_NANOS_MIN << doublings);
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
  }

  boolean isAwaited() {
    lock.lock();
    try {
      return !waiters.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  /** A lock was handed over to the waiter of this owner id: wakes it, if it is one of ours. */
  void handedOver(String ownerId, long number) {
    Waiter woken = null;
    lock.lock();
    try {
      for (Waiter waiter : waiters) {
        if (waiter.ownerId().equals(ownerId)) {
          waiter.lookAtNanos = time.nanos() + AFTER_WAKE_NANOS;
          waiter.heardOfHandOver(number);
          woken = waiter;
        }
      }
    } finally {
      lock.unlock();
    }
    if (woken != null) {
      woken.wake();
    }
  }

  /** Notifications begin or end to come: looks for everybody, so that none falls between. */
  void lookAtAll() {
    lock.lock();
    try {
      long now = time.nanos();
      for (Waiter waiter : waiters) {
        waiter.lookAtNanos = now;
        waiter.looks = 0;
      }
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends the thread, and deletes what it had still to delete. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      waiters.clear();
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
    if (listener != null) {
      listener.close();
    }
    deleteServedSafely();
  }

  private boolean isNotified() {
    return listener != null && listener.isListening();
  }

  private void run() {
    long idleSince = time.nanos();
    while (true) {
      List<Waiter> due = new ArrayList<>();
      long parkNanos;
      boolean deletes;
      lock.lock();
      try {
        long now = time.nanos();
        if (!waiters.isEmpty()) {
          idleSince = now;
        }
        if (closed || now - idleSince >= IDLE_NANOS) {
          thread = null;
          return;
        }
        parkNanos = takeDue(now, due);
        deletes = !served.isEmpty() && deleteServedAtNanos - now <= 0;
      } finally {
        lock.unlock();
      }
      if (!due.isEmpty()) {
        lookSafely(due);
      }
      if (deletes) {
        deleteServedSafely();
      } else if (due.isEmpty()) {
        time.park(this, parkNanos);
      }
    }
  }

  /** Collects what to look at now, at most one statement's worth; returns the time to the next. */
  private long takeDue(long now, List<Waiter> due) {
    long next = served.isEmpty() ? IDLE_NANOS : deleteServedAtNanos - now;
    for (Waiter waiter : waiters) {
      long left = waiter.lookAtNanos - now;
      if (left <= 0 && due.size() < Dialect.BATCH_MAX) {
        due.add(waiter);
      }
      next = Math.min(next, left);
    }
    return Math.max(next, 0);
  }

  /** A failure wakes those concerned: their own try tells whether the database is at fault. */
  private void lookSafely(List<Waiter> due) {
    try {
      if (listener != null) {
        listener.listen(this); // It may have ended, while some wait.
      }
      sayAlive(due);
      look(due);
    } catch (Throwable e) { // An error must not end the thread: nobody would look any more.
      LOG.debug("A look at awaited locks failed", e);
      lock.lock();
      try {
        long now = time.nanos();
        due.forEach(waiter -> waiter.lookAtNanos = now + AFTER_FAILURE_NANOS);
      } finally {
        lock.unlock();
      }
      due.forEach(Waiter::wake);
    }
  }

  private void sayAlive(List<Waiter> due) throws StoreException {
    long now = time.nanos();
    List<Waiter> silent =
        due.stream().filter(waiter -> waiter.sayAliveAtNanos - now <= 0).toList();
    if (silent.isEmpty()) {
      return;
    }
    database.onSpare(database.deadline(), (d, c) -> {
      d.keepAlive(c, keys(silent), ownerIds(silent));
      return true;
    });
    lock.lock();
    try {
      silent.forEach(waiter -> waiter.sayAliveAtNanos = now + SAY_ALIVE_NANOS);
    } finally {
      lock.unlock();
    }
  }

  private void look(List<Waiter> due) throws StoreException {
    Map<String, Standing> byOwnerId = new HashMap<>();
    Map<String, Row> byKey = new HashMap<>();
    long beforeNanos = time.nanos();
    for (Standing standing : database.onSpare(
        database.deadline(), (d, c) -> d.lookAtLine(c, keys(due), ownerIds(due)))) {
      byOwnerId.put(standing.waiter(), standing);
      byKey.put(standing.row().key(), standing.row());
    }
    List<Waiter> woken = new ArrayList<>();
    Set<String> unannounced = new LinkedHashSet<>();
    lock.lock();
    try {
      long now = time.nanos();
      for (Waiter waiter : due) {
        if (!waiters.contains(waiter)) {
          continue; // It got the lock, or left, while this was asked.
        }
        Standing standing = byOwnerId.get(waiter.ownerId());
        Row row = byKey.get(waiter.key());
        note(waiter, standing, beforeNanos);
        if (row == null || standing == null || mayHaveIt(standing)) {
          waiter.lookAtNanos = now + AFTER_WAKE_NANOS;
          woken.add(waiter);
          continue;
        }
        waiter.lookAtNanos = now + pauseNanos(waiter, standing, now);
        if (!row.isFree()) {
          waiter.failedTakes = 0;
          waiter.sawHolder(row.holder());
          if (standing.ahead() < ANNOUNCERS
              && isToBeAnnounced(row)
              && waiter.announceAtNanos - now <= 0) {
            waiter.announceAtNanos = now + (waiter.looks > FIRST_LOOKS ? SAY_ALIVE_NANOS : 0);
            unannounced.add(row.key());
          }
        }
      }
    } finally {
      lock.unlock();
    }
    if (woken.stream().anyMatch(Waiter::isPassedOver)) {
      database.expireSpare(); // Or else it is of another server than the pool's connections.
    }
    woken.forEach(Waiter::wake);
    if (!unannounced.isEmpty()) {
      database.onSpare(database.deadline(), (d, c) -> {
        d.announce(c, List.copyOf(unannounced));
        return true;
      });
    }
  }

  /** Whether the row does not say for long that somebody waits. */
  static boolean isToBeAnnounced(Row row) {
    return row.wantedMicros() < WANTED_MICROS_MIN;
  }

  /** Whether the waiter has the lock, or is the one to take it, or is in no line. */
  private static boolean mayHaveIt(Standing standing) {
    return !standing.inLine() || (standing.row().isFree() && standing.ahead() == 0);
  }

  private static void note(Waiter waiter, @Nullable Standing standing, long beforeNanos) {
    if (standing != null && standing.row().isOwnedBy(waiter.ownerId())) {
      waiter.sawItsRow(standing.row(), beforeNanos);
    } else if (standing == null || !standing.inLine()) {
      waiter.sawItselfPassedOver();
    }
  }

  /**
   * The time between two looks. At random for the first, or clients that began together would
   * collide for ever.
   */
  private long pauseNanos(Waiter waiter, Standing standing, long now) {
    int looks = waiter.looks++;
    if (looks == 0) {
      waiter.firstLookAtNanos = now;
      waiter.aheadAtFirstLook = standing.ahead();
    }
    long endNanos = standing.row().isFree()
        ? LOOK_NANOS_MAX
        : TimeUnit.MICROSECONDS.toNanos(standing.row().remainingMicros() + 1);
    return Math.min(endNanos, pauseWhileTaken(waiter, standing, looks, now));
  }

  private long pauseWhileTaken(Waiter waiter, Standing standing, int looks, long now) {
    if (isNotified()) {
      long nanos = LOOK_NANOS_MIN;
      for (int i = 0; i <= looks && nanos < NOTIFIED_LOOK_NANOS_MAX; i++) {
        nanos *= NOTIFIED_FACTOR;
      }
      return Math.min(NOTIFIED_LOOK_NANOS_MAX, nanos);
    }
    long heldNanos = TimeUnit.MICROSECONDS.toNanos(standing.row().sinceMicros());
    if (standing.ahead() == 0) {
      return jittered(clamp(heldNanos / SHARE_OF_HOLD));
    }
    // One more than were seen to move, since the next may be about to: rather early than late. An
    // insert that becomes visible late can put more of them ahead than there were.
    int moves = Math.max(0, waiter.aheadAtFirstLook - standing.ahead()) + 1;
    long paceNanos = looks == 0 ? heldNanos : (now - waiter.firstLookAtNanos) / moves;
    long turnNanos = Math.max(heldNanos, standing.ahead() * Math.max(paceNanos, LOOK_NANOS_MIN));
    // The nearer its turn comes, the more often it looks.
    return clamp(turnNanos / (standing.ahead() == 1 ? SHARE_OF_TURN_AS_SECOND : SHARE_OF_TURN));
  }

  private static long clamp(long nanos) {
    return Math.max(LOOK_NANOS_MIN, Math.min(LOOK_NANOS_MAX, nanos));
  }

  private static long jittered(long nanos) {
    return nanos - ThreadLocalRandom.current().nextLong(nanos / 8 + 1);
  }

  /** Deletes rows that are in no line any more; those that it can't delete are left to a purge. */
  private void deleteServedSafely() {
    List<Waiter> deleted;
    lock.lock();
    try {
      deleted = List.copyOf(served);
      served.clear();
    } finally {
      lock.unlock();
    }
    try {
      for (int from = 0; from < deleted.size(); from += Dialect.BATCH_MAX) {
        List<Waiter> batch =
            deleted.subList(from, Math.min(deleted.size(), from + Dialect.BATCH_MAX));
        database.onSpare(database.deadline(), (d, c) -> {
          d.leave(c, keys(batch), ownerIds(batch));
          return true;
        });
      }
    } catch (Throwable e) { // An error must not end the thread here, either.
      LOG.debug("Rows of waiters that got their lock could not be deleted", e);
    }
  }

  private static List<String> keys(List<Waiter> waiters) {
    return waiters.stream().map(Waiter::key).toList();
  }

  private static List<String> ownerIds(List<Waiter> waiters) {
    return waiters.stream().map(Waiter::ownerId).toList();
  }
}
