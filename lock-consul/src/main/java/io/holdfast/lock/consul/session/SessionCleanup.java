package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The cleanup after this client's attempts and sessions. It runs its tasks, and those of
 * {@link LineCleanup}, on threads of its own, so that a Consul that does not answer delays no
 * renewal of a session. Thread-safe.
 */
public final class SessionCleanup {
  private static final Logger log = LoggerFactory.getLogger(SessionCleanup.class);

  /** The most keys that are deleted together: the gate takes one operation more. */
  private static final int DELETED_AT_ONCE = Transaction.OPERATIONS_MAX - 1;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final SessionRequests requests;
  private final LineCleanup lines;
  private final TimeSource time;

  /**
   * Attempts that are over and whose keys may still be in a line. Their session lives on with the
   * client, so nothing else ends them: this is repeated until it succeeds.
   */
  private final TaskQueue<Attempt> unfreed;

  private final TaskQueue<Ended> ended;
  private final TaskQueue<Old> old;
  private final TaskQueue<Hold> holds;

  private final List<TaskQueue<?>> tasks = new ArrayList<>();

  /**
   * A session that has ended or is to be ended, and its keys in lines. None of its holders trusts
   * its lease any more, so the client marks the keys as over: otherwise they would keep others
   * waiting for a TTL.
   */
  private static final class Ended {
    final String session;
    final Set<String> keys = ConcurrentHashMap.newKeySet();

    /** Whether the session was destroyed, so that no late request can use it. */
    volatile boolean certain;

    Ended(String session) {
      this.session = session;
    }
  }

  /** Idle keys to be deleted, since no attempt used them again in time. */
  private record Old(Session session, List<String> keys) {}

  /** A minimum hold. Until that time, the mark of a released attempt keeps the name taken. */
  private record Hold(Attempt attempt, Entry mark, long untilNanos) {}

  SessionCleanup(
      ConsulHttp http,
      Keys keys,
      Sessions sessions,
      SessionRequests requests,
      LineCleanup lines,
      TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.requests = requests;
    this.lines = lines;
    this.time = time;
    unfreed = new TaskQueue<>(time, 1, some -> free(some.get(0), http.deadline()));
    ended = new TaskQueue<>(time, 1, some -> settle(some.get(0), http::deadline));
    old = new TaskQueue<>(time, 1, some -> delete(some.get(0)));
    holds = new TaskQueue<>(time, 1, some -> end(some.get(0)));
    tasks.addAll(List.of(unfreed, ended, old, holds));
    tasks.addAll(lines.tasks());
  }

  /** Begins the tasks that are due. */
  void tend(Collection<Session> inUse) {
    tasks.forEach(queue -> Ticker.safely(() -> queue.begin(http::execute)));
    inUse.forEach(this::deleteOld);
  }

  /** Ends an attempt, and has its key freed in the background. */
  public void add(Attempt attempt) {
    attempt.end();
    unfreed.add(attempt, time.nanos());
  }

  /**
   * Ends an attempt and frees its key, so that no request about it can take effect any more. After
   * a failure, the background tries again.
   *
   * @throws StoreException the key may still be in the line
   */
  public void free(Attempt attempt, Deadline deadline) throws StoreException {
    unfreed.add(attempt, time.nanos() + TaskQueue.retryNanos());
    attempt.end();
    if (!attempt.isFreed()) {
      freeNow(attempt, deadline);
    }
    sessions.forget(attempt);
    unfreed.remove(attempt);
  }

  /**
   * Frees the key of an attempt; any number of threads may do so at once. The key goes to another
   * attempt only after this one is marked as freed, so a thread that reads an index of the other
   * finds that mark and stops.
   */
  private void freeNow(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    long index = attempt.number();
    // After the end of the session no request takes effect, and settle() frees all of its keys.
    while (!session.isLost()) {
      if (index > 0) {
        String mark = attempt.releasedMark(index, 0).text();
        ConsulHttp.Outcome outcome = http.transact(
            new Transaction().setAt(attempt.key(), index, mark, attempt.flagsOfEnd()), deadline);
        if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
          released(attempt, applied.entries().get(0), 0);
          return;
        }
      }
      Entry entry = null;
      for (Entry shown : closeGate(session, new Transaction().tree(attempt.key()), deadline)) {
        entry = shown.key().equals(attempt.key()) ? shown : entry;
      }
      if (attempt.isFreed()) {
        return;
      }
      if (entry == null || !entry.session().equals(session.id())) {
        boolean unused = attempt.setFreed();
        return;
      }
      Mark mark = Mark.of(entry);
      if (mark.released() && !mark.isIdle()) {
        // An earlier release got through, with a minimum hold.
        released(attempt, entry, TimeUnit.MILLISECONDS.toNanos(mark.millis()));
        return;
      }
      // An idle key is written to as well: a late request of this attempt can name the index that
      // it has now.
      index = entry.modifyIndex();
    }
  }

  /**
   * Carries out a transaction that also writes to the gate of the session, after which no late
   * request can create a key of it.
   *
   * @return the keys that it shows, the gate included; empty: the session has ended
   */
  private List<Entry> closeGate(Session session, Transaction transaction, Deadline deadline)
      throws StoreException {
    String gate = keys.gate(session.id());
    ConsulHttp.Outcome outcome =
        http.transact(transaction.lock(gate, session.newGateText(), session.id()), deadline);
    if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
      if (sessions.isGone(session, failed)) {
        return List.of();
      }
      throw StoreException.refused("Consul refused: " + failed.what(), null);
    }
    List<Entry> shown = ((ConsulHttp.Outcome.Applied) outcome).entries();
    shown.stream()
        .filter(entry -> entry.key().equals(gate))
        .forEach(entry -> session.gateIndex(entry.modifyIndex()));
    return shown;
  }

  /**
   * Notes that the key of an attempt was marked as over.
   *
   * @param mark the key since then
   * @param holdNanos the time for which the name stays taken
   */
  public void released(Attempt attempt, Entry mark, long holdNanos) {
    if (!attempt.setFreed()) {
      return;
    }
    if (holdNanos > 0) {
      long untilNanos = time.nanos() + holdNanos;
      Hold hold = new Hold(attempt, mark, untilNanos);
      holds.add(hold, untilNanos);
      sessions.ticker().after(holdNanos, () -> holds.begin(http::execute));
    } else {
      idle(attempt, mark.modifyIndex());
    }
  }

  /**
   * Makes the key of an attempt that is over available to the next attempt.
   *
   * @param index the key's index since then
   */
  void idle(Attempt attempt, long index) {
    Session session = attempt.session();
    session.idleKeys().give(new IdleKeys.IdleKey(attempt.key(), index, time.nanos()));
    if (session.isLost()) {
      // settle() may have collected its idle keys before.
      settle(session, Set.of());
    }
  }

  /** Has the idle keys of a session deleted that no attempt used again in time. */
  private void deleteOld(Session session) {
    List<String> some;
    do {
      some = session.idleKeys().takeOld(time.nanos() - LineCleanup.KEPT_NANOS, DELETED_AT_ONCE);
      if (!some.isEmpty()) {
        old.add(new Old(session, some), time.nanos());
      }
    } while (!some.isEmpty());
  }

  private void delete(Old some) throws StoreException {
    Transaction delete = new Transaction();
    some.keys().forEach(delete::delete);
    if (closeGate(some.session(), delete, http.deadline()).isEmpty()) {
      // The session has ended, perhaps before these keys were queued: settle() finds them now.
      settle(some.session(), Set.of());
    }
  }

  /**
   * Has a session ended in the background, and what is left of it cleared away.
   *
   * @param attempts the keys of its attempts whose holders, if any, know of their loss
   */
  void settle(Session session, Set<String> attempts) {
    Ended one = new Ended(session.id());
    one.keys.addAll(attempts);
    old.all().stream().filter(some -> some.session() == session).forEach(some -> {
      one.keys.addAll(some.keys());
      old.remove(some);
    });
    one.keys.addAll(session.idleKeys().takeOld(time.nanos(), Integer.MAX_VALUE));
    ended.add(one, time.nanos());
  }

  /**
   * Ends a session, marks its keys in lines as over, so that waiters may start, and deletes its own
   * keys.
   *
   * @param deadline makes the deadline of each step, of which there can be many
   */
  private void settle(Ended one, Supplier<Deadline> deadline) throws StoreException {
    end(one, deadline.get());
    for (List<String> some : Transaction.parts(List.copyOf(one.keys))) {
      Deadline ofSome = deadline.get();
      Transaction look = new Transaction();
      some.forEach(look::tree);
      Line left = new Line(http.read(look, ofSome).stream()
          .filter(entry -> one.keys.contains(entry.key()))
          .toList());
      lines.end(left.orphans(), ofSome);
      left.useless().forEach(lines::addUseless);
      some.forEach(one.keys::remove);
    }
    Transaction own = new Transaction().deleteTree(keys.session(one.session));
    ConsulHttp.Outcome unused = http.transact(own, deadline.get());
  }

  private void end(Ended one, Deadline deadline) throws StoreException {
    // The session may still live: perhaps only its own key was deleted.
    if (!one.certain) {
      requests.destroyForCertain(one.session, deadline);
      one.certain = true;
    }
  }

  private void end(Hold hold) throws StoreException {
    Deadline deadline = http.deadline();
    // The key was only written to by the end of its session, or by a client that ended this hold:
    // no other attempt has it, so it is written again.
    Entry mark = hold.mark();
    String key = mark.key();
    String over = Mark.of(mark).withHold(0).text();
    while (mark != null) {
      ConsulHttp.Outcome outcome = http.transact(
          new Transaction().setAt(key, mark.modifyIndex(), over, Line.HAD_LOCK), deadline);
      if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
        // Before the key can be that of another attempt, which a repetition would end.
        holds.remove(hold);
        idle(hold.attempt(), applied.entries().get(0).modifyIndex());
        return;
      }
      mark = http.readKey(key, deadline);
    }
  }

  /** At the client's close, ends the sessions. */
  void endSessions(Deadline deadline) throws StoreException {
    for (Ended one : ended.all()) {
      end(one, deadline);
    }
  }

  /**
   * At the client's close, starts countdowns for what is left of minimum holds, and all others that
   * were asked for. The sessions were ended before.
   */
  void countDown(Deadline deadline) {
    for (Hold hold : holds.all()) {
      try {
        shorten(hold, deadline);
      } catch (StoreException e) {
        log.debug("The next client that finds this minimum hold waits for all of it: {}", hold, e);
      }
    }
    lines.beginCountdowns(deadline);
  }

  /** Writes what is left of a minimum hold to its mark, and has it counted down. */
  private void shorten(Hold hold, Deadline deadline) throws StoreException {
    String key = hold.mark().key();
    Entry mark = http.readKey(key, deadline);
    if (mark == null || !Mark.of(mark).released() || Mark.of(mark).isIdle()) {
      // Another client has ended it, since its time was over or by force.
      return;
    }
    long leftNanos = Math.max(0, hold.untilNanos() - time.nanos());
    String text = Mark.of(mark).withHold(leftNanos).text();
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            .setAt(key, mark.modifyIndex(), text, Line.HAD_LOCK)
            .tree(Keys.lineOf(key)),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      Line line = new Line(applied.entries());
      line.useless().stream().filter(entry -> entry.key().equals(key)).forEach(lines::addUseless);
      long ttlNanos = hold.attempt().session().ttlNanos();
      lines.countDown(line, TimeUnit.NANOSECONDS.toSeconds(ttlNanos));
    }
  }

  /** At the client's close, clears away what is left of the sessions. */
  void settleAll(Deadline deadline) throws StoreException {
    for (Ended one : ended.all()) {
      settle(one, () -> deadline);
    }
  }
}
