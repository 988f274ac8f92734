package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A statement with named parameters ({@code :owner} in its template). Some are lists, of equal
 * lengths, which are padded to a few lengths with their last elements, so that there are only a few
 * texts. Each text is built when it is needed.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Sql {
  /** The form of a parameter. After two colons there is a type. */
  private static final Pattern PARAMETER = Pattern.compile("(?<!:):([a-z]+)");

  /** The parameters that are lists. */
  private static final Set<String> LISTS = Set.of("keys", "owners", "numbers");

  /** The parameter that tells, for each of {@code :keys}, the one of {@code :owners}. */
  private static final String PAIRS = "pairs";

  /** The parameters that are stored names. */
  private static final Set<String> KEYS = Set.of("key", "keys", "from", "below");

  /** The factor between two lengths that lists are padded to, from 1 on. */
  private static final int PADDING = 8;

  private final Dialect dialect;
  private final String template;

  private final Map<Form, Text> texts = new ConcurrentHashMap<>();

  /** Whether it runs in a user's transaction, whose waits are the user's to limit. */
  private final boolean ofUser;

  Sql(Dialect dialect, String template) {
    this(dialect, template, false);
  }

  Sql(Dialect dialect, String template, boolean ofUser) {
    this.dialect = dialect;
    this.template = template.strip();
    this.ofUser = ofUser;
  }

  /**
   * The form of one text of the statement.
   *
   * @param listSize the length of lists
   * @param explicit whether the statement waits for a commit
   * @param waitMillis {@link Dialect#waitMillis}
   */
  private record Form(int listSize, boolean explicit, long waitMillis) {}

  /**
   * One text of the statement.
   *
   * @param isLimited whether it limits its waits
   * @param parameters the names of the parameters, in the order of their places
   */
  private record Text(String sql, boolean isLimited, int listSize, List<String> parameters) {}

  /** Reads a result. */
  @FunctionalInterface
  interface Reader<T> {
    T read(ResultSet result) throws SQLException;
  }

  /** Runs the statement, which returns rows, and reads them. */
  private <T> T query(Connection connection, Map<String, ?> values, Reader<T> reader)
      throws SQLException {
    Text text = text(connection, values);
    try (PreparedStatement statement =
            prepare(connection, text, Statement.NO_GENERATED_KEYS, values);
        ResultSet result = text.isLimited() ? limitedQuery(statement) : statement.executeQuery()) {
      dialect.checkKept(statement::getWarnings);
      return reader.read(result);
    }
  }

  /** Runs the statement, and returns the first column, or {@link Protocol#NONE} without a row. */
  long first(Connection connection, Map<String, ?> values) throws SQLException {
    return query(connection, values, result -> result.next() ? result.getLong(1) : Protocol.NONE);
  }

  /** @param reader reads one row */
  <T> List<T> rows(Connection connection, Map<String, ?> values, Reader<T> reader)
      throws SQLException {
    return query(connection, values, result -> {
      List<T> rows = new ArrayList<>();
      while (result.next()) {
        rows.add(reader.read(result));
      }
      return rows;
    });
  }

  /** Executes a text that does not look like a query, or is not the first in its request. */
  private ResultSet limitedQuery(PreparedStatement statement) throws SQLException {
    if (!executeToLast(statement)) {
      throw new SQLException("There is no result");
    }
    return statement.getResultSet();
  }

  /** Returns whether the last result has rows. */
  private boolean executeToLast(PreparedStatement statement) throws SQLException {
    boolean hasRows = statement.execute();
    return dialect.texts.limitsInFront() ? statement.getMoreResults() : hasRows;
  }

  /** Runs the statement, and returns the number of rows that the driver counts. */
  int update(Connection connection, Map<String, ?> values) throws SQLException {
    Text text = text(connection, values);
    try (PreparedStatement statement =
        prepare(connection, text, Statement.NO_GENERATED_KEYS, values)) {
      int count;
      if (!text.isLimited()) {
        // With execute(), MySQL's driver would first ask whether the session is read-only.
        count = statement.executeUpdate();
      } else if (executeToLast(statement)) {
        throw new SQLException("The result is not a count");
      } else {
        count = statement.getUpdateCount();
      }
      dialect.checkKept(statement::getWarnings);
      return count;
    }
  }

  /**
   * Runs the statement, which is no query, and returns the key that the server generated;
   * {@link Protocol#NONE} if it changed no row.
   */
  long generatedKey(Connection connection, Map<String, ?> values) throws SQLException {
    try (PreparedStatement statement =
        prepare(connection, text(connection, values), Statement.RETURN_GENERATED_KEYS, values)) {
      if (statement.executeUpdate() == 0) {
        return Protocol.NONE;
      }
      try (ResultSet keys = statement.getGeneratedKeys()) {
        if (!keys.next()) {
          throw new SQLException("The driver did not report the value of LAST_INSERT_ID");
        }
        return keys.getLong(1);
      }
    }
  }

  /** Whether the text begins like this. */
  boolean beginsWith(String text) {
    return template.startsWith(text);
  }

  /**
   * Prepares a text of the statement and sets its parameters. Values of other parameters are
   * ignored, so that statements that differ in this way can be run by the same code.
   *
   * @param generatedKeys whether they are reported, as in {@link Connection#prepareStatement}
   * @param values the parameters by name: a number, a text, or a list of either
   */
  private PreparedStatement prepare(
      Connection connection, Text text, int generatedKeys, Map<String, ?> values)
      throws SQLException {
    PreparedStatement statement = connection.prepareStatement(text.sql(), generatedKeys);
    boolean set = false;
    try {
      int place = 1;
      for (String name : text.parameters()) {
        if (name.equals(PAIRS)) {
          for (int i = 0; i < text.listSize(); i++) {
            set(statement, place++, "keys", element(values.get("keys"), i));
            set(statement, place++, "owners", element(values.get("owners"), i));
          }
        } else if (values.get(name) instanceof List<?> list) {
          for (int i = 0; i < text.listSize(); i++) {
            set(statement, place++, name, element(list, i));
          }
        } else {
          set(statement, place++, name, values.get(name));
        }
      }
      set = true;
      return statement;
    } finally {
      if (!set) {
        statement.close();
      }
    }
  }

  /** Returns an element of a list, or its last one. */
  private static @Nullable Object element(@Nullable Object values, int i) {
    List<?> list = (List<?>) Objects.requireNonNull(values);
    return list.get(Math.min(i, list.size() - 1));
  }

  private void set(PreparedStatement statement, int place, String name, @Nullable Object value)
      throws SQLException {
    if (value instanceof Long number) {
      statement.setLong(place, number);
    } else if (!(value instanceof String text)) {
      throw new IllegalArgumentException("The parameter " + name + " is " + value);
    } else if (KEYS.contains(name)) {
      dialect.setKey(statement, place, text);
    } else {
      statement.setString(place, text);
    }
  }

  private Text text(Connection connection, Map<String, ?> values) throws SQLException {
    int size = values.get("keys") instanceof List<?> list ? list.size() : 1;
    int padded = 1;
    while (padded < size) {
      padded *= PADDING;
    }
    long waitMillis = ofUser ? 0 : dialect.waitMillis();
    Form form = new Form(padded, !connection.getAutoCommit(), waitMillis);
    return texts.computeIfAbsent(form, this::build);
  }

  private Text build(Form form) {
    String list = String.join(",", Collections.nCopies(form.listSize(), "?"));
    String pairs = String.join(" ", Collections.nCopies(form.listSize(), "WHEN ? THEN ?"));
    List<String> parameters = new ArrayList<>();
    Matcher matcher = PARAMETER.matcher(dialect.texts.fill(template, form.explicit()));
    String sql = matcher.replaceAll(match -> {
      parameters.add(match.group(1));
      if (match.group(1).equals(PAIRS)) {
        return pairs;
      }
      return LISTS.contains(match.group(1)) ? list : "?";
    });
    boolean isLimited = form.waitMillis() > 0;
    String text = isLimited ? dialect.texts.limited(sql, form.waitMillis()) : sql;
    return new Text(text, isLimited, form.listSize(), parameters);
  }
}
