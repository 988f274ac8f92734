package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Outcome;
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
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Cleans up after the attempts and sessions of this client. Its tasks, and those of
 * {@link LineCleanup}, run on threads of the HTTP client, so that a Consul that does not answer
 * delays no renewal of a session. Thread-safe.
 */
public final class SessionCleanup {
  /** The most keys that are deleted together: the gate takes one operation more. */
  private static final int DELETED_AT_ONCE = Transaction.OPERATIONS_MAX - 1;

  private final ConsulHttp http;
  private final Keys keys;
  private final Registry sessions;
  private final SessionRequests requests;
  private final LineCleanup lineCleanup;
  private final TimeSource time;

  /**
   * Attempts that are over and whose keys may still be in a line. Their session lives on, so
   * nothing else ends them: each is freed again until that succeeds.
   */
  private final TaskQueue<Attempt> unfreed;

  /**
   * Sessions that have ended or are to be ended. Of their keys, those in {@link Session#idleKeys}
   * are marked as over, since their holders were told: otherwise they would keep others waiting for
   * a TTL.
   */
  final TaskQueue<Session> ended;

  /** Sessions with old keys: idle ones that no attempt used again in time. */
  private final TaskQueue<Session> oldKeys;

  /** Minimum holds that are not over. */
  final TaskQueue<Hold> holds;

  private final List<TaskQueue<?>> tasks;

  /**
   * A minimum hold: until {@code untilNanos}, the key of a released attempt keeps the name taken.
   *
   * @param entry the key when it was released: its index counts, its value may be missing, since
   *     Consul does not return what was written
   */
  record Hold(Attempt attempt, Entry entry, long untilNanos) {}

  /** The sessions and attempts of this client. */
  interface Registry {
    void forget(Attempt attempt);

    boolean endIfGone(Session session, Outcome outcome);

    void runLater(long delayNanos, Runnable task);
  }

  SessionCleanup(
      ConsulHttp http,
      Keys keys,
      Registry sessions,
      SessionRequests requests,
      LineCleanup lineCleanup,
      TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.requests = requests;
    this.lineCleanup = lineCleanup;
    this.time = time;
    unfreed = new TaskQueue<>(time, 1, some -> free(some.get(0), http.deadline()));
    ended = new TaskQueue<>(time, 1, some -> settle(some.get(0), http::deadline));
    oldKeys = new TaskQueue<>(time, 1, some -> deleteOldKeys(some.get(0)));
    holds = new TaskQueue<>(time, 1, some -> end(some.get(0)));
    tasks = Stream.concat(Stream.of(unfreed, ended, oldKeys, holds), lineCleanup.tasks().stream())
        .toList();
  }

  /** Begins the tasks that are due. */
  void tend(Collection<Session> inUse) {
    tasks.forEach(queue -> SessionThread.safely(() -> queue.begin(http::execute)));
    inUse.stream()
        .filter(session -> !retireOld(session).isEmpty())
        .forEach(session -> oldKeys.add(session, time.nanos()));
  }

  /** Ends an attempt, and has its key freed in the background. */
  public void freeLater(Attempt attempt) {
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
   * Frees the key of an attempt; any number of threads may do so at once. Another attempt gets the
   * key only after this one counts as freed. So a thread that reads the index of that other attempt
   * sees that this one is freed, and stops.
   */
  private void freeNow(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    long index = attempt.number();
    // After the end of the session no request takes effect, and settle() frees the key once its
    // holder was told.
    while (!session.isLost()) {
      if (index > 0) {
        String value = attempt.mark().asReleased(index, 0).text();
        Outcome outcome = http.transact(
            new Transaction().setAt(attempt.key(), index, value, attempt.flagsWhenOver()),
            deadline);
        if (outcome.isApplied()) {
          noteReleased(attempt, outcome.entries().get(0), 0);
          return;
        }
      }
      List<Entry> shown = closeGate(session, new Transaction().tree(attempt.key()), deadline);
      Entry entry = Entry.find(shown, attempt.key());
      if (attempt.isFreed() || shown.isEmpty()) {
        // If its session has ended, settle() frees it.
        return;
      }
      if (entry == null || !entry.session().equals(session.id())) {
        boolean unused = attempt.setFreed();
        return;
      }
      Mark mark = Mark.of(entry);
      if (mark.released() && !mark.isIdle()) {
        // An earlier release got through, with a minimum hold.
        noteReleased(attempt, entry, TimeUnit.MILLISECONDS.toNanos(mark.millis()));
        return;
      }
      // An idle key is written to as well: a late request of this attempt can name the index that
      // it has now.
      index = entry.modifyIndex();
    }
  }

  /**
   * Carries out a transaction that also writes to the gate of the session. After that, no earlier
   * request can create a key of the session.
   *
   * @return the keys that it shows, the gate included; empty: the session has ended
   */
  private List<Entry> closeGate(Session session, Transaction transaction, Deadline deadline)
      throws StoreException {
    String gate = keys.gate(session.id());
    // The same value again would leave its index as it is.
    transaction.lock(gate, "write " + UUID.randomUUID(), session.id());
    Outcome outcome = http.transact(transaction, deadline);
    Entry written = Entry.find(outcome.entries(), gate);
    if (written != null) {
      session.gateIndex(written.modifyIndex());
    } else if (!sessions.endIfGone(session, outcome)) {
      throw StoreException.refused("Consul refused: " + outcome.failures(), null);
    }
    return outcome.entries();
  }

  /**
   * Notes that the key of an attempt was marked as over.
   *
   * @param entry the key as it is now
   * @param holdNanos the time for which the name stays taken
   */
  public void noteReleased(Attempt attempt, Entry entry, long holdNanos) {
    if (!attempt.setFreed()) {
      return;
    }
    if (holdNanos > 0) {
      long untilNanos = time.nanos() + holdNanos;
      holds.add(new Hold(attempt, entry, untilNanos), untilNanos);
      sessions.runLater(holdNanos, () -> holds.begin(http::execute));
    } else {
      offerKey(attempt, entry.modifyIndex());
    }
  }

  /**
   * Makes the key of an attempt that is over available to the next attempt.
   *
   * @param index the key's index now
   */
  void offerKey(Attempt attempt, long index) {
    Session session = attempt.session();
    session.idleKeys.give(new IdleKeys.IdleKey(attempt.key(), index, time.nanos()));
    if (session.isLost()) {
      // The session may be settled already, without this key.
      settleLater(session);
    }
  }

  /** Retires the oldest idle keys of a session if they are due to be deleted. */
  private List<String> retireOld(Session session) {
    return session.idleKeys.retireOld(time.nanos() - LineCleanup.KEPT_NANOS, DELETED_AT_ONCE);
  }

  private void deleteOldKeys(Session session) throws StoreException {
    for (List<String> some = retireOld(session); !some.isEmpty(); some = retireOld(session)) {
      Transaction delete = new Transaction();
      some.forEach(delete::delete);
      if (closeGate(session, delete, http.deadline()).isEmpty()) {
        // The session has ended: settle() finds these keys.
        return;
      }
      session.idleKeys.remove(some);
    }
  }

  /** Has a session settled in the background; by put(), so once more if that is under way. */
  void settleLater(Session session) {
    ended.put(session, session, time.nanos());
  }

  /**
   * Ends a session, marks those of its keys as over that are in its idleKeys, so that waiters may
   * start, and deletes its own keys.
   *
   * @param deadline makes the deadline of each step, of which there can be many
   */
  void settle(Session session, Supplier<Deadline> deadline) throws StoreException {
    // The session may still live: perhaps only its watched key was deleted.
    requests.destroy(session.id(), deadline.get());
    IdleKeys idle = session.idleKeys;
    List<String> some = idle.retireOld(time.nanos(), Transaction.OPERATIONS_MAX);
    while (!some.isEmpty()) {
      endOrphans(some, deadline.get());
      idle.remove(some);
      some = idle.retireOld(time.nanos(), Transaction.OPERATIONS_MAX);
    }
    Transaction own = new Transaction().deleteTree(keys.watched(session.id()));
    Outcome deleted = http.transact(own, deadline.get());
    String witness = session.witness();
    if (witness != null && deleted.isApplied()) {
      // Last: without those keys its end proves nothing of holders that were not told.
      requests.destroy(witness, deadline.get());
    }
  }

  private void endOrphans(List<String> some, Deadline deadline) throws StoreException {
    Transaction read = new Transaction();
    some.forEach(read::tree);
    Line keysOfManyLines = new Line(http.read(read, deadline).stream()
        .filter(entry -> some.contains(entry.key()))
        .toList());
    lineCleanup.end(keysOfManyLines.orphans(), deadline);
    keysOfManyLines.useless().forEach(lineCleanup::addUseless);
  }

  /**
   * Ends a minimum hold whose time is over: the key stays marked as released, up to the same index,
   * but with no time for which the name stays taken.
   */
  private void end(Hold hold) throws StoreException {
    Deadline deadline = http.deadline();
    String text = hold.attempt().mark().asReleased(hold.attempt().number(), 0).text();
    // If the key has changed meanwhile, its session ended, or another client ended this hold. No
    // other attempt can have the key yet, so the text is written again, at the key's new index.
    for (Entry entry = hold.entry(); entry != null; entry = http.readKey(entry.key(), deadline)) {
      Outcome outcome = http.transact(
          new Transaction().setAt(entry.key(), entry.modifyIndex(), text, Line.HAD_LOCK), deadline);
      if (outcome.isApplied()) {
        // Before the key is offered again: a repeat of this task would end the next attempt.
        holds.remove(hold);
        offerKey(hold.attempt(), outcome.entries().get(0).modifyIndex());
        return;
      }
    }
  }

  /**
   * Writes what is left of a minimum hold to its key, and has it counted down, when the client is
   * closed and the session has ended. Otherwise the next client that finds the key would wait for
   * the whole hold again.
   */
  void shorten(Hold hold, Deadline deadline) throws StoreException {
    String key = hold.entry().key();
    Entry entry = http.readKey(key, deadline);
    if (entry == null || !Mark.of(entry).released() || Mark.of(entry).isIdle()) {
      // Another client has ended it, since its time was over or by force.
      return;
    }
    long leftNanos = Math.max(0, hold.untilNanos() - time.nanos());
    Mark mark = Mark.of(entry);
    String value = mark.asReleased(mark.overIndex(), leftNanos).text();
    Outcome outcome = http.transact(
        new Transaction()
            .setAt(key, entry.modifyIndex(), value, Line.HAD_LOCK)
            .tree(Keys.lineOf(key)),
        deadline);
    if (outcome.isApplied()) {
      Line line = new Line(outcome.entries());
      line.useless().stream().filter(one -> one.key().equals(key)).forEach(lineCleanup::addUseless);
      lineCleanup.countDown(line);
    }
  }
}
