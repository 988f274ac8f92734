package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Failure;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Access to one database: runs statements on lent connections within a deadline, and repeats those
 * that the database undid in favour of another transaction. A failure becomes a
 * {@link StoreException} that says whether the statement may have been carried out.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class Database implements AutoCloseable {
  /** The most tries of one call that meet a read-only server, each on another connection. */
  private static final int READ_ONLY_TRIES = 5;

  /** The most times that a request is repeated because the connection gave no answer. */
  private static final int UNANSWERED_REPEATS_MAX = 5;

  private static final Logger log = LoggerFactory.getLogger(Database.class);

  private final Dialect dialect;
  private final Pool pool;
  private final OwnConnection ownConnection;
  private final Duration storeTimeout;
  private final SameDatabase sameDatabase;
  private final WaitLimit waitLimit;

  /** @param storeTimeout the time limit of a call */
  public Database(
      SameDatabase sameDatabase, Pool pool, OwnConnection ownConnection, Duration storeTimeout) {
    this.dialect = sameDatabase.dialect();
    this.pool = pool;
    this.ownConnection = ownConnection;
    this.sameDatabase = sameDatabase;
    this.storeTimeout = storeTimeout;
    this.waitLimit = new WaitLimit(dialect, storeTimeout);
  }

  /** Gives the client's own connection back, and ends the pool's threads. */
  @Override
  public void close() {
    try {
      ownConnection.close();
    } finally {
      pool.close();
    }
  }

  public Dialect dialect() {
    return dialect;
  }

  /** Returns the deadline of a call that begins now. */
  public Deadline deadline() {
    return Deadlines.after(storeTimeout);
  }

  /** Asks on a connection of the user's pool. */
  public <T> T onPool(Deadline deadline, Sessions.Call<T> question) throws StoreException {
    return ask(pool, deadline, question);
  }

  /** Asks on the client's own connection. */
  public <T> T onOwnConnection(Deadline deadline, Sessions.Call<T> question) throws StoreException {
    return ask(ownConnection, deadline, question);
  }

  /**
   * Asks on a connection that is in the way of nothing else.
   *
   * @param patience the deadline for the pool; after it, the client's own connection is used
   */
  public <T> T forRenewal(Deadline patience, Deadline deadline, Sessions.Call<T> question)
      throws StoreException {
    return ask(rest -> ownConnection.lendForRenewal(patience, rest), deadline, question);
  }

  /**
   * Asks on a connection of the pool, or on the client's own if the pool does not give one soon:
   * whatever frees locks must get through.
   */
  public <T> T onPoolOrOwnConnection(Deadline deadline, Sessions.Call<T> question)
      throws StoreException {
    Deadline patience = Deadlines.part(deadline, 2); // For the pool, in all tries together.
    return ask(rest -> lendFromPoolOrOwn(patience, rest), deadline, question);
  }

  private Lent lendFromPoolOrOwn(Deadline patience, Deadline deadline) throws StoreException {
    try {
      return pool.lend(patience);
    } catch (StoreException e) {
      log.debug("The client's own connection is used, since the pool gives none", e);
      return ownConnection.lendUnchecked(deadline);
    }
  }

  /** Lends a connection of the pool, to be kept for longer than one call. */
  public Lent lend(Deadline deadline) throws StoreException {
    Lent lent = pool.lend(deadline);
    boolean checked = false;
    try {
      check(lent, deadline);
      checked = true;
      return lent;
    } catch (SQLException e) {
      throw StoreException.refused("The data source gave a connection that can't be used: " + e, e);
    } finally {
      if (!checked) {
        lent.close();
      }
    }
  }

  /** Checks that the connection leads to the right database, and is in nobody's transaction. */
  private void check(Lent lent, Deadline deadline) throws SQLException, StoreException {
    pool.check(lent);
    sameDatabase.check(lent, deadline);
  }

  /** A request that borrows a connection anew each time it runs. */
  @FunctionalInterface
  public interface Asking<T> {
    T ask() throws StoreException;
  }

  /**
   * Asks, and while there is no answer asks again, on another connection if the pool gives one: the
   * server may have ended several at once, and the pool hands out unchecked those that were used
   * just now. Only for requests that do no harm if they are carried out more than once.
   */
  public <T> T untilAnswered(Deadline deadline, Asking<T> asking) throws StoreException {
    for (int failures = 0; ; failures++) {
      try {
        return asking.ask();
      } catch (StoreException e) {
        if (!e.mayHaveHappened()
            || failures == UNANSWERED_REPEATS_MAX
            || !Deadlines.pause(deadline, failures)) {
          throw e;
        }
        log.debug("The database is asked again", e);
      }
    }
  }

  /** Has the client's own connection replaced at its next use. */
  public void expireOwnConnection() {
    ownConnection.expire();
  }

  /**
   * Breaks a connection if somebody has left a transaction open on it. This undoes what was just
   * written; otherwise the end of that transaction could undo it later, unnoticed. Checked after
   * the statements, since drivers learn of a transaction from the server's answers. After an error
   * a driver may say yes without knowing, so it is asked again after another answer; PostgreSQL
   * gives none but errors in a transaction that failed.
   */
  private void refuseIfInTransaction(Connection connection, Deadline deadline)
      throws StoreException {
    SQLException failure = null;
    try {
      // One that has joined is not asked again: whoever asks without autocommit would commit.
      if (!pool.hasJoined(connection)) {
        if (!connection.getAutoCommit() || !dialect.isInTransaction(connection)) {
          return;
        }
        Sessions.execute(connection, deadline, "SELECT 1");
        if (!dialect.isInTransaction(connection)) {
          return;
        }
      }
    } catch (SQLException e) {
      failure = e;
    }
    Sessions.breakQuietly(connection);
    String what = failure != null && dialect.failure(failure) == Failure.UNKNOWN
        ? dialect.database() + " gave no usable answer: " + failure
        : "The data source gave a connection that is in a transaction: somebody began one by SQL text"
            + " and gave the connection back without COMMIT or ROLLBACK, or the data source had it"
            + " join the caller's. It was closed";
    throw StoreException.unanswered(what, failure);
  }

  private void note(Failure kind, Deadline deadline) {
    if (kind == Failure.UNKNOWN && deadline.isOver()) {
      waitLimit.noteSilence();
    } else if (kind == Failure.TRANSIENT) {
      waitLimit.noteConflict();
    }
  }

  /**
   * Asks, and asks again if the database undid the statement in favour of another transaction, or
   * is read-only. The interrupt flag is cleared meanwhile: an interrupt would close the socket of a
   * virtual thread, and pools refuse interrupted threads.
   */
  private <T> T ask(Lender lender, Deadline deadline, Sessions.Call<T> question)
      throws StoreException {
    boolean interrupted = Thread.interrupted();
    try {
      int readOnlyTries = 0;
      for (int failures = 0; ; failures++) {
        SQLException failure;
        Failure kind;
        Lent lent = lender.lend(deadline);
        waitLimit.relax();
        try {
          check(lent, deadline);
          T answer = Sessions.run(lent.connection(), deadline, question);
          dialect.checkKept(lent.connection()::getWarnings); // Of a commit.
          refuseIfInTransaction(lent.connection(), deadline);
          lent.markUsable();
          return answer;
        } catch (SQLException e) {
          failure = e;
          kind = dialect.failure(e);
          note(kind, deadline);
          if (kind != Failure.UNKNOWN && kind != Failure.READ_ONLY) {
            refuseIfInTransaction(lent.connection(), deadline);
            lent.markUsable(); // An error that the server reported leaves the connection usable.
          }
        } finally {
          lent.close();
        }
        boolean readOnly = kind == Failure.READ_ONLY;
        if (readOnly) {
          // Another server is the primary now. The pool knows it, or learns it from the connection
          // that is not usable.
          ownConnection.expire();
          readOnlyTries++;
        }
        if (!(readOnly && readOnlyTries < READ_ONLY_TRIES) && kind != Failure.TRANSIENT) {
          throw kind == Failure.UNKNOWN
              ? StoreException.unanswered(
                  dialect.database() + " gave no usable answer: " + failure, failure)
              : StoreException.refused(dialect.database() + " refused: " + failure, failure);
        }
        // 32 times as long at first if read-only: a pool replaces its connections more slowly.
        if (!Deadlines.pause(deadline, readOnly ? failures + READ_ONLY_TRIES : failures)) {
          String what = readOnly
              ? "is read-only"
              : "undid the statement in favour of others for all of " + deadline.whole();
          throw StoreException.refused(
              "%s %s: %s".formatted(dialect.database(), what, failure), failure);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
