package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Failure;
import io.holdfast.lock.jdbc.dialect.Row;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Checks and creates the tables. */
final class Schema {
  private static final String SCRIPTS = "schema/";
  private static final int CREATE_TRIES = 5;

  private static final String NUMBER = "BIGINT";
  private static final List<String> NUMBERS =
      List.of("number", "changed_at", "expires_at", "wanted_until", "served", "guarded");
  private static final List<String> WAITERS_NUMBERS = List.of("place", "alive_until");
  private static final List<String> TEXTS = List.of("owner", "holder");

  private Schema() {}

  /**
   * Checks or creates the tables, as the mode says.
   *
   * @throws IllegalStateException the tables can't be used; the message says why and what to run
   */
  static void prepare(Connection connection, Dialect dialect, SchemaMode mode) throws SQLException {
    dialect.checkServer(connection);
    if (mode == SchemaMode.NONE) {
      return;
    }
    SQLException failure = null;
    String flaw = flaw(connection, dialect);
    for (int tries = 0;
        flaw != null && mode == SchemaMode.CREATE && tries < CREATE_TRIES;
        tries++) {
      failure = create(connection, dialect);
      flaw = flaw(connection, dialect);
    }
    if (flaw == null) {
      return;
    }
    if (failure != null) {
      refuseSyntaxError(failure, dialect);
      throw new IllegalStateException(
          ("The table %s could not be created: %s (a database user who may not create tables? then"
                  + " run the script %s from the jar of lock-jdbc as one who may)")
              .formatted(dialect.table(), failure.getMessage(), dialect.script()),
          failure);
    }
    throw new IllegalStateException(
        ("The table %s can't be used for locks: %s. The script for %s is %s/%s%s in the jar of"
                + " lock-jdbc; with schema(SchemaMode.CREATE) the client runs it")
            .formatted(
                dialect.table(),
                flaw,
                dialect.database(),
                Schema.class.getPackageName().replace('.', '/'),
                SCRIPTS,
                dialect.script()));
  }

  /**
   * Creates the tables. Clients that do so at once can make each other fail; then one has
   * succeeded.
   *
   * @return why it failed, or null
   */
  private static @Nullable SQLException create(Connection connection, Dialect dialect)
      throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String sql : script(dialect)) {
        statement.execute(sql);
      }
      return null;
    } catch (SQLException e) {
      rollBack(connection);
      return e;
    }
  }

  /** Returns what is wrong with the tables, or null if nothing is. */
  private static @Nullable String flaw(Connection connection, Dialect dialect) throws SQLException {
    try {
      String flaw = columnFlaw(connection, dialect, dialect.table(), NUMBERS);
      flaw = flaw != null ? flaw : dialect.flaw(connection);
      flaw = flaw != null ? flaw : versionFlaw(connection, dialect);
      if (flaw != null) {
        return flaw;
      }
      flaw = columnFlaw(connection, dialect, dialect.waiters(), WAITERS_NUMBERS);
      return flaw == null ? null : "of its second table " + dialect.waiters() + ", " + flaw;
    } catch (SQLException e) {
      rollBack(connection);
      refuseSyntaxError(e, dialect);
      String state = e.getSQLState();
      if (state != null && state.startsWith("42")) {
        return "it is missing or may not be read ("
            + String.valueOf(e.getMessage()).strip() + ")";
      }
      throw e;
    }
  }

  /**
   * Throws if the database did not understand a statement. Names are put into statements without
   * quotes, so the table's name may be a word of its language.
   */
  private static void refuseSyntaxError(SQLException failure, Dialect dialect) {
    if (dialect.failure(failure) == Failure.SYNTAX_ERROR) {
      throw new IllegalStateException(
          ("%s did not understand a statement: either the table's name '%s' is a word of its"
                  + " language (set another with table(...)), or the server is older than Holdfast"
                  + " supports")
              .formatted(dialect.database(), dialect.table()),
          failure);
    }
  }

  private static @Nullable String columnFlaw(
      Connection connection, Dialect dialect, String table, List<String> numbers)
      throws SQLException {
    Map<String, String> types = new HashMap<>();
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT * FROM " + table + " WHERE 1 = 0")) {
      ResultSetMetaData columns = result.getMetaData();
      for (int i = 1; i <= columns.getColumnCount(); i++) {
        boolean isNumber = columns.getColumnType(i) == Types.BIGINT;
        types.put(
            columns.getColumnName(i).toLowerCase(Locale.ROOT),
            isNumber ? NUMBER : columns.getColumnTypeName(i));
      }
    }
    String nameType = types.get("name");
    if (nameType == null) {
      return "it has no column name";
    }
    if (!dialect.isExactNameType(nameType)) {
      return "its column name is " + nameType + ", which may take two names for one";
    }
    for (String column : numbers) {
      if (!NUMBER.equals(types.get(column))) {
        return "it has no column " + column + " of type " + NUMBER;
      }
    }
    for (String column : TEXTS) {
      if (!types.containsKey(column)) {
        return "it has no column " + column;
      }
    }
    return null;
  }

  private static @Nullable String versionFlaw(Connection connection, Dialect dialect)
      throws SQLException {
    Optional<Row> row = dialect.readRow(connection, Dialect.VERSION_KEY);
    if (row.isEmpty()) {
      return "it has no row that tells its version";
    }
    long version = row.get().number();
    return version == Dialect.SCHEMA_VERSION
        ? null
        : "its version is %s, and this release of Holdfast needs %s"
            .formatted(version, Dialect.SCHEMA_VERSION);
  }

  /** Returns the script's statements, with the dialect's tables in place of the default ones. */
  static String[] script(Dialect dialect) {
    try (InputStream in =
        Objects.requireNonNull(Schema.class.getResourceAsStream(SCRIPTS + dialect.script()))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .replaceAll("--[^\n]*", "")
          .replace(JdbcLocks.DEFAULT_TABLE, dialect.table())
          .strip()
          .split(";\\s*");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void rollBack(Connection connection) throws SQLException {
    if (!connection.getAutoCommit()) {
      connection.rollback();
    }
  }
}
