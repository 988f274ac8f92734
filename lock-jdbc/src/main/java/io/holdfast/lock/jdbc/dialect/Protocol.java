package io.holdfast.lock.jdbc.dialect;

/** The constants of the protocol on the two tables, which all clients must agree on. */
public final class Protocol {
  /** The version of the schema that these statements work on. */
  public static final long SCHEMA_VERSION = 2;

  /**
   * The key of the row that holds the schema's version. No lock has it, since locks' keys begin
   * with a letter and a colon.
   */
  public static final String VERSION_KEY = "version";

  /** The key of the row that is taken and freed in a trial. No lock has it either. */
  public static final String TRIAL_KEY = "trial";

  /** The most locks that one statement works on. */
  public static final int BATCH_MAX = 512;

  /** The answer of a statement that returns a number, if it did nothing. */
  public static final long NONE = 0;

  /** The answer of {@link Dialect#acquire} if a grant or a minimum hold has the lock. */
  public static final long TAKEN = 1;

  /**
   * The answer of {@link Dialect#acquire} if the lock is free, but another transaction has its row
   * locked, or somebody may be waiting.
   */
  public static final long UNSURE = 2;

  /** The answer of {@link ReaderStatements#leave} if the lock is free. */
  static final long FREED = 1;

  /**
   * The greatest answer of {@link ReaderStatements#leave} with which the lock is free in time, if
   * all others that share it have crashed: the time that it would be late.
   */
  public static final long SHARED_MICROS = 500_000;

  /** The place of a client that is not in the line: behind all waiters. */
  public static final long NO_PLACE = Long.MAX_VALUE;

  /**
   * The time within which a waiter must accept a lock that was handed over to it, or renew it. If
   * each answer takes a third of the default store timeout, it learns of it after at most two where
   * it polls, and renews in two and a half.
   */
  public static final long HANDED_OVER_MICROS = 8_000_000;

  /**
   * The time for which a waiter counts as alive after its client last reported it. A dead waiter
   * delays the others by no more than this.
   */
  public static final long ALIVE_MICROS = 4_000_000;

  /** An announcement that somebody waits is renewed when less than this is left of it. */
  public static final long ANNOUNCED_MICROS_MIN = ALIVE_MICROS / 2;

  /** One that has less than this left is renewed with others. */
  public static final long ANNOUNCED_MICROS_EARLY = ALIVE_MICROS / 4 * 3;

  /** The time without a report after which a waiter's row is deleted by others that leave. */
  static final long DELETED_AFTER_MICROS = 600_000_000;

  /**
   * The farthest in the future that a reported {@code alive_until} or {@code wanted_until} is
   * believed. Bounded, since the clock may have been set back after the report. More than
   * {@link #ALIVE_MICROS}, since a statement may have begun before a report that it reads.
   */
  static final long BELIEVED_MICROS = 2 * ALIVE_MICROS;

  private Protocol() {}

  /** Whether an answer of {@link Dialect#acquire} is the number of a grant. */
  public static boolean isGrant(long answer) {
    return answer > UNSURE;
  }
}
