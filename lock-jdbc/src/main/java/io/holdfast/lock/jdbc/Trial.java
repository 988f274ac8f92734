package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.UUID;

/**
 * A trial when a client is built: takes, renews and frees a lock of the store's own, and queues for
 * it. So missing support or permissions show at once, and not at some release at night. All
 * clients' trials together leave one row.
 */
final class Trial {
  private Trial() {}

  /**
   * Runs the trial on the client's own connection.
   *
   * @throws StoreException a statement failed
   */
  static void run(Database database) throws StoreException {
    Deadline deadline = database.deadline();
    Dialect dialect = database.dialect();
    String owner = UUID.randomUUID().toString().replace("-", "");
    // The trial has the lock for longer than it takes.
    long ttlMicros = Keys.micros(deadline.whole().multipliedBy(2));
    StoredClaim stored =
        new StoredClaim(Dialect.TRIAL_KEY, owner, ttlMicros, "the trial of a client's start");
    try {
      long number = database.onOwnConnection(deadline, c -> dialect.acquire(c, stored));
      if (number == Dialect.NONE) {
        number = database.onOwnConnection(deadline, c -> dialect.insert(c, stored));
      }
      database.onOwnConnection(deadline, c -> dialect.renew(c, List.of(stored)));
      // If another client is in its trial, this one gets no lock, and frees none.
      boolean released = new Grants(database).handOver(deadline, stored, number, 0);
      if (number != Dialect.NONE && !released) {
        throw StoreException.refused("the row was not as it had been written", null);
      }
      database.onOwnConnection(deadline, c -> {
        dialect.join(c, stored);
        dialect.keepAlive(c, List.of(stored));
        return dialect.leave(c, List.of(stored));
      });
    } catch (StoreException e) {
      throw StoreException.refused(
          "For a trial, a lock was to be taken, freed and waited for, and could not: "
              + e.getMessage(),
          e);
    }
  }
}
