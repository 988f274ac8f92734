package io.holdfast.lock.jdbc.dialect;

/** The texts for MariaDB, where they differ from those for MySQL. */
final class MariaDbTexts extends MySqlTexts {
  private static final String SET_STATEMENT = "SET STATEMENT ";
  /** The beginning of a statement that fails at once if a row is locked. */
  static final String WITHOUT_WAITING = SET_STATEMENT + "innodb_lock_wait_timeout = 0 FOR ";

  MariaDbTexts(String table) {
    super(table);
  }

  @Override
  String template(Template template) {
    String text = super.template(template);
    return switch (template) {
      case UPDATE_ONE ->
        WITHOUT_WAITING + "UPDATE {table} l SET {set} WHERE name = :key AND {condition}";
      case UPDATE_ONE_WAITING ->
        SET_STATEMENT + "innodb_lock_wait_timeout = " + Template.ROW_WAIT_SECONDS + " FOR " + text;
      case ACQUIRE -> WITHOUT_WAITING + "UPDATE {table} SET " + TAKE_OR_TELL + " WHERE name = :key";
      case HAND_OVER -> WITHOUT_WAITING + text;
      case FIRST_OR_FAIL -> "FOR UPDATE";
      case FIRST_UNLOCKED -> "FOR UPDATE SKIP LOCKED";
      default -> text;
    };
  }

  @Override
  String limited(String sql, long millis) {
    String limit = SET_STATEMENT + "lock_wait_timeout = " + seconds(millis);
    return sql.startsWith(SET_STATEMENT)
        ? limit + ", " + sql.substring(SET_STATEMENT.length())
        : limit + " FOR " + sql;
  }
}
