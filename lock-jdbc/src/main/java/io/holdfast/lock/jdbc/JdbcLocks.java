package io.holdfast.lock.jdbc;

import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.SemaphoreClientBuilder;
import io.holdfast.lock.spi.PermitStore;
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
 * <p>The tables are created by a script in this jar, or by {@link SchemaMode#CREATE}.
 *
 * <p>A client keeps one connection of the pool for itself, so that leases are renewed even if the
 * application has exhausted the pool. On PostgreSQL it keeps a second one while threads wait. All
 * other connections are borrowed for one statement only: neither a lease nor a wait holds one.
 *
 * <p>To build a client takes four or five requests, and more if the tables are created. Each may
 * take the whole store timeout.
 */
public final class JdbcLocks {
  static final String DEFAULT_TABLE = "holdfast_lock";

  /**
   * The pattern of table names: at most 56 characters, so that MySQL and PostgreSQL both accept the
   * name with "_waiter" appended.
   */
  private static final String TABLE_NAME = "[A-Za-z_][A-Za-z0-9_]{0,55}";

  private static final Pattern TABLE =
      Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?" + TABLE_NAME);

  private JdbcLocks() {}

  /**
   * Returns a builder of a client on the database of this data source.
   *
   * @param dataSource your connection pool, which the client does not close. Pass the pool itself
   *     and not a transaction-aware proxy: what locks write must be committed at once, and never
   *     with your data. Given Spring's {@code TransactionAwareDataSourceProxy} or
   *     {@code LazyConnectionDataSourceProxy}, the data source inside is used
   */
  public static Builder builder(DataSource dataSource) {
    return new Builder(Objects.requireNonNull(dataSource));
  }

  /** Checks a table name. It is put into statements unquoted, so only identifiers are allowed. */
  static String checkTable(String table) {
    if (!TABLE.matcher(table).matches()) {
      throw new IllegalArgumentException(
          ("A table is a name of at most 56 ASCII letters, digits and underscores that begins with no"
                  + " digit, perhaps with a schema of at most 63 and a dot before it; this is '%s'")
              .formatted(table));
    }
    return table;
  }

  /** Builds clients on a SQL database. */
  public static final class Builder extends SemaphoreClientBuilder<Builder> {
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
     * Sets the name of the lock table, with its schema and a dot before it if that is not the
     * connection's own; the default is {@code holdfast_lock}. Waiters are in a second table, with
     * the same name and {@code _waiter} appended. The names are put into statements without quotes.
     *
     * @throws IllegalArgumentException not a name of at most 56 letters, digits and underscores,
     *     with or without a schema of at most 63
     */
    public Builder table(String table) {
      this.table = checkTable(table);
      return this;
    }

    /**
     * Sets what the client does about its tables when it is built; the default is
     * {@link SchemaMode#VALIDATE}.
     */
    public Builder schema(SchemaMode mode) {
      this.schema = Objects.requireNonNull(mode);
      return this;
    }

    /**
     * Confirms that the data source is the pool itself, and that it gives connections without
     * autocommit because it is configured to, and never because they are in a transaction. Holdfast
     * then commits what it writes. Never set this for a transaction-aware proxy: it would commit
     * your data.
     */
    public Builder rawPoolWithoutAutoCommit() {
      this.withoutAutoCommit = true;
      return this;
    }

    /**
     * Sets whether PostgreSQL's notifications wake threads that wait for a lock. Without them, a
     * client polls every few milliseconds or more, as on the other databases. By default
     * notifications are used, unless a pooler such as PgBouncer is between the client and the
     * server.
     *
     * @param used true to use them even behind a pooler, which must then keep sessions (PgBouncer's
     *     {@code pool_mode=session}), or notifications pile up in the application's connections;
     *     false never to use them
     */
    public Builder notifications(boolean used) {
      this.notifications = used;
      return this;
    }

    /**
     * Deletes the rows of locks that have not been held, waited for or released for this long; safe
     * while locks are in use. Tokens keep rising, unless the database's clock is set back by more
     * than this time. Builds no client. Call it from a scheduled job now and then.
     *
     * @param unusedFor at least an hour
     * @return the number of rows that were deleted
     * @throws IllegalArgumentException less than an hour, or more than 100 years
     * @throws IllegalStateException the table or the data source can't be used
     * @throws LockStoreException the database gave no usable answer; some rows may have been
     *     deleted
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
    protected PermitStore openStore(StoreSettings storeSettings) throws StoreException {
      return JdbcStore.open(settings(), storeSettings);
    }

    private JdbcStore.Settings settings() {
      return new JdbcStore.Settings(dataSource, table, schema, withoutAutoCommit, notifications);
    }
  }
}
