package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.consul.session.Sessions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import org.jspecify.annotations.Nullable;

/** The way of an attempt's key into its line: locked by a session, once. Thread-safe. */
final class Joining {
  /** The most sessions that may end under one acquire. */
  private static final int SESSIONS_LOST_MAX = 2;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final TimeSource time;

  Joining(ConsulHttp http, Keys keys, Sessions sessions, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.time = time;
  }

  /** The step that follows once an attempt is in line. If it throws, the attempt is withdrawn. */
  interface Next<T> {
    /**
     * Goes on from there.
     *
     * @param line the attempt's place included
     * @param looks what {@link Session#looks} was before the line was read
     * @param sentNanos when it was asked for
     */
    T place(Attempt attempt, Line line, int looks, long sentNanos, Deadline deadline)
        throws StoreException;
  }

  /** Registers an attempt, and brings it into its line. */
  <T> T join(Claim claim, Sessions.Bidding bidding, Next<T> next, Deadline deadline)
      throws StoreException {
    int sessionsLost = 0;
    while (true) {
      Attempt attempt = sessions.register(claim, bidding, sessionsLost, deadline);
      boolean sent = true;
      boolean settled = false;
      try {
        int looks = attempt.session().looks();
        long sentNanos = time.nanos();
        Line line = lock(attempt, deadline);
        if (line != null) {
          T joined = next.place(attempt, line, looks, sentNanos, deadline);
          settled = true;
          return joined;
        }
      } catch (StoreException e) {
        sent = e.mayHaveHappened();
        throw e;
      } finally {
        if (!sent) {
          sessions.unused(attempt);
        } else if (!settled) {
          sessions.abandoned().add(attempt);
        }
      }
      if (attempt.session().isLost()) {
        sessionsLost++;
        if (sessionsLost == SESSIONS_LOST_MAX) {
          throw http.sessionGone("No session lived for long enough to lock a key");
        }
      }
    }
  }

  /**
   * Locks an attempt's key, if that is as this client knows it.
   *
   * @return the line; null: the key was something else, or the session has ended
   */
  @Nullable
  Line lock(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    String gate = keys.gate(session.id());
    String folder = keys.line(attempt.claim().key());
    boolean isNew = attempt.indexBefore() == 0;
    while (true) {
      Transaction transaction = new Transaction();
      if (isNew) {
        transaction.checkIndex(gate, session.gateIndex()).checkNotExists(attempt.key());
      } else {
        transaction.checkIndex(attempt.key(), attempt.indexBefore());
      }
      transaction
          .lock(attempt.key(), attempt.mark().text(), attempt.flags(), session.id())
          .tree(folder);
      ConsulHttp.Outcome outcome = http.transact(transaction, deadline);
      boolean hasGate = true;
      if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
        if (sessions.isGone(session, failed)) {
          return null;
        }
        // The gate was closed meanwhile, or the key is not as it was: which this very request can
        // have done, if something on its way sends it twice.
        outcome = checkAfterFailure(new Transaction().tree(gate).tree(folder), deadline);
        hasGate = outcome instanceof ConsulHttp.Outcome.Applied shown
            && shown.entries().stream().anyMatch(entry -> entry.key().equals(gate));
      }
      Line line = null;
      if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
        line = new Line(applied.entries().stream()
            .filter(entry -> !learnGate(session, gate, entry))
            .toList());
        Line.Place own = attempt.placeIn(line);
        if (own != null) {
          attempt.joined(own.number());
          return line;
        }
      }
      if (!isNew) {
        return null;
      }
      if (!hasGate) {
        // The withdrawal makes it anew.
        throw StoreException.unanswered("Somebody deleted the key " + gate, null);
      }
      if (deadline.isOver()) {
        throw StoreException.unanswered("Consul locked no key in time: " + outcome, null);
      }
    }
  }

  /** Without an answer, the key may be locked for the attempt. */
  private ConsulHttp.Outcome checkAfterFailure(Transaction look, Deadline deadline)
      throws StoreException {
    try {
      return http.check(look, deadline);
    } catch (StoreException e) {
      throw afterJoining(e);
    }
  }

  private static boolean learnGate(Session session, String gate, Entry entry) {
    boolean isGate = entry.key().equals(gate);
    if (isGate) {
      session.gateIndex(entry.modifyIndex());
    }
    return isGate;
  }

  /** The place in the line may still be there, so the claim must be withdrawn whatever failed. */
  static StoreException afterJoining(StoreException e) {
    return e.mayHaveHappened() ? e : StoreException.unanswered(String.valueOf(e.getMessage()), e);
  }
}
