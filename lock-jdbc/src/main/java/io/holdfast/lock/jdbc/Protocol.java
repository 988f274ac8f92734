package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Takes, shows and frees the locks of one kind. What all kinds have in common needs none: a grant
 * is renewed, verified, extended and guarded by its row and its owner id, and waiters are rows of
 * one table.
 *
 * <p>Threads: safe for use by any number of threads.
 */
interface Protocol {
  /** The result of an attempt. */
  sealed interface Attempted {
    /** The claim has the lock. */
    record Taken(JdbcGrant grant) implements Attempted {}

    /** The lock is taken, or its row is locked, or others wait for it. */
    record Busy(Row row) implements Attempted {}
  }

  /** Takes the lock if it is free and nobody waits for it. */
  Attempted attempt(Claim claim) throws StoreException;

  /**
   * Takes the lock for a waiter if its turn has come.
   *
   * @param place the waiter's place
   */
  Optional<JdbcGrant> acceptOrTake(Claim claim, long place) throws StoreException;

  /**
   * Makes a grant that was handed over to a waiter; empty if the waiter must accept it with a
   * statement of its own.
   */
  Optional<JdbcGrant> granted(Claim claim, long number, Duration validFor);

  /** Frees the lock if the grant has it, after this time; returns whether it had. */
  boolean release(JdbcGrant grant, long holdMicros) throws StoreException;

  /** Makes sure that the claim has neither a grant nor a place. */
  void withdraw(Claim claim) throws StoreException;

  /** Returns all holders, in order. */
  List<StoredHolder> holders(LockKey key) throws StoreException;

  /** Frees the lock if the grant of this number has it; returns whether it had. */
  boolean forceRelease(LockKey key, long number) throws StoreException;

  /**
   * Polls for waiters of this kind, on the client's own connection; what does not exist is missing
   * from the result.
   */
  List<Standing> look(List<Waiter> waiters) throws StoreException;

  /** Returns the stored names of the rows that say that somebody waits for the lock. */
  List<String> announcedRows(Claim claim);

  /**
   * Records in these rows that somebody waits; any number of rows.
   *
   * @param own whether to use the client's own connection
   */
  void announce(List<String> rows, boolean own) throws StoreException;
}
