package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.ReaderStatements;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the locks that threads of this client wait for, all in one query. Also reports that the
 * waiters are alive, and wakes those that have or might get their lock. {@link PollPace} determines
 * how often. The rows of waiters that got their lock, and so are in no line any more, are deleted a
 * little later, many with one statement.
 *
 * <p>Runs a thread while there are waiters, and for a little longer. Threads: safe for use by any
 * number of threads; the monitor is never held during I/O or while a waiter is woken.
 */
final class Poller implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Poller.class);

  /** The most doublings of the pause before a waiter that asked in vain is polled for again. */
  private static final int DOUBLINGS_MAX = 8;

  /**
   * The longest time between two reports that a waiter is alive; far less than the time for which
   * it counts as alive.
   */
  private static final long SAY_ALIVE_NANOS_MAX = TimeUnit.SECONDS.toNanos(2);

  /**
   * The time after which a waiter has been reported again. A report that is not due after one poll
   * may be sent after the next: an announcement, a pause and that poll later.
   */
  private static final long SAID_ALIVE_NANOS = TimeUnit.SECONDS.toNanos(3);

  /**
   * The number of a waiter's first polls. After each it may announce itself again at once, in case
   * the row was locked before; later only once in {@link #ANNOUNCE_NANOS}.
   */
  private static final int FIRST_POLLS = 2;

  private static final long ANNOUNCE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * The number of waiters in a line that announce that somebody waits: the first, and the second in
   * case the first is dead.
   */
  private static final int ANNOUNCERS = 2;

  /**
   * The least time between two rounds of polls, for each waiter: the more there are, the more of
   * them share a round. At most {@link PollPace#POLL_NANOS_MAX}.
   */
  private static final long ROUND_NANOS_PER_WAITER = TimeUnit.MILLISECONDS.toNanos(1);

  /** A poll comes early, with others that are due, once its pause divided by this is left. */
  private static final int EARLY_DIVISOR = 4;

  /**
   * The least time after which a waiting thread asks by itself. Only for the case that this poller,
   * which polls far more often, hangs.
   */
  private static final Duration RECHECK_AFTER_MIN = Duration.ofSeconds(30);

  /** The same for each of many waiters, so that all together ask at most four times a second. */
  private static final Duration RECHECK_AFTER_PER_WAITER = Duration.ofMillis(250);

  /** The pause after a wake: time for the waiter to ask by itself. */
  private static final long AFTER_WAKE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long AFTER_FAILURE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long DELETE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The most waiters whose rows are to be deleted; more are left to a purge. */
  private static final int TO_DELETE_MAX = 10_000;

  private final Database database;
  private final Dialect dialect;
  private final ReaderStatements readers;
  private final TimeSource time;
  private final String threadName;
  final @Nullable PostgresListener listener;

  // Guarded by this object's monitor.
  private final Set<JdbcTicket> waiters = new LinkedHashSet<>();

  /** The waiters that got their lock, and whose rows are to be deleted. */
  private final Set<JdbcTicket> toDelete = new LinkedHashSet<>();

  private long deleteAtNanos;

  /** The time between two reports that a waiter is alive. */
  private long sayAliveNanos = SAY_ALIVE_NANOS_MAX;

  /** The earliest time of the next round of polls. */
  private long roundAtNanos;

  private @Nullable Thread thread;
  private boolean closed;

  Poller(
      Database database, TimeSource time, String threadName, @Nullable PostgresListener listener) {
    this.database = database;
    dialect = database.dialect();
    readers = new ReaderStatements(dialect);
    this.time = time;
    roundAtNanos = time.nanos();
    this.threadName = threadName;
    this.listener = listener;
  }

  /** Starts to poll for this waiter, whose claim has just found the lock taken. */
  void join(JdbcTicket waiter) {
    if (listener != null) {
      listener.listen(this);
    }
    synchronized (this) {
      if (closed) {
        return; // The engine has ended every wait, or is about to.
      }
      long now = time.nanos();
      waiter.pollAtNanos = now + PollPace.POLL_NANOS_MIN;
      waiter.sayAliveAtNanos = now + sayAliveNanos;
      waiter.announceAtNanos = now;
      startOrWakeThread(); // If it can't be started, nothing has changed.
      waiters.add(waiter); // Last: a waiter whose caller got a failure would never leave.
    }
  }

  private synchronized void startOrWakeThread() {
    if (thread == null && !closed) {
      Thread starting = new Thread(null, this::run, threadName, 0, false);
      starting.setDaemon(true);
      starting.start();
      thread = starting;
    } else {
      LockSupport.unpark(thread);
    }
  }

  /** Stops polling for this waiter. */
  synchronized void leave(JdbcTicket waiter) {
    waiters.remove(waiter);
  }

  /** Stops polling for this waiter, which got its lock; its row is deleted later. */
  synchronized void leaveGranted(JdbcTicket waiter) {
    if (waiters.remove(waiter) && toDelete.size() < TO_DELETE_MAX) {
      if (toDelete.isEmpty()) {
        deleteAtNanos = time.nanos() + DELETE_NANOS;
      }
      toDelete.add(waiter);
    }
  }

  /**
   * Polls again for a waiter that asked and did not get the lock. Its row may be deleted already,
   * if {@code handedOver()} offered a grant that the engine declined; the next poll then finds that
   * it is in no line.
   */
  synchronized void pollAgain(JdbcTicket waiter) {
    toDelete.remove(waiter);
    waiters.add(waiter);
    int doublings = Math.min(waiter.failedTakes++, DOUBLINGS_MAX);
    waiter.earlyNanos = 0;
    waiter.pollAtNanos =
        time.nanos() + Math.min(PollPace.POLL_NANOS_MAX, PollPace.POLL_NANOS_MIN << doublings);
    startOrWakeThread();
  }

  /** Returns the time after which a waiting thread asks by itself. */
  synchronized Duration recheckAfter() {
    Duration ofAll = RECHECK_AFTER_PER_WAITER.multipliedBy(waiters.size());
    return ofAll.compareTo(RECHECK_AFTER_MIN) > 0 ? ofAll : RECHECK_AFTER_MIN;
  }

  synchronized boolean isAwaited() {
    return !waiters.isEmpty();
  }

  /**
   * Wakes the waiter of this owner id, if it is this client's: the lock was handed over to it, or
   * to a reader beside which it may enter, or a permit is free.
   *
   * @param note notes a hand-over
   */
  void wakeNotified(String ownerId, Consumer<JdbcTicket> note) {
    Optional<JdbcTicket> woken;
    synchronized (this) {
      woken = waiters.stream()
          .filter(waiter -> waiter.stored.owner().equals(ownerId))
          .findFirst();
      woken.ifPresent(waiter -> {
        waiter.pollAtNanos = time.nanos() + AFTER_WAKE_NANOS;
        waiter.earlyNanos = 0;
        note.accept(waiter);
      });
    }
    woken.ifPresent(waiter -> waiter.wakeUp.run());
  }

  /**
   * Polls for all waiters, since notifications have just begun or ended, so that no hand-over is
   * missed.
   */
  synchronized void pollAll() {
    long now = time.nanos();
    for (JdbcTicket waiter : waiters) {
      waiter.pollAtNanos = now;
      waiter.pace.restart();
    }
    LockSupport.unpark(thread);
  }

  /** Ends the thread, and deletes the rows that it still had to delete. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      waiters.clear();
      LockSupport.unpark(thread);
    }
    if (listener != null) {
      listener.close();
    }
    deleteRowsSafely();
  }

  /**
   * Polls until nobody has waited for a while. Nothing that is thrown ends the thread, or the
   * waiters would wait for ever.
   */
  private void run() {
    while (true) {
      try {
        pollWhileSomebodyWaits();
        return;
      } catch (Throwable e) { // A full heap: not even a line of the log can be made here.
        LockSupport.parkNanos(this, AFTER_FAILURE_NANOS);
      }
    }
  }

  private void pollWhileSomebodyWaits() {
    long idleSince = time.nanos();
    while (true) {
      List<JdbcTicket> due = new ArrayList<>();
      long parkNanos;
      boolean deletes;
      synchronized (this) {
        long now = time.nanos();
        if (!waiters.isEmpty() || !toDelete.isEmpty()) {
          idleSince = now;
        }
        if (closed || now - idleSince >= IDLE_NANOS) {
          thread = null;
          return;
        }
        parkNanos = collectDue(now, due);
        deletes = !toDelete.isEmpty() && deleteAtNanos - now <= 0;
      }
      if (!due.isEmpty()) {
        pollSafely(due);
      }
      if (deletes) {
        deleteRowsSafely();
      } else if (due.isEmpty()) {
        time.park(this, parkNanos);
      }
    }
  }

  /**
   * Collects the waiters to poll for now; returns the time to the next round of polls or deletion.
   */
  private long collectDue(long now, List<JdbcTicket> due) {
    long next = IDLE_NANOS;
    for (JdbcTicket waiter : waiters) {
      next = Math.min(next, Math.max(waiter.pollAtNanos - now, roundAtNanos - now));
    }
    if (next <= 0) {
      for (JdbcTicket waiter : waiters) {
        if (waiter.pollAtNanos - now <= waiter.earlyNanos) {
          due.add(waiter);
        }
      }
      roundAtNanos =
          now + Math.min(PollPace.POLL_NANOS_MAX, waiters.size() * ROUND_NANOS_PER_WAITER);
    }
    return Math.max(0, toDelete.isEmpty() ? next : Math.min(next, deleteAtNanos - now));
  }

  /** Deletes the rows that are to be deleted. If that fails, the rest is tried again later. */
  private void deleteRowsSafely() {
    try {
      for (List<JdbcTicket> batch = startBatch(); !batch.isEmpty(); batch = startBatch()) {
        List<StoredClaim> rows = stored(batch);
        database.onOwnConnection(database.deadline(), c -> dialect.leave(c, rows));
        synchronized (this) {
          batch.forEach(toDelete::remove);
        }
      }
    } catch (Throwable e) { // An error must not end the thread.
      log.debug("Rows of waiters that got their lock could not be deleted", e);
    }
  }

  /** Returns the next waiters to delete; sets the time of the next try, should this one fail. */
  private synchronized List<JdbcTicket> startBatch() {
    deleteAtNanos = time.nanos() + DELETE_NANOS;
    return toDelete.stream().limit(Protocol.BATCH_MAX).toList();
  }

  /** Polls for these waiters, in as many statements as that takes. */
  private void pollSafely(List<JdbcTicket> due) {
    for (int from = 0; from < due.size(); from += Protocol.BATCH_MAX) {
      pollBatchSafely(due.subList(from, Math.min(due.size(), from + Protocol.BATCH_MAX)));
    }
  }

  /** Polls. A failure wakes the waiters: each asks by itself, and fails if the database does. */
  private void pollBatchSafely(List<JdbcTicket> due) {
    try {
      if (listener != null) {
        listener.listen(this); // The listener may have ended while some waiters are left.
      }
      poll(due);
    } catch (Throwable e) { // An error must not end the thread.
      log.debug("A poll for waiters failed", e);
      synchronized (this) {
        long now = time.nanos();
        for (JdbcTicket waiter : due) {
          waiter.pollAtNanos = now + AFTER_FAILURE_NANOS;
          waiter.earlyNanos = 0;
        }
      }
      due.forEach(waiter -> waiter.wakeUp.run());
    }
  }

  /**
   * Reports that those are alive who were not reported for a while, with those for whom that is due
   * soon. If it fails, it is tried again after the next poll.
   */
  private void sayAliveSafely() {
    try {
      long now = time.nanos();
      List<JdbcTicket> silent;
      synchronized (this) {
        boolean due = waiters.stream().anyMatch(waiter -> waiter.sayAliveAtNanos - now <= 0);
        silent = waiters.stream()
            .filter(waiter -> due && waiter.sayAliveAtNanos - now <= sayAliveNanos / 2)
            .toList();
      }
      for (int from = 0; from < silent.size(); from += Protocol.BATCH_MAX) {
        List<JdbcTicket> batch =
            silent.subList(from, Math.min(silent.size(), from + Protocol.BATCH_MAX));
        database.onOwnConnection(database.deadline(), c -> dialect.keepAlive(c, stored(batch)));
        synchronized (this) {
          batch.forEach(waiter -> waiter.sayAliveAtNanos = now + sayAliveNanos);
        }
      }
    } catch (Throwable e) { // An error must not end the thread.
      log.debug("Waiters could not be reported alive", e);
    }
  }

  /**
   * The answer to a poll.
   *
   * @param beforeNanos the time just before the query was sent
   */
  private record Polled(long beforeNanos, List<Standing> standings) {}

  private void poll(List<JdbcTicket> due) throws StoreException {
    Map<String, Standing> byOwnerId = new HashMap<>();
    long beganNanos = time.nanos();
    Polled polled = database.onOwnConnection(
        database.deadline(), c -> new Polled(time.nanos(), dialect.readStandings(c, stored(due))));
    for (Standing standing : polled.standings()) {
      byOwnerId.put(standing.waiter(), standing);
    }
    List<JdbcTicket> woken = new ArrayList<>();
    Set<String> unannounced = new LinkedHashSet<>();
    boolean announces = false;
    boolean notified = listener != null && listener.listening;
    synchronized (this) {
      long now = time.nanos();
      sayAliveNanos =
          Math.max(0, Math.min(SAY_ALIVE_NANOS_MAX, SAID_ALIVE_NANOS - 2 * (now - beganNanos)));
      for (JdbcTicket waiter : due) {
        if (!waiters.contains(waiter)) {
          continue; // It got the lock, or left, during the query.
        }
        Standing standing = byOwnerId.get(waiter.stored.owner());
        note(waiter, standing, polled.beforeNanos(), now);
        if (standing == null || isNewsFor(waiter.stored, standing)) {
          waiter.pollAtNanos = now + AFTER_WAKE_NANOS;
          waiter.earlyNanos = 0;
          woken.add(waiter);
          continue;
        }
        Row row = standing.row();
        boolean isNotified = notified && !standing.mayMissNews(waiter.stored);
        long pauseNanos =
            waiter.pace.nextPauseNanos(standing, now, now - polled.beforeNanos(), isNotified);
        waiter.pollAtNanos = now + pauseNanos;
        waiter.earlyNanos = pauseNanos / EARLY_DIVISOR;
        if (!row.isFree()) {
          waiter.failedTakes = 0;
          waiter.holder = row.holder();
          // A permit's statements read the line itself; only their notifications need this.
          if ((listener != null || !waiter.stored.isForPermit())
              && standing.ahead() < ANNOUNCERS
              && row.wantedMicros() < Protocol.ANNOUNCED_MICROS_EARLY
              && waiter.announceAtNanos - now <= 0) {
            unannounced.add(row.key());
            if (row.wantedMicros() < Protocol.ANNOUNCED_MICROS_MIN) {
              announces = true;
              waiter.announceAtNanos = now + (waiter.pace.polls > FIRST_POLLS ? ANNOUNCE_NANOS : 0);
            }
          }
        }
      }
    }
    if (woken.stream().anyMatch(waiter -> waiter.notInLine)) {
      // Either they were passed over, or this connection leads to another server than the pool's,
      // which does not know them.
      database.expireOwnConnection();
    }
    woken.forEach(waiter -> waiter.wakeUp.run());
    // After the poll, since on a slow network all that comes before it delays a hand-over; and
    // before the announcement, since the time for it may be over after that.
    sayAliveSafely();
    if (announces) {
      database.onOwnConnection(
          database.deadline(), c -> dialect.announce(c, List.copyOf(unannounced)));
    }
    tidySafely(polled.standings());
  }

  private static boolean isNewsFor(StoredClaim claim, Standing standing) {
    return !standing.inLine() || standing.admits(claim) || standing.row().differs(claim);
  }

  /** Tidies lists, some of whose owners may have crashed. If it fails, the next poll tries. */
  private void tidySafely(List<Standing> standings) {
    try {
      Set<String> seen = new HashSet<>();
      for (Standing standing : standings) {
        if (seen.add(standing.row().key()) && standing.row().isUntidy()) {
          database.onOwnConnection(database.deadline(), c -> readers.tidy(c, standing.row()));
        }
      }
    } catch (StoreException e) {
      log.debug("Lists of those who share locks could not be tidied", e);
    }
  }

  private static void note(
      JdbcTicket waiter, @Nullable Standing standing, long beforeNanos, long now) {
    if (standing != null) {
      waiter.noteRow(standing.row(), beforeNanos);
    }
    if (standing != null && standing.row().isOwnedBy(waiter.stored)) {
      standing.row().grant(waiter.stored).ifPresent(shown -> waiter.noteGrant(shown, beforeNanos));
    } else if (standing == null || !standing.inLine()) {
      waiter.setBack =
          standing != null && waiter.isNew(now) && standing.row().isSetBack(waiter.place);
      waiter.notInLine = !waiter.setBack;
    }
  }

  private static List<StoredClaim> stored(List<JdbcTicket> waiters) {
    return waiters.stream().map(waiter -> waiter.stored).toList();
  }
}
