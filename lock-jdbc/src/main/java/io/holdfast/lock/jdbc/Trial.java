package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.StoreException;
import java.util.UUID;

/**
 * A trial when a client is built: takes and frees a lock of the store's own, and does what waiting
 * needs a right for. So missing support or permissions show at once, and not at some release at
 * night. All clients' trials together leave one row. Each request has the store timeout to itself,
 * and most are on one borrowed connection: a pool may check each that it lends.
 */
final class Trial {
  private Trial() {}

  /**
   * Runs the trial, on connections of the pool.
   *
   * @throws StoreException a statement failed
   * @throws IllegalStateException the data source is not fit for use
   */
  static void run(Database database) throws StoreException {
    Dialect dialect = database.dialect();
    String owner = UUID.randomUUID().toString().replace("-", "");
    // The trial has the lock for longer than it takes.
    long ttlMicros = Keys.micros(database.deadline().whole().multipliedBy(4));
    StoredClaim stored = new StoredClaim(
        Protocol.TRIAL_KEY, owner, false, ttlMicros, "the trial of a client's start");
    try {
      long number = database.onPool(database.deadline(), c -> {
        dialect.tryWaiting(c, stored);
        long taken = Sessions.next(c, database.deadline(), same -> dialect.acquire(same, stored));
        return taken == Protocol.NONE
            ? Sessions.next(c, database.deadline(), same -> dialect.insert(same, stored))
            : taken;
      });
      // If another client is in its trial, this one gets no lock, and frees none.
      boolean released = new Grants(database).handOver(database.deadline(), stored, number, 0);
      if (Protocol.isGrant(number) && !released) {
        throw StoreException.refused("the row was not as it had been written", null);
      }
    } catch (StoreException e) {
      if (e.getCause() instanceof IllegalStateException unfit) {
        throw unfit;
      }
      throw StoreException.refused(
          "For a trial, a lock was to be taken, freed and waited for, and could not: "
              + e.getMessage(),
          e);
    }
  }
}
