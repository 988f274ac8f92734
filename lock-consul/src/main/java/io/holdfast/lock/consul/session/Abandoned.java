package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Attempts that are over and whose keys may still be in a line. Their session lives on with the
 * client, so nothing else would ever end them: they are freed however long that takes, until their
 * session has ended. Thread-safe.
 */
public final class Abandoned {
  private static final Logger log = LoggerFactory.getLogger(Abandoned.class);

  /** Failures after which the others wait for the next round: they would ask the same Consul. */
  private static final int FAILURES_MAX = 3;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final TimeSource time;

  /** The time of the next try. */
  private final Map<Attempt, Long> dueNanos = new ConcurrentHashMap<>();

  Abandoned(ConsulHttp http, Keys keys, Sessions sessions, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.time = time;
  }

  /** Ends an attempt, and has its key freed in the background. */
  public void add(Attempt attempt) {
    attempt.end();
    if (!attempt.isFreed()) {
      dueNanos.putIfAbsent(attempt, time.nanos());
    }
  }

  /**
   * Ends an attempt and frees its key, so that no request about it can take effect any more. After
   * a failure that goes on in the background.
   *
   * @throws StoreException the key may still be in the line
   */
  public void free(Attempt attempt, Deadline deadline) throws StoreException {
    attempt.end();
    if (attempt.isFreed()) {
      dueNanos.remove(attempt);
      return;
    }
    dueNanos.putIfAbsent(attempt, time.nanos() + Ticker.retryNanos());
    freeNow(attempt, deadline);
    dueNanos.remove(attempt);
    sessions.forget(attempt);
  }

  /**
   * Any number of threads may do so at once. Another attempt has the key only after this one shows
   * as freed, so nobody who saw the other's index goes on.
   */
  private void freeNow(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    long index = attempt.number();
    // After its end no request can take effect, and its keys are seen to all together.
    while (!session.isLost()) {
      if (index > 0) {
        String mark = attempt.releasedMark(index, 0).text();
        ConsulHttp.Outcome outcome = http.transact(
            new Transaction().setAt(attempt.key(), index, mark, attempt.flagsOfEnd()), deadline);
        if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
          freed(attempt, applied.entries().get(0), 0);
          return;
        }
      }
      Entry entry = closeGate(attempt, deadline);
      if (attempt.isFreed()) {
        return;
      }
      if (entry == null || !entry.session().equals(session.id())) {
        boolean unused = attempt.setFreed();
        return;
      }
      Mark mark = Mark.of(entry);
      if (mark.released() && !mark.isIdle()) {
        // Its release got through, and asked for the name to stay taken.
        freed(attempt, entry, TimeUnit.MILLISECONDS.toNanos(mark.millis()));
        return;
      }
      // Even if it is marked already: a late request can know the index that it has now.
      index = entry.modifyIndex();
    }
  }

  private void freed(Attempt attempt, Entry released, long holdNanos) {
    if (attempt.setFreed()) {
      sessions.leftovers().released(attempt, released, holdNanos);
    }
  }

  /** Makes sure that no late request can make the key any more; the key as it is. */
  private @Nullable Entry closeGate(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    String gate = keys.gate(session.id());
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction().lock(gate, session.newGateText(), session.id()).tree(attempt.key()),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
      if (sessions.isGone(session, failed)) {
        return null;
      }
      throw StoreException.refused("Consul refused: " + failed.what(), null);
    }
    Entry own = null;
    for (Entry entry : ((ConsulHttp.Outcome.Applied) outcome).entries()) {
      if (entry.key().equals(gate)) {
        session.gateIndex(entry.modifyIndex());
      } else if (entry.key().equals(attempt.key())) {
        own = entry;
      }
    }
    return own;
  }

  boolean isSomethingDue() {
    long nowNanos = time.nanos();
    return dueNanos.values().stream().anyMatch(atNanos -> nowNanos - atNanos >= 0);
  }

  /** Frees what is due. */
  void freeDue() {
    int failures = 0;
    for (Map.Entry<Attempt, Long> entry : List.copyOf(dueNanos.entrySet())) {
      if (time.nanos() - entry.getValue() >= 0 && failures < FAILURES_MAX) {
        failures += freeInBackground(entry.getKey()) ? 0 : 1;
      }
    }
  }

  private boolean freeInBackground(Attempt attempt) {
    boolean freed = false;
    try {
      free(attempt, http.deadline());
      freed = true;
    } catch (StoreException | RuntimeException e) {
      log.debug("The key {} could not be freed; again later", attempt.key(), e);
    } finally {
      if (!freed) {
        dueNanos.replace(attempt, time.nanos() + Ticker.retryNanos());
      }
    }
    return freed;
  }
}
