package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is left to delete of attempts that are over, and the thread that does it, apart from the one
 * that renews sessions: a Consul that does not answer delays no renewal. Thread-safe.
 */
final class Leftovers {
  private static final Logger log = LoggerFactory.getLogger(Leftovers.class);

  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * For how long a key whose attempt is over stays, for the next attempt, and for whoever waits and
   * has to see that it is over: longer than until that one looks.
   */
  private static final long SPARE_NANOS =
      ConsulTicket.RECHECK_AFTER.plusSeconds(2).toNanos();

  /** The gate is one more. */
  private static final int PURGED_AT_ONCE = Transaction.OPERATIONS_MAX - 1;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final Abandoned abandoned;
  private final TimeSource time;

  private final Map<String, Deletion> deletions = new ConcurrentHashMap<>();
  private final Queue<Purge> purges = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean cleaning = new AtomicBoolean();

  /** When purges may be tried next. */
  private volatile long purgeNanos;

  /** A key that is to go, not before then, and with it the session that is its alone. */
  private record Deletion(Attempt attempt, boolean keepsTaken, long atNanos) {}

  /** Keys that nobody came back for. */
  private record Purge(Session session, List<SpareKeys.Spare> spares) {}

  Leftovers(ConsulHttp http, Keys keys, Sessions sessions, Abandoned abandoned, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.abandoned = abandoned;
    this.time = time;
    this.purgeNanos = time.nanos();
  }

  /**
   * An attempt's key was marked as over, so that another attempt may have it.
   *
   * @param over the number of the attempt
   * @param index the key's index since then
   */
  void spare(Attempt attempt, long over, long index) {
    String key = attempt.key();
    Session session = attempt.session();
    if (session.isOwn()) {
      deletions.put(key, new Deletion(attempt, false, time.nanos() + SPARE_NANOS));
    } else {
      session
          .spareKeys()
          .give(new SpareKeys.Spare(keys.lineOf(key), key, over, index, time.nanos()));
    }
  }

  /** Deletes an attempt's key, and its session, after that time, in which the name stays taken. */
  void deleteAfter(Attempt attempt, long delayNanos) {
    deletions.put(attempt.key(), new Deletion(attempt, true, time.nanos() + delayNanos));
  }

  /** Sessions of one attempt each that keep no name taken. */
  List<Session> sessionsOfFreeNames() {
    return deletions.values().stream()
        .filter(deletion -> !deletion.keepsTaken())
        .map(deletion -> deletion.attempt().session())
        .toList();
  }

  /** Does what is due, unless that is being done. */
  void tend(Collection<Session> inUse) {
    if (isSomethingDue(inUse) && cleaning.compareAndSet(false, true)) {
      boolean begun = false;
      try {
        begun = http.execute(() -> clean(inUse));
      } finally {
        if (!begun) {
          cleaning.set(false);
        }
      }
    }
  }

  private boolean isSomethingDue(Collection<Session> inUse) {
    long nowNanos = time.nanos();
    return abandoned.isSomethingDue()
        || (!purges.isEmpty() && nowNanos - purgeNanos >= 0)
        || deletions.values().stream().anyMatch(one -> nowNanos - one.atNanos() >= 0)
        || inUse.stream().anyMatch(session -> session.spareKeys().isOld(nowNanos - SPARE_NANOS));
  }

  private void clean(Collection<Session> inUse) {
    try {
      abandoned.freeDue();
      deletions.values().forEach(this::deleteIfDue);
      inUse.forEach(this::collectOld);
      boolean done = time.nanos() - purgeNanos >= 0;
      for (Purge next = purges.peek(); done && next != null; next = purges.peek()) {
        done = purge(next);
      }
    } finally {
      cleaning.set(false);
    }
  }

  private void deleteIfDue(Deletion deletion) {
    if (time.nanos() - deletion.atNanos() < 0) {
      return;
    }
    Attempt attempt = deletion.attempt();
    Deadline deadline = sessions.deadline();
    try {
      // The session is its own, and never had another key, so nothing else can be hit.
      ConsulHttp.Outcome outcome = http.transact(new Transaction().delete(attempt.key()), deadline);
      if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
        throw StoreException.refused("Consul deleted nothing: " + failed.what(), null);
      }
      deletions.remove(attempt.key(), deletion);
      sessions.end(attempt.session(), deadline);
    } catch (StoreException e) {
      log.debug("The key {} could not be deleted; again later", attempt.key(), e);
      deletions.replace(
          attempt.key(), deletion, new Deletion(attempt, deletion.keepsTaken(), againNanos()));
    }
  }

  private long againNanos() {
    return time.nanos() + RETRY_NANOS / 2 + ThreadLocalRandom.current().nextLong(RETRY_NANOS);
  }

  private void collectOld(Session session) {
    List<SpareKeys.Spare> old;
    do {
      old = session.spareKeys().takeOld(time.nanos() - SPARE_NANOS, PURGED_AT_ONCE);
      if (!old.isEmpty()) {
        purges.add(new Purge(session, old));
      }
    } while (!old.isEmpty());
  }

  /** Deletes old keys, and makes sure that no late request makes them anew; whether it could. */
  private boolean purge(Purge purge) {
    Session session = purge.session();
    if (!session.isLost()) {
      Transaction transaction =
          new Transaction().lock(keys.gate(session.id()), session.newGateText(), session.id());
      purge.spares().forEach(spare -> transaction.delete(spare.key()));
      try {
        ConsulHttp.Outcome outcome = http.transact(transaction, sessions.deadline());
        if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
          session.gateIndex(applied.entries().get(0).modifyIndex());
        } else if (outcome instanceof ConsulHttp.Outcome.Failed failed
            && !sessions.isGone(session, failed)) {
          throw StoreException.refused("Consul deleted nothing: " + failed.what(), null);
        }
      } catch (StoreException e) {
        log.debug("{} keys could not be deleted; again later", purge.spares().size(), e);
        purgeNanos = againNanos();
        return false;
      }
    }
    purges.remove(purge);
    return true;
  }
}
