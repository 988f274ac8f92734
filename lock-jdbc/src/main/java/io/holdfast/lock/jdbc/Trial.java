package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.UUID;

/**
 * Takes, renews and frees a lock of the store's own, and waits for it, when a client is built: what
 * the database or its user can't do shows then, and not at a release at night. Leaves one row,
 * whoever tries.
 */
final class Trial {
  private Trial() {}

  /**
   * Tries on the client's own connection.
   *
   * @throws StoreException a statement failed
   */
  static void run(Database database) throws StoreException {
    Deadline deadline = database.deadline();
    String key = Dialect.TRIAL_KEY;
    String owner = UUID.randomUUID().toString().replace("-", "");
    // It is the trial's own for longer than the trial takes.
    long ttlMicros = Keys.micros(deadline.whole().multipliedBy(2));
    Attempt attempt = new Attempt(key, owner, ttlMicros, "the trial of a client's start");
    try {
      long number = database.onSpare(deadline, (d, c) -> d.acquire(c, attempt));
      if (number == Dialect.NONE) {
        number = database.onSpare(deadline, (d, c) -> d.insert(c, attempt));
      }
      database.onSpare(deadline, (d, c) -> {
        d.renew(c, List.of(key), List.of(owner), ttlMicros);
        return true;
      });
      // If another client is at its trial, this one has no lock, and frees none.
      long taken = number;
      boolean released = database.onSpare(deadline, (d, c) -> d.handOver(c, key, owner, taken, 0));
      if (taken != Dialect.NONE && !released) {
        throw StoreException.refused("the row was not as it had been written", null);
      }
      database.onSpare(deadline, (d, c) -> {
        long unused = d.join(c, attempt);
        d.keepAlive(c, List.of(key), List.of(owner));
        d.leave(c, List.of(key), List.of(owner));
        return true;
      });
    } catch (StoreException e) {
      throw StoreException.refused(
          "For a trial, a lock was to be taken, freed and waited for, and could not: "
              + e.getMessage(),
          e);
    }
  }
}
