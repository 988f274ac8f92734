package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.spring.boot.HoldfastProperties.TableMode;
import java.io.Closeable;
import java.io.IOException;
import java.util.Locale;
import javax.sql.DataSource;

/**
 * A SQL database, through a data source.
 *
 * @param own whether the data source was made for the locks, and is to be closed with them
 */
record JdbcSource(
    DataSource dataSource, boolean own, String described, HoldfastProperties.Jdbc properties)
    implements StoreSource, Closeable {

  @Override
  public StoreKind kind() {
    return StoreKind.JDBC;
  }

  @Override
  public LockClientBuilder<?> builder() {
    JdbcLocks.Builder builder = JdbcLocks.builder(dataSource).schema(mode());
    builder = Property.apply("holdfast.jdbc.table", properties.table(), builder::table);
    if (properties.rawPoolWithoutAutoCommit()) {
      builder = builder.rawPoolWithoutAutoCommit();
    }
    Boolean notifications = properties.notifications();
    return notifications == null ? builder : builder.notifications(notifications);
  }

  private SchemaMode mode() {
    return switch (properties.schema()) {
      case CREATE -> SchemaMode.CREATE;
      case VALIDATE -> SchemaMode.VALIDATE;
      case NONE -> SchemaMode.NONE;
    };
  }

  @Override
  public String place() {
    return "jdbc (data source: " + described + ", table " + properties.table() + ", schema "
        + properties.schema().name().toLowerCase(Locale.ROOT) + ")";
  }

  @Override
  public String whenUnreachable() {
    return "check the data source, " + described
        + ": spring.datasource.url, spring.datasource.username"
        + " and spring.datasource.password, if it is Spring Boot's";
  }

  @Override
  public String whenLate() {
    return (own
            ? "raise " + OwnPool.PROPERTY + ", which is to be at least 2"
            : "enlarge the pool of the data source, " + described
                + " (spring.datasource.hikari.maximum-pool-size, if it is Spring Boot's), or give"
                + " the locks one of their own with " + OwnPool.PROPERTY)
        + "; if the pool is not exhausted, check that the database answers at its address"
        + " (spring.datasource.url)";
  }

  @Override
  public String whenUnusable() {
    return (properties.schema() == TableMode.CREATE
            ? "run the script for your database as a user who may"
            : "run the script for your database, or let the client make its tables with"
                + " holdfast.jdbc.schema=create")
        + "; if this is about the data source, " + described + ", name another one in"
        + " holdfast.jdbc.data-source";
  }

  @Override
  public void close() throws IOException {
    if (own && dataSource instanceof Closeable pool) {
      pool.close();
    }
  }
}
