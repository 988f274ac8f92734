package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The statements that only shared locks need, as {@link Dialect} has the others; semaphores use
 * {@link #createRow} and {@link #tidy}. Some wait for a locked row: only readers have that of a
 * lock that is shared, and for a moment, since they have no guards.
 */
public final class ReaderStatements {
  /** The longest wait for a locked row, where the database can limit it. */
  public static final long ROW_WAIT_NANOS = TimeUnit.SECONDS.toNanos(Template.ROW_WAIT_SECONDS);

  private final Dialect dialect;

  public ReaderStatements(Dialect dialect) {
    this.dialect = dialect;
  }

  /** Inserts the row of a lock that has none yet; the lock is free. */
  public void createRow(Connection connection, String key) throws SQLException {
    try {
      dialect.sql(LockStatement.CREATE_ROW).update(connection, Map.of("key", key));
    } catch (SQLException e) {
      if (dialect.failure(e) != Failure.DUPLICATE) {
        throw e;
      }
    }
  }

  /**
   * Does {@link Dialect#take} beside readers that were just seen. Unless the database limits a wait
   * for a row, it does not wait: it would let a reader in whose client has given up meanwhile, and
   * who then is inside until its time is over.
   *
   * @param mayWait whether there is time to wait for a row that one of them has locked
   */
  public long takeBeside(Connection connection, StoredClaim claim, long place, boolean mayWait)
      throws SQLException {
    LockStatement take = mayWait && dialect.limitsWaitsForRows()
        ? LockStatement.TAKE_BESIDE_READERS
        : LockStatement.TAKE_TO_READ;
    return dialect.runForReport(connection, dialect.sql(take), dialect.ofClaim(claim, place));
  }

  /**
   * Ends a reader's grant, even if its time is over, and frees the lock if it was the last and
   * nobody can be in its line.
   *
   * @param mayWait whether there is time to wait for a locked row. If the database can't limit
   *     that, it is not done for a while after a statement had no answer in time, or sessions would
   *     pile up
   * @return {@link Protocol#NONE} if it did nothing: call {@link Dialect#handOver}. Above
   *     {@link Protocol#SHARED_MICROS} if the lock may end later than its readers: {@link #tidy} it
   */
  public long leave(Connection connection, StoredClaim claim, boolean mayWait) throws SQLException {
    boolean waits = mayWait && (dialect.limitsWaitsForRows() || dialect.waitMillis() == 0);
    LockStatement leave = waits ? LockStatement.LEAVE_READERS_WAITING : LockStatement.LEAVE_READERS;
    return dialect.runForReport(connection, dialect.sql(leave), claim.grant(Protocol.NONE, 0));
  }

  /**
   * Has a shared lock end with the last of its readers, and no longer show those whose time is
   * over.
   *
   * @param row the row, as it was read
   * @return whether it did; not if the list has changed since, or the row is locked
   */
  public boolean tidy(Connection connection, Row row) throws SQLException {
    List<Reader> reading = row.reading();
    Map<String, ?> values = Map.of(
        "key", row.key(),
        "readers", Reader.format(row.readers()),
        "owner", reading.isEmpty() ? "" : Reader.SHARED,
        "end", Math.max(Protocol.FREED, row.lastEndMicros()),
        "rest", Reader.format(reading));
    return dialect.runForReport(connection, dialect.sql(LockStatement.TIDY), values)
        != Protocol.NONE;
  }
}
