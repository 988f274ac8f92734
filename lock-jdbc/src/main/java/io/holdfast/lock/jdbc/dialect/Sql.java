package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
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

  /** The parameters that are stored names. */
  private static final Set<String> KEYS = Set.of("key", "keys", "from", "below");

  /** The factor between two lengths that lists are padded to, from 1 on. */
  private static final int PADDING = 8;

  private final Dialect dialect;
  private final String template;

  /** By the length of lists, which is negative in a transaction that waits for a commit. */
  private final Map<Integer, Text> texts = new ConcurrentHashMap<>();

  Sql(Dialect dialect, String template) {
    this.dialect = dialect;
    this.template = template;
  }

  /**
   * The text for lists of one length.
   *
   * @param parameters the names of the parameters, in the order of their places
   */
  private record Text(String sql, int listSize, List<String> parameters) {}

  /** Returns this statement with a text in place of this name in braces. */
  Sql with(String name, String text) {
    return new Sql(dialect, template.replace('{' + name + '}', text));
  }

  /** Whether the text begins like this. */
  boolean beginsWith(String text) {
    return template.startsWith(text);
  }

  /** Does {@link #prepare(Connection, int, Map)} for a statement that reports no keys. */
  PreparedStatement prepare(Connection connection, Map<String, ?> values) throws SQLException {
    return prepare(connection, Statement.NO_GENERATED_KEYS, values);
  }

  /**
   * Prepares the statement and sets its parameters. Values of other parameters are ignored, so that
   * statements that differ in this way can be run by the same code.
   *
   * @param generatedKeys whether they are reported, as in {@link Connection#prepareStatement}
   * @param values the parameters by name: a number, a text, or a list of either
   */
  PreparedStatement prepare(Connection connection, int generatedKeys, Map<String, ?> values)
      throws SQLException {
    int size = values.get("keys") instanceof List<?> list ? list.size() : 1;
    Text text = text(size, !connection.getAutoCommit());
    PreparedStatement statement = connection.prepareStatement(text.sql(), generatedKeys);
    boolean set = false;
    try {
      int place = 1;
      for (String name : text.parameters()) {
        if (values.get(name) instanceof List<?> list) {
          for (int i = 0; i < text.listSize(); i++) {
            set(statement, place++, name, list.get(Math.min(i, list.size() - 1)));
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

  /** @param explicit whether the statement waits for a commit */
  private Text text(int size, boolean explicit) {
    int padded = 1;
    while (padded < size) {
      padded *= PADDING;
    }
    int listSize = padded;
    return texts.computeIfAbsent(explicit ? -listSize : listSize, key -> build(listSize, explicit));
  }

  private Text build(int listSize, boolean explicit) {
    String list = String.join(",", Collections.nCopies(listSize, "?"));
    List<String> parameters = new ArrayList<>();
    Matcher matcher = PARAMETER.matcher(
        dialect.fill(template).replace("{bounded}", explicit ? dialect.bounded() : ""));
    String sql = matcher.replaceAll(match -> {
      parameters.add(match.group(1));
      return LISTS.contains(match.group(1)) ? list : "?";
    });
    return new Text(sql, listSize, parameters);
  }
}
