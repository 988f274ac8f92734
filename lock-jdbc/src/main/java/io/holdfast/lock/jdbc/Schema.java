package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Facts;
import io.holdfast.lock.jdbc.dialect.Failure;
import io.holdfast.lock.jdbc.dialect.Protocol;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.JDBCType;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Checks and creates the tables. */
final class Schema {
  private static final Logger log = LoggerFactory.getLogger(Schema.class);

  private static final String SCRIPTS = "schema/";
  private static final int CREATE_TRIES = 5;

  private static final List<String> NUMBERS =
      List.of("number", "changed_at", "expires_at", "wanted_until", "served", "guarded");
  private static final List<String> WAITERS_NUMBERS = List.of("place", "alive_until");
  private static final List<String> TEXTS = List.of("owner", "holder");

  private Schema() {}

  /**
   * Checks or creates the tables, as the mode says; one request if they are there. The first client
   * ever gives them an id.
   *
   * @throws IllegalStateException the tables can't be used; the message says why and what to run
   */
  static Tables prepare(Connection connection, Dialect dialect, SchemaMode mode)
      throws SQLException {
    if (mode == SchemaMode.NONE) {
      Found server = lookAtServer(connection, dialect, null);
      warn(dialect, server);
      return new Tables(server.table(), null);
    }
    SQLException failure = null;
    Found found = look(connection, dialect);
    for (int tries = 0;
        found.flaw() != null && mode == SchemaMode.CREATE && tries < CREATE_TRIES;
        tries++) {
      failure = create(connection, dialect, found.script());
      found = look(connection, dialect);
    }
    if (found.flaw() == null && found.id().isEmpty()) {
      dialect.claimId(connection, UUID.randomUUID().toString().replace("-", ""));
      found = look(connection, dialect);
    }
    if (found.flaw() == null) {
      warn(dialect, found);
      return new Tables(found.table(), found.id().isEmpty() ? null : found.id());
    }
    if (failure != null) {
      refuseSyntaxError(failure, dialect);
      throw new IllegalStateException(
          ("The table %s could not be created or altered: %s (a database user who may not? then run"
                  + " the script %s from the jar of lock-jdbc as one who may)")
              .formatted(dialect.table(), failure.getMessage(), found.script()),
          failure);
    }
    throw new IllegalStateException(
        ("The table %s can't be used for locks: %s. The script for %s is %s/%s%s in the jar of"
                + " lock-jdbc; with schema(SchemaMode.CREATE) the client runs it")
            .formatted(
                dialect.table(),
                found.flaw(),
                dialect.database(),
                Schema.class.getPackageName().replace('.', '/'),
                SCRIPTS,
                found.script()));
  }

  /**
   * Creates the tables, or their new columns. Clients that do so at once can make each other fail;
   * then one has succeeded. A statement that fails, if only since its column is there, keeps none
   * after it from being run.
   *
   * @return why one failed, or null
   */
  private static @Nullable SQLException create(
      Connection connection, Dialect dialect, String script) throws SQLException {
    SQLException failure = null;
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements(dialect, script)) {
        try {
          statement.execute(dialect.limitedDdl(sql));
        } catch (SQLException e) {
          rollBack(connection, e);
          failure = failure == null ? e : failure;
        }
      }
    }
    return failure;
  }

  /** Checks the server alone; the table's name has the schema in which it would be. */
  private static Found lookAtServer(Connection connection, Dialect dialect, @Nullable String flaw)
      throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet answer = statement.executeQuery(dialect.facts().askServer())) {
      answer.next();
      dialect.facts().checkServer(answer);
      return new Found(
          dialect.facts().qualifiedTable(answer),
          "",
          flaw,
          script(dialect),
          dialect.facts().risks(answer));
    }
  }

  private static void warn(Dialect dialect, Found found) {
    if (!found.risks().isEmpty()) {
      log.warn(
          "{} can forget a lock that it has confirmed, so that two hold it: with {} (see \"What a"
              + " crash can take\" on the page about SQL databases)",
          dialect.database(),
          String.join("; with ", found.risks()));
    }
  }

  /**
   * The tables, which are fit for use.
   *
   * @param name the name of the first, with the schema in which it is now
   * @param id their {@linkplain Dialect#readId id}; null if it was not seen
   */
  record Tables(String name, @Nullable String id) {}

  /**
   * The tables, as they were found.
   *
   * @param table the name of the first, with its schema
   * @param id their {@linkplain Dialect#readId id}
   * @param flaw what is wrong with them, or null if nothing is
   * @param script the name of the script that may mend that
   * @param risks {@link Facts#risks}
   */
  private record Found(
      String table, String id, @Nullable String flaw, String script, List<String> risks) {}

  private static Found look(Connection connection, Dialect dialect) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet answer = statement.executeQuery(dialect.facts().askTables())) {
      answer.next();
      dialect.facts().checkServer(answer);
      Map<String, Column> first = new HashMap<>();
      Map<String, Column> second = new HashMap<>();
      readColumns(answer, first, second);
      String flaw = flaw(answer, dialect, first, second);
      String script = script(dialect);
      if (flaw == null && !(first.containsKey("readers") && second.containsKey("mode"))) {
        flaw = "it lacks the columns for read-write locks";
        script = readersScript(dialect);
      }
      // The owner of the row that tells the version: this table's column is the first of that name.
      String id = flaw == null ? String.valueOf(answer.getString("owner")) : "";
      return new Found(
          dialect.facts().qualifiedTable(answer),
          id,
          flaw,
          script,
          dialect.facts().risks(answer));
    } catch (SQLException e) {
      rollBack(connection, e);
      refuseSyntaxError(e, dialect);
      String state = e.getSQLState();
      if (state != null && state.startsWith("42")) {
        String flaw = "it is missing or may not be read ("
            + String.valueOf(e.getMessage()).strip() + ")";
        return lookAtServer(connection, dialect, flaw);
      }
      throw e;
    }
  }

  private static void readColumns(
      ResultSet answer, Map<String, Column> first, Map<String, Column> second) throws SQLException {
    Map<String, Column> table = null;
    ResultSetMetaData columns = answer.getMetaData();
    for (int i = 1; i <= columns.getColumnCount(); i++) {
      String name = columns.getColumnLabel(i).toLowerCase(Locale.ROOT);
      if (table != null && !name.equals("holdfast_waiters")) {
        // Not its name: for that, PostgreSQL's driver would ask the server once more.
        table.put(name, new Column(i, JDBCType.valueOf(columns.getColumnType(i))));
      }
      if (name.equals("holdfast_keys")) {
        table = first;
      } else if (name.equals("holdfast_waiters")) {
        table = second;
      }
    }
  }

  private static @Nullable String flaw(
      ResultSet answer, Dialect dialect, Map<String, Column> first, Map<String, Column> second)
      throws SQLException {
    String flaw = columnFlaw(first, dialect, NUMBERS);
    flaw = flaw != null ? flaw : dialect.facts().flaw(answer);
    flaw = flaw != null ? flaw : versionFlaw(answer, first);
    if (flaw != null) {
      return flaw;
    }
    flaw = columnFlaw(second, dialect, WAITERS_NUMBERS);
    return flaw == null ? null : "of its second table " + dialect.waiters() + ", " + flaw;
  }

  /** A column's place in the answer, and its type. */
  private record Column(int place, JDBCType type) {}

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
      Map<String, Column> columns, Dialect dialect, List<String> numbers) {
    Column name = columns.get("name");
    if (name == null) {
      return "it has no column name";
    }
    if (name.type() != dialect.facts().nameType()) {
      return "its column name is " + name.type() + ", which may take two names for one";
    }
    for (String number : numbers) {
      Column column = columns.get(number);
      if (column == null || column.type() != JDBCType.BIGINT) {
        return "it has no column " + number + " of type BIGINT";
      }
    }
    for (String text : TEXTS) {
      if (!columns.containsKey(text)) {
        return "it has no column " + text;
      }
    }
    return null;
  }

  private static @Nullable String versionFlaw(ResultSet answer, Map<String, Column> columns)
      throws SQLException {
    long version = answer.getLong(Objects.requireNonNull(columns.get("number")).place());
    if (version == 0) {
      return "it has no row that tells its version";
    }
    return version == Protocol.SCHEMA_VERSION
        ? null
        : "its version is %s, and this release of Holdfast needs %s"
            .formatted(version, Protocol.SCHEMA_VERSION);
  }

  /** Returns the file name of the script that makes the tables. */
  static String script(Dialect dialect) {
    return dialect.scripts() + ".sql";
  }

  /** Returns the file name of the script that adds what read-write locks need to older tables. */
  static String readersScript(Dialect dialect) {
    return dialect.scripts() + "-readers.sql";
  }

  /** Returns a script's statements, with the dialect's tables in place of the default ones. */
  static String[] statements(Dialect dialect, String script) {
    try (InputStream in =
        Objects.requireNonNull(Schema.class.getResourceAsStream(SCRIPTS + script))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .replaceAll("--[^\n]*", "")
          .replace(JdbcLocks.DEFAULT_TABLE, dialect.table())
          .strip()
          .split(";\\s*");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Rolls back after a failure, which stays the one that is told. */
  private static void rollBack(Connection connection, SQLException failure) {
    try {
      if (!connection.getAutoCommit()) {
        connection.rollback();
      }
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }
}
