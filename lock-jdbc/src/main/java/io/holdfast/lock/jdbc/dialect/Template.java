package io.holdfast.lock.jdbc.dialect;

/**
 * The SQL texts that each database spells in its own way. In them, {@code {table}} and its like are
 * filled in by {@link Texts#fill}, and {@code :owner} and its like are parameters of {@link Sql}.
 * The methods of {@link Dialect} say what the statements do.
 */
enum Template {
  /**
   * The expression for the database's clock, in microseconds since 1970, whatever the session's
   * time zone.
   */
  NOW,

  /**
   * The expression for the time that a statement has waited since its {@link #NOW}, in
   * microseconds, if the database's clock stands still within a statement: an extension must not
   * revive a lease that ended in that time.
   */
  LATE,

  /** The expression for the column of names, compared and sorted byte by byte. */
  NAME_BY_BYTES,

  /**
   * Updates the row of {@code :key} as {@code {set}} says, if {@code {condition}} holds for it and
   * it is not locked, and reports {@code {reported}} of the updated row.
   */
  UPDATE_ONE,

  /**
   * Does {@link #UPDATE_ONE}, but waits for a locked row: for {@link #ROW_WAIT_SECONDS}, and on
   * MySQL, which can't limit that, for as long as the server allows, even if the client is gone.
   */
  UPDATE_ONE_WAITING,

  /** The function whose argument an update reports; empty if {@link #UPDATE_ONE} reports itself. */
  REPORT,

  /**
   * Updates the row of {@code :key} to take a lock for which {@code {condition}} holds, and reports
   * the grant's number; made from {@link #UPDATE_ONE} where that can report what it did not update.
   * If it does not take the lock, and there is a row, reports {@link Protocol#TAKEN} or
   * {@link Protocol#UNSURE}, and may set {@code wanted_until} to {@code {wanted}}.
   */
  ACQUIRE,
  INSERT,
  RELEASE,

  /**
   * Hands a lock for which {@code {condition}} holds to the first in its line, or frees it; leaves
   * a locked row alone. {@code {forgettable}} says whether a server that crashes may forget it.
   */
  HAND_OVER,

  /** The clause that locks the first waiter's row for {@link #HAND_OVER}, or fails. */
  FIRST_OR_FAIL,

  /** The clause that locks the row of the first waiter whose row is not locked. */
  FIRST_UNLOCKED,

  /** Adds a waiter, and announces that somebody waits, unless {@link #ACQUIRE} does. */
  JOIN,

  /** The clause that says what {@link LockStatement#CREATE_ROW} does if there is such a row. */
  ON_CONFLICT,

  /** A query that locks the rows that match {@code {where}} and are not locked. */
  UNLOCKED,

  /** Updates the rows of {@link #UNLOCKED} as {@code {set}} says. */
  UPDATE_UNLOCKED,

  /** Deletes the rows of {@link #UNLOCKED}. */
  DELETE_UNLOCKED,

  /** Needs all rights on the table of waiters, and changes nothing. */
  TRY_WAITING;

  /** The longest wait of {@link #UPDATE_ONE_WAITING}, where the database can limit it. */
  static final int ROW_WAIT_SECONDS = 1;
}
