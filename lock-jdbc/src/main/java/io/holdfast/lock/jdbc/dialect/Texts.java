package io.holdfast.lock.jdbc.dialect;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The SQL texts of one kind of database, for one table of locks and one of waiters: what it spells
 * in its own way, and the parts that all databases share.
 */
abstract class Texts {
  /** The form of a part of a text. */
  private static final Pattern PART = Pattern.compile("\\{([a-z ]+)}");

  /** The parameters that the database can't always know to be texts. */
  private static final Set<String> TEXTS = Set.of("owner", "holder", "tag", "freed");

  /** The most names that one statement of a listing reads, so that each statement is short. */
  static final int PAGE = 10_000;

  final String table;
  private final Map<String, String> shared;

  Texts(String table) {
    this.table = table;
    shared = Map.ofEntries(
        Map.entry("table", table),
        Map.entry("waiters", waiters(table)),
        Map.entry("columns", Row.COLUMNS),
        Map.entry(
            "row",
            "{table}"
                + " (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)"),
        // The waiters a in the line of lock l.
        Map.entry(
            "line",
            "FROM {waiters} a WHERE a.name = l.name AND a.place > l.served AND {alive waiter}"),
        Map.entry("alive waiter", "a.alive_until BETWEEN {now} AND {now} + {believed}"),
        // With one look at the clock: MySQL's driver would prepare a text of more than 2,048
        // characters each time that it is used.
        Map.entry("unwanted", "wanted_until - {now} NOT BETWEEN 0 AND {believed}"),
        Map.entry(
            "to be announced",
            "expires_at > {now}"
                + " AND wanted_until - {now} NOT BETWEEN {announced} AND {believed}"),
        // Not used for this time. Never true of the version's row, whose changed_at is 0.
        Map.entry(
            "unused",
            "changed_at > 0 AND changed_at < {now} - :unused AND expires_at < {now} - :unused"
                + " AND wanted_until < {now}"),
        // The list has this owner; the end of its entry, as a text; the list without it.
        Map.entry("inside", "owner = '*' AND POSITION(:owner IN readers) > 0"),
        Map.entry(
            "own end",
            "SUBSTRING(readers FROM POSITION(:owner IN readers) + " + Reader.OWNER_LENGTH + " FOR "
                + Reader.DIGITS + ")"),
        Map.entry("rest", "REGEXP_REPLACE(readers, CONCAT({owner}, '[^;]*;'), '')"),
        Map.entry(
            "left",
            "CASE WHEN readers = '' THEN 1 ELSE 2 + ABS(expires_at - CAST(SUBSTRING(readers FROM "
                + (Reader.OWNER_LENGTH + 1) + " FOR " + Reader.DIGITS + ") AS DECIMAL(20))) END"),
        Map.entry("held", "CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', ''))"),
        // The number of permits that the last entry's tag tells, and that the claim's does.
        Map.entry(
            "last of",
            "SUBSTRING(readers FROM CHAR_LENGTH(readers) - " + PermitTag.LENGTH + " FOR "
                + PermitTag.OF_LENGTH + ")"),
        Map.entry("of", "SUBSTRING({tag} FROM 1 FOR " + PermitTag.OF_LENGTH + ")"),
        Map.entry("kept", Reader.KEPT),
        Map.entry("any end", "'" + ".".repeat(Reader.DIGITS) + "'"),
        Map.entry("list max", String.valueOf(Reader.LIST_MAX)),
        Map.entry("alive", String.valueOf(Protocol.ALIVE_MICROS)),
        Map.entry("announced", String.valueOf(Protocol.ANNOUNCED_MICROS_MIN)),
        Map.entry("deleted after", String.valueOf(Protocol.DELETED_AFTER_MICROS)),
        Map.entry("believed", String.valueOf(Protocol.BELIEVED_MICROS)),
        Map.entry("handed", String.valueOf(Protocol.HANDED_OVER_MICROS)),
        Map.entry("page", String.valueOf(PAGE)),
        Map.entry("batch", String.valueOf(Protocol.BATCH_MAX)));
  }

  /** Returns the name of the table of waiters beside a table of locks. */
  static String waiters(String table) {
    return table + "_waiter";
  }

  /** Returns this database's text. */
  abstract String template(Template template);

  /**
   * Returns the text of {@link Template#UPDATE_ONE} or {@link Template#ACQUIRE} with those of these
   * parts that it has.
   */
  String updateOne(Template template, String condition, String set, String reported) {
    return template(template)
        .replace("{set}", set)
        .replace("{condition}", condition)
        .replace("{reported}", reported);
  }

  /**
   * Returns a text about a reader as one about many rows, with another reader in each: that of
   * {@code :owners} at the place that the row's name has in {@code :keys}.
   */
  final String ofEach(String text) {
    return text.replace("{inside}", part("inside", false))
        .replace("{own end}", part("own end", false))
        .replace("{owner}", ":owner")
        .replace(":owner", "CASE name :pairs END");
  }

  /**
   * Returns one more column, with a comma, that has the server end the transaction if its client
   * does not commit soon; empty if the database can't do that in a statement.
   */
  String bounded() {
    return "";
  }

  /** Returns a parameter as a text, where the database can't know that it is one. */
  String text(String parameter) {
    return parameter;
  }

  /**
   * Returns one more column, with a comma, that has the transaction not wait for the server's disk;
   * empty if the database can't do that in a statement.
   */
  String unsynced() {
    return "";
  }

  /**
   * Returns one more column, with a comma, that notifies the first in the line of the lock that was
   * updated; empty if the database does not notify.
   *
   * @param condition whether to do so, unless nobody is announced
   * @param more what to send after the owner id
   */
  String notifyFirst(String condition, String more) {
    return "";
  }

  /** Returns a statement whose wait for what other sessions have locked the server limits. */
  String limited(String sql, long millis) {
    return sql;
  }

  /** Whether the limit is a statement of its own, in front of the other. */
  boolean limitsInFront() {
    return false;
  }

  /**
   * Fills in the parts of a text, each named in braces, and theirs. What is left are parameters.
   *
   * @param explicit whether the statement waits for a commit
   */
  final String fill(String text, boolean explicit) {
    return PART.matcher(text)
        .replaceAll(
            part -> Matcher.quoteReplacement(fill(part(part.group(1), explicit), explicit)));
  }

  private String part(String name, boolean explicit) {
    if (name.equals("bounded")) {
      return explicit ? bounded() : "";
    }
    if (name.equals("unsynced")) {
      return unsynced();
    }
    if (TEXTS.contains(name)) {
      return text(":" + name);
    }
    String text = shared.get(name);
    return text != null
        ? text
        : template(Template.valueOf(name.toUpperCase(Locale.ROOT).replace(' ', '_')));
  }
}
