package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

/**
 * Ends grants, and hands their locks over. A row that a transaction has locked is not waited for at
 * the database, where a request could outlive its client, but tried again.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
final class Releaser {
  private final Database database;
  private final Dialect dialect;

  Releaser(Database database) {
    this.database = database;
    dialect = database.dialect();
  }

  /** Ends a grant; returns whether it had the lock. */
  boolean release(JdbcGrant grant, Duration holdFor) throws StoreException {
    Deadline deadline = database.deadline();
    long number = grant.number();
    long holdMicros = Keys.microsUp(holdFor);
    // If there may be waiters, or the row may be locked, only a hand-over is sure to end the grant.
    boolean released = !grant.fromLine()
        && !grant.guarded().get()
        && database.onPoolOrOwnConnection(
            deadline, c -> dialect.release(c, grant.stored(), number, holdMicros));
    return released || handOver(deadline, grant.stored(), number, holdMicros);
  }

  /** Does {@link Dialect#handOver}; returns whether the grant had the lock. */
  boolean handOver(Deadline deadline, StoredClaim claim, long number, long holdMicros)
      throws StoreException {
    return end(
        deadline,
        claim.key(),
        row -> row.isOf(claim.owner(), number),
        c -> dialect.handOver(c, claim, number, holdMicros));
  }

  /** Ends the claim's wait and its grant, whichever there is. */
  void withdraw(StoredClaim claim) throws StoreException {
    Deadline deadline = database.deadline();
    String key = claim.key();
    String ownerId = claim.owner();
    // Deletes the waiter first, so that nothing is handed over to it after that.
    database.onPoolOrOwnConnection(deadline, c -> dialect.leave(c, List.of(claim)));
    if (shows(deadline, key, row -> row.isOwnedBy(ownerId))) {
      end(deadline, key, row -> row.isOwnedBy(ownerId), c -> dialect.withdraw(c, claim));
    }
  }

  /** Ends the grant of this number; returns whether it had the lock. */
  boolean forceRelease(String key, long number) throws StoreException {
    return end(
        database.deadline(),
        key,
        row -> !row.isFree() && row.number() == number,
        c -> dialect.forceRelease(c, key, number));
  }

  /**
   * Ends a grant by this statement, which leaves a locked row alone, and is tried again for as long
   * as the row shows the grant.
   *
   * @return whether it ended the grant
   */
  private boolean end(
      Deadline deadline, String key, Predicate<Row> grant, Sessions.Call<Boolean> statement)
      throws StoreException {
    for (int tries = 0; !database.onPoolOrOwnConnection(deadline, statement); tries++) {
      if (!shows(deadline, key, grant)) {
        return false;
      }
      if (!Deadlines.pause(deadline, tries)) {
        throw Renewer.locked();
      }
    }
    return true;
  }

  private boolean shows(Deadline deadline, String key, Predicate<Row> grant) throws StoreException {
    return database.onPoolOrOwnConnection(deadline, c -> dialect.look(c, List.of(key))).stream()
        .anyMatch(grant);
  }
}
