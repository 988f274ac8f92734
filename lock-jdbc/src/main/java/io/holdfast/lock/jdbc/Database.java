package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/**
 * One database as the store asks it: on a lent connection, within a deadline, again if a collision
 * undid the statement, and with the driver's errors told apart by what they leave behind.
 *
 * <p>Threads: safe for all.
 */
final class Database {
  /** The most connections to a read-only server that one question meets, and has replaced. */
  private static final int READ_ONLY_TRIES = 5;

  private final Dialect dialect;
  private final Lender pool;
  private final SpareConnection spare;
  private final Duration storeTimeout;

  Database(Dialect dialect, Lender pool, SpareConnection spare, Duration storeTimeout) {
    this.dialect = dialect;
    this.pool = pool;
    this.spare = spare;
    this.storeTimeout = storeTimeout;
  }

  Dialect dialect() {
    return dialect;
  }

  Deadline deadline() {
    return Deadlines.after(storeTimeout);
  }

  /**
   * What is asked: the statements that follow each other on one connection, each standing alone.
   */
  @FunctionalInterface
  interface Question<T> {
    T ask(Dialect dialect, Connection connection) throws SQLException;
  }

  /** Asks on a connection of the user's pool. */
  <T> T onPool(Deadline deadline, Question<T> question) throws StoreException {
    try {
      return ask(pool, deadline, question);
    } catch (NoConnectionException e) {
      throw StoreException.refused(String.valueOf(e.getMessage()), e);
    }
  }

  /** Asks on the client's own connection. */
  <T> T onSpare(Deadline deadline, Question<T> question) throws StoreException {
    try {
      return ask(spare, deadline, question);
    } catch (NoConnectionException e) {
      throw StoreException.refused(String.valueOf(e.getMessage()), e);
    }
  }

  /** Has the client's own connection taken anew at its next use. */
  void expireSpare() {
    spare.expire();
  }

  /** Takes the client's own connection anew, unless that takes too large a part of the time. */
  void changeSpare(Deadline deadline) {
    spare.change(deadline);
  }

  /**
   * Asks on a connection of the pool, and on the client's own if the pool gives none soon: what
   * frees locks must get through.
   */
  <T> T onPoolOrSpare(Deadline deadline, Question<T> question) throws StoreException {
    try {
      return ask(pool, Deadlines.part(deadline, 4), deadline, question);
    } catch (NoConnectionException e) {
      return onSpare(deadline, question);
    }
  }

  /** Keeps a connection of the pool for as long as the user of it runs. */
  void lendFor(Duration patience, LongUse use)
      throws NoConnectionException, StoreException, SQLException {
    Connection connection = pool.lend(Deadlines.after(patience));
    boolean usable = false;
    try {
      use.of(connection);
      usable = true;
    } finally {
      pool.giveBack(connection, usable);
    }
  }

  /** What is done with a connection that is kept. */
  @FunctionalInterface
  interface LongUse {
    void of(Connection connection) throws StoreException, SQLException;
  }

  private <T> T ask(Lender lender, Deadline deadline, Question<T> question)
      throws StoreException, NoConnectionException {
    return ask(lender, deadline, deadline, question);
  }

  /**
   * Keeps an interrupt away from the call: it would close the socket of a virtual thread, and pools
   * refuse interrupted threads. The flag is set again at the end.
   */
  private <T> T ask(Lender lender, Deadline patience, Deadline deadline, Question<T> question)
      throws StoreException, NoConnectionException {
    boolean interrupted = Thread.interrupted();
    try {
      return askUninterrupted(lender, patience, deadline, question);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private <T> T askUninterrupted(
      Lender lender, Deadline patience, Deadline deadline, Question<T> question)
      throws StoreException, NoConnectionException {
    int readOnlyTries = 0;
    for (int failures = 0; ; failures++) {
      SQLException failure;
      Connection connection = lender.lend(patience);
      boolean usable = false;
      try {
        T answer = Sessions.run(connection, deadline, c -> question.ask(dialect, c));
        usable = true;
        return answer;
      } catch (SQLException e) {
        failure = e;
        // An error that the server told leaves the connection as it was.
        usable = dialect.isRefused(e) && !dialect.isReadOnly(e);
      } finally {
        lender.giveBack(connection, usable);
      }
      boolean readOnly = dialect.isReadOnly(failure);
      if (readOnly) {
        // It was another server's turn to be the primary; the pool may know, or finds out by this.
        spare.expire();
        readOnlyTries++;
      }
      if (!(readOnly && readOnlyTries < READ_ONLY_TRIES) && !dialect.isTransient(failure)) {
        throw dialect.isRefused(failure)
            ? StoreException.refused(dialect.database() + " refused: " + failure, failure)
            : StoreException.unanswered(
                dialect.database() + " gave no usable answer: " + failure, failure);
      }
      // Connections are replaced at a slower pace than collisions end.
      if (!Deadlines.pause(deadline, readOnly ? failures + READ_ONLY_TRIES : failures)) {
        throw StoreException.refused(
            dialect.database()
                + (readOnly
                    ? " is read-only: "
                    : " undid the statement in favour of others for all of "
                        + deadline.whole()
                        + ": ")
                + failure,
            failure);
      }
    }
  }
}
