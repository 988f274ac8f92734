package io.holdfast.lock.jdbc.dialect;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text of a statement, and the places of its named parameters ({@code :owner} in the template).
 * To set a parameter that it does not have does nothing, so that statements that differ in this way
 * can be run by the same code; the driver refuses a statement of which a parameter was not set.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
final class Sql {
  /** The form of a parameter. After two colons there is a type. */
  private static final Pattern PARAMETER = Pattern.compile("(?<!:):([a-z]+)");

  /** The parameters that are lists. */
  private static final Set<String> LISTS = Set.of("keys", "owners");

  /** The parameters that are stored names. */
  private static final Set<String> KEYS = Set.of("key", "keys", "from", "below");

  private static final int[] NOWHERE = {};

  private final Syntax syntax;
  private final String text;
  private final int listSize;

  /** The index of each place of a parameter; of a list, that of its first element. */
  private final Map<String, int[]> places = new HashMap<>();

  /** @param listSize the length of each list */
  Sql(Syntax syntax, String template, int listSize) {
    this.syntax = syntax;
    this.listSize = listSize;
    String list = String.join(",", Collections.nCopies(listSize, "?"));
    StringBuilder built = new StringBuilder();
    Matcher matcher = PARAMETER.matcher(template);
    for (int next = 1; matcher.find(); ) {
      String name = matcher.group(1);
      boolean isList = LISTS.contains(name);
      int[] before = places.getOrDefault(name, NOWHERE);
      int[] after = Arrays.copyOf(before, before.length + 1);
      after[before.length] = next;
      places.put(name, after);
      next += isList ? listSize : 1;
      matcher.appendReplacement(built, isList ? list : "?");
    }
    text = matcher.appendTail(built).toString();
  }

  String text() {
    return text;
  }

  void set(PreparedStatement statement, String name, long value) throws SQLException {
    for (int place : places.getOrDefault(name, NOWHERE)) {
      statement.setLong(place, value);
    }
  }

  void set(PreparedStatement statement, String name, String value) throws SQLException {
    for (int place : places.getOrDefault(name, NOWHERE)) {
      set(statement, name, place, value);
    }
  }

  /** Sets a list, padded with its last element. */
  void set(PreparedStatement statement, String name, List<String> values) throws SQLException {
    for (int place : places.getOrDefault(name, NOWHERE)) {
      for (int i = 0; i < listSize; i++) {
        set(statement, name, place + i, values.get(Math.min(i, values.size() - 1)));
      }
    }
  }

  private void set(PreparedStatement statement, String name, int place, String value)
      throws SQLException {
    if (KEYS.contains(name)) {
      syntax.setKey(statement, place, value);
    } else {
      statement.setString(place, value);
    }
  }
}
