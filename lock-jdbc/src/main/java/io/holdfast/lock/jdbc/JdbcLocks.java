package io.holdfast.lock.jdbc;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Locks in a table of your SQL database: MySQL, MariaDB, PostgreSQL or H2.
 *
 * <pre>{@code
 * try (LockClient locks = JdbcLocks.builder(dataSource).build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>The tables are made by a script in this jar, or by {@link SchemaMode#CREATE}.
 *
 * <p>A client keeps one connection of the pool for itself, to renew leases even when the
 * application has exhausted the pool, and on PostgreSQL a second one while somebody waits. All
 * others are borrowed for one statement: none is held while a lease is, or while waiting.
 */
public final class JdbcLocks {
  static final String DEFAULT_TABLE = "holdfast_lock";

  /** The longest that MySQL and PostgreSQL both take, with "_waiter" behind it. */
  private static final String TABLE_NAME = "[A-Za-z_][A-Za-z0-9_]{0,55}";

  private static final Pattern TABLE =
      Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?" + TABLE_NAME);

  private JdbcLocks() {}

  /**
   * Begins a client on the database behind this data source.
   *
   * @param dataSource your pool, which stays yours to close. The pool itself, not a proxy that
   *     knows transactions: what locks write must be committed at once, and never with your data.
   *     Spring's {@code TransactionAwareDataSourceProxy} and {@code LazyConnectionDataSourceProxy}
   *     are seen through: what they wrap is used
   */
  public static Builder builder(DataSource dataSource) {
    return new Builder(Objects.requireNonNull(dataSource));
  }

  /** It goes into statements as it is, so nothing but identifiers may pass. */
  static String checkTable(String table) {
    if (!TABLE.matcher(table).matches()) {
      throw new IllegalArgumentException(
          "A table is a name of at most 56 ASCII letters, digits and underscores that begins with no"
              + " digit, perhaps with a schema of at most 63 and a dot before it; this is '"
              + table
              + "'");
    }
    return table;
  }

  /** Makes a client of a SQL database. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private static final Duration UNUSED_FOR_MIN = Duration.ofHours(1);
    private static final Duration UNUSED_FOR_MAX = Duration.ofDays(36_500);

    private final DataSource dataSource;
    private String table = DEFAULT_TABLE;
    private SchemaMode schema = SchemaMode.VALIDATE;
    private boolean withoutAutoCommit;
    private @Nullable Boolean notifications;

    private Builder(DataSource dataSource) {
      this.dataSource = dataSource;
    }

    /**
     * The table, with its schema before a dot if it is not in the connection's own; default
     * {@code holdfast_lock}. Those who wait are in a second one, whose name has {@code _waiter} at
     * its end. Written into statements without quotes.
     *
     * @throws IllegalArgumentException not a name of at most 56 letters, digits and underscores,
     *     with or without a schema of at most 63
     */
    public Builder table(String table) {
      this.table = checkTable(table);
      return this;
    }

    /** What to do about the table; default {@link SchemaMode#VALIDATE}. */
    public Builder schema(SchemaMode mode) {
      this.schema = Objects.requireNonNull(mode);
      return this;
    }

    /**
     * Affirms that the data source is the pool itself, and that it gives connections without
     * autocommit because it is configured so, never because they are inside a transaction. Holdfast
     * then commits what it writes. Said of a transaction-aware proxy, this would commit your data.
     */
    public Builder rawPoolWithoutAutoCommit() {
      this.withoutAutoCommit = true;
      return this;
    }

    /**
     * Whether threads that wait for a lock are woken by PostgreSQL's notifications; without them
     * they look again after some milliseconds, as on the other databases. By default they are,
     * unless a pooler such as PgBouncer is between here and the server.
     *
     * @param used true: also behind a pooler, which must keep sessions (PgBouncer's
     *     {@code pool_mode=session}), or notifications pile up in the application's connections.
     *     False: never, and nothing is asked about it
     */
    public Builder notifications(boolean used) {
      this.notifications = used;
      return this;
    }

    /**
     * Deletes the rows of locks that nobody had, wanted or released for this long; safe while locks
     * are in use. Tokens keep rising, unless the database's clock is set back by more than this.
     * Makes no client; call it now and then from a job of yours.
     *
     * @param unusedFor at least an hour
     * @return how many rows were deleted
     * @throws IllegalArgumentException less than an hour, or more than 100 years
     * @throws IllegalStateException the table or the data source can't be used
     * @throws LockStoreException the database gave no usable answer; some may have been deleted
     */
    public long purge(Duration unusedFor) {
      if (unusedFor.compareTo(UNUSED_FOR_MIN) < 0 || unusedFor.compareTo(UNUSED_FOR_MAX) > 0) {
        throw new IllegalArgumentException(
            "Only locks that were unused for an hour to 100 years can be purged, not " + unusedFor);
      }
      try {
        return JdbcStore.purge(settings(), unusedFor);
      } catch (StoreException e) {
        throw new LockStoreException("", "The purge of " + table + " failed: " + e.getMessage(), e);
      }
    }

    @Override
    protected LockStore openStore(StoreSettings storeSettings) throws StoreException {
      return JdbcStore.open(settings(), storeSettings);
    }

    private JdbcStore.Settings settings() {
      return new JdbcStore.Settings(dataSource, table, schema, withoutAutoCommit, notifications);
    }
  }
}
