package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
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
 * Looks at the locks that threads of this client wait for, all in one query, and wakes who might
 * get one. Often for a lock that changes hands often, seldom for one that is held for long.
 *
 * <p>A poller could never win against a client that frees a lock and takes it again at once. So it
 * notes in the row until when it counts on being next, the release brings that back, and the client
 * that released {@linkplain #yieldFor yields}: those of its threads that wait keep out until then,
 * or until another took the lock.
 *
 * <p>Runs a thread while anybody waits, and for a little longer. Threads: safe for all; the lock is
 * never held during I/O or while a ticket is woken.
 */
final class Poller implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Poller.class);

  private static final long LOOK_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long LOOK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(500);

  /** A look comes late by this share of the time that the lock has been held. */
  private static final int SHARE_OF_HOLD = 8;

  /** However often the lock changes hands, looks get rarer with this share of the wait ... */
  private static final int SHARE_OF_WAIT = 32;

  /** ... up to this, or those who came later would pass the lock between them for ever. */
  private static final long WAITED_LOOK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(8);

  /** The least for which a note in the row is written, so that fast looks don't each write one. */
  private static final long NOTE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(100);

  /** With notifications, the next one to take a lock does so at once. */
  private static final long YIELD_NANOS_MAX_NOTIFIED = TimeUnit.MILLISECONDS.toNanos(30);

  private static final long AFTER_WAKE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long AFTER_FAILURE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final Database database;
  private final TimeSource time;
  private final String threadName;
  private final @Nullable PostgresListener listener;

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private final Set<PollTicket> tickets = new LinkedHashSet<>();
  private final Map<String, Yield> yields = new HashMap<>();
  private @Nullable Thread thread;
  private boolean closed;

  /** This client released that grant and leaves the lock to another until then. */
  private record Yield(long number, long untilNanos) {}

  Poller(
      Database database, TimeSource time, String threadName, @Nullable PostgresListener listener) {
    this.database = database;
    this.time = time;
    this.threadName = threadName;
    this.listener = listener;
  }

  /** Begins to look for this ticket, whose claim has just found the lock taken. */
  void join(PollTicket ticket) {
    lock.lock();
    try {
      if (closed) {
        return; // The engine has woken, or is about to wake, everybody with its own exception.
      }
      ticket.joinedAtNanos = time.nanos();
      ticket.lookAtNanos = ticket.joinedAtNanos + (isNotified() ? 0 : LOOK_NANOS_MIN);
      tickets.add(ticket);
      if (thread == null) {
        thread = new Thread(this::run, threadName);
        thread.setDaemon(true);
        thread.start();
      } else {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
    if (listener != null) {
      listener.listen(this);
    }
  }

  /** Looks no more for this ticket. */
  void leave(PollTicket ticket) {
    lock.lock();
    try {
      tickets.remove(ticket);
    } finally {
      lock.unlock();
    }
  }

  /** Looks soon: the ticket was woken, tried, and found the lock taken. */
  void lookAgain(PollTicket ticket) {
    lock.lock();
    try {
      ticket.lookAtNanos = time.nanos() + LOOK_NANOS_MIN;
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
      return !tickets.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  /** Keeps this client's waiting threads out: it released, and another counts on being next. */
  void yieldFor(String key, long number, long wantedMicros) {
    long nanos = TimeUnit.MICROSECONDS.toNanos(wantedMicros);
    if (isNotified()) {
      nanos = Math.min(nanos, YIELD_NANOS_MAX_NOTIFIED);
    }
    long now = time.nanos();
    lock.lock();
    try {
      yields.values().removeIf(y -> now - y.untilNanos() >= 0);
      yields.put(key, new Yield(number, now + nanos));
    } finally {
      lock.unlock();
    }
  }

  boolean isYielding(String key) {
    lock.lock();
    try {
      return yieldNanosLeft(key) > 0;
    } finally {
      lock.unlock();
    }
  }

  /** The lock was released: wakes who waits for it, or looks again when this client may have it. */
  void released(String key) {
    List<PollTicket> woken = new ArrayList<>();
    lock.lock();
    try {
      long yieldNanos = yieldNanosLeft(key);
      long now = time.nanos();
      for (PollTicket ticket : tickets) {
        if (!ticket.key().equals(key)) {
          continue;
        }
        if (yieldNanos > 0) {
          ticket.lookAtNanos = Math.min(ticket.lookAtNanos, now + yieldNanos);
        } else {
          ticket.lookAtNanos = now + AFTER_WAKE_NANOS;
          woken.add(ticket);
        }
      }
    } finally {
      lock.unlock();
    }
    woken.forEach(PollTicket::wake);
  }

  /** Notifications begin or end to come: looks for everybody, so that none falls between. */
  void lookAtAll() {
    lock.lock();
    try {
      long now = time.nanos();
      for (PollTicket ticket : tickets) {
        ticket.lookAtNanos = now;
      }
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      tickets.clear();
      yields.clear();
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
    if (listener != null) {
      listener.close();
    }
  }

  private boolean isNotified() {
    return listener != null && listener.isListening();
  }

  private void run() {
    long idleSince = time.nanos();
    while (true) {
      List<PollTicket> due = new ArrayList<>();
      long parkNanos;
      lock.lock();
      try {
        long now = time.nanos();
        if (!tickets.isEmpty()) {
          idleSince = now;
        }
        if (closed || now - idleSince >= IDLE_NANOS) {
          thread = null;
          return;
        }
        parkNanos = takeDue(now, due);
      } finally {
        lock.unlock();
      }
      if (due.isEmpty()) {
        time.park(this, parkNanos);
      } else {
        if (listener != null) {
          listener.listen(this); // It may have ended, while some wait.
        }
        lookSafely(due);
      }
    }
  }

  /** Collects what to look at now, at most one statement's worth; returns the time to the next. */
  private long takeDue(long now, List<PollTicket> due) {
    long next = IDLE_NANOS;
    for (PollTicket ticket : tickets) {
      long left = ticket.lookAtNanos - now;
      if (left <= 0 && due.size() < Dialect.BATCH_MAX) {
        due.add(ticket);
      }
      next = Math.min(next, left);
    }
    return Math.max(next, 0);
  }

  /** A failure wakes those concerned: their own try tells whether the database is at fault. */
  private void lookSafely(List<PollTicket> due) {
    try {
      look(due);
    } catch (StoreException | RuntimeException e) {
      LOG.debug("A look at awaited locks failed", e);
      postpone(due, AFTER_FAILURE_NANOS);
      due.forEach(PollTicket::wake);
    }
  }

  private void look(List<PollTicket> due) throws StoreException {
    List<String> keys = due.stream().map(PollTicket::key).distinct().toList();
    Map<String, Row> rows = new HashMap<>();
    for (Row row : database.onSpare(database.deadline(), (d, c) -> d.look(c, keys))) {
      rows.put(row.key(), row);
    }
    List<PollTicket> woken = new ArrayList<>();
    Map<Long, Set<String>> notes = new HashMap<>();
    lock.lock();
    try {
      long now = time.nanos();
      for (PollTicket ticket : due) {
        Row row = rows.get(ticket.key());
        if (row == null || row.isFree()) {
          long yieldNanos = row == null ? 0 : yieldNanosLeft(row);
          if (yieldNanos > 0) {
            ticket.lookAtNanos = now + Math.min(yieldNanos, LOOK_NANOS_MIN);
          } else {
            ticket.lookAtNanos = now + AFTER_WAKE_NANOS;
            woken.add(ticket);
          }
        } else {
          yields.remove(row.key());
          ticket.sawHolder(row.holder());
          long pause = pauseNanos(row, now - ticket.joinedAtNanos);
          long remaining = TimeUnit.MICROSECONDS.toNanos(row.remainingMicros() + 1);
          ticket.lookAtNanos = now + Math.min(pause, remaining);
          long note = Math.max(NOTE_NANOS_MIN, pause * 5 / 2);
          if (TimeUnit.MICROSECONDS.toNanos(row.wantedMicros()) < note / 2) {
            notes
                .computeIfAbsent(
                    note > NOTE_NANOS_MIN ? note : NOTE_NANOS_MIN, n -> new LinkedHashSet<>())
                .add(row.key());
          }
        }
      }
    } finally {
      lock.unlock();
    }
    woken.forEach(PollTicket::wake);
    for (Map.Entry<Long, Set<String>> note : notes.entrySet()) {
      note(due, List.copyOf(note.getValue()), note.getKey());
    }
  }

  /** Notes in rows that somebody waits; one that could not be written to may be free by now. */
  private void note(List<PollTicket> due, List<String> keys, long nanos) throws StoreException {
    long micros = TimeUnit.NANOSECONDS.toMicros(nanos);
    int noted = database.onSpare(database.deadline(), (d, c) -> d.announce(c, keys, micros));
    if (noted < keys.size()) {
      postpone(due.stream().filter(t -> keys.contains(t.key())).toList(), LOOK_NANOS_MIN);
    }
  }

  private void postpone(List<PollTicket> due, long nanos) {
    lock.lock();
    try {
      long now = time.nanos();
      for (PollTicket ticket : due) {
        ticket.lookAtNanos = now + nanos;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * The time between two looks. At random, or clients that began together would collide for ever.
   */
  private long pauseNanos(Row row, long waitedNanos) {
    if (isNotified()) {
      return LOOK_NANOS_MAX;
    }
    long heldNanos = TimeUnit.MICROSECONDS.toNanos(row.sinceMicros());
    long nanos = Math.max(
        heldNanos / SHARE_OF_HOLD, Math.min(waitedNanos / SHARE_OF_WAIT, WAITED_LOOK_NANOS_MAX));
    nanos = Math.max(LOOK_NANOS_MIN, Math.min(LOOK_NANOS_MAX, nanos));
    return nanos - ThreadLocalRandom.current().nextLong(nanos / 8 + 1);
  }

  /** For a lock that is free: how long this client still leaves it to another. */
  private long yieldNanosLeft(Row row) {
    Yield given = yields.get(row.key());
    if (given != null && given.number() != row.number()) {
      yields.remove(row.key()); // Another had it meanwhile.
      return 0;
    }
    return yieldNanosLeft(row.key());
  }

  private long yieldNanosLeft(String key) {
    Yield given = yields.get(key);
    if (given == null) {
      return 0;
    }
    long left = given.untilNanos() - time.nanos();
    if (left <= 0) {
      yields.remove(key);
    }
    return Math.max(left, 0);
  }
}
