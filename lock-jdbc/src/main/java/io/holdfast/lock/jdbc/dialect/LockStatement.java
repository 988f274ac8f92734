package io.holdfast.lock.jdbc.dialect;

import java.util.function.Function;

/**
 * The statements on the two tables that every database has. Their texts have parts in braces, which
 * {@link Texts#fill} fills in, and parameters ({@code :owner}). The methods of {@link Dialect} say
 * what they do.
 */
enum LockStatement {
  ACQUIRE(texts -> acquire(texts, "wanted_until")),
  ACQUIRE_OR_ANNOUNCE(texts ->
      acquire(texts, "CASE WHEN {to be announced} THEN {now} + {alive} ELSE wanted_until END")),
  INSERT(Template.INSERT),
  RELEASE(Template.RELEASE),
  EXTEND(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      "owner = :owner AND number = :number AND expires_at > {now} + {late}",
      "expires_at = {now} + {report}(GREATEST(expires_at - {now}, :ttl))",
      "expires_at - {now}")),

  HAND_OVER(Template.FIRST_OR_FAIL, "owner = :owner AND number = :number", "TRUE"),
  HAND_OVER_TO_UNLOCKED(Template.FIRST_UNLOCKED, "owner = :owner AND number = :number", "TRUE"),
  WITHDRAW(Template.FIRST_OR_FAIL, "owner = :owner", "FALSE"),
  WITHDRAW_TO_UNLOCKED(Template.FIRST_UNLOCKED, "owner = :owner", "FALSE"),
  FORCE_RELEASE(Template.FIRST_OR_FAIL, LockStatement.OF_NUMBER, "FALSE"),
  FORCE_RELEASE_TO_UNLOCKED(Template.FIRST_UNLOCKED, LockStatement.OF_NUMBER, "FALSE"),

  JOIN(Template.JOIN),
  TRY_WAITING(Template.TRY_WAITING),
  TAKE(texts -> {
    String handedOver = "owner = :owner AND expires_at > {now}";
    return texts.updateOne(
        Template.UPDATE_ONE,
        "(" + handedOver + " OR expires_at <= {now} AND served < :place"
            + " AND NOT EXISTS (SELECT 1 {line} AND a.place < :place))",
        // MySQL makes assignments from left to right, so the columns that tell the cases apart come
        // last.
        "number = {report}(CASE WHEN " + handedOver
            + " THEN number ELSE GREATEST(number + 1, {now}) END),"
            + " changed_at = CASE WHEN " + handedOver + " THEN changed_at ELSE {now} END,"
            + " served = GREATEST(served, :served), holder = :holder,"
            + " owner = :owner, expires_at = {now} + :ttl",
        "number");
  }),

  // Readers.

  /**
   * The list counts only while the lock is shared: what takes it for one grant leaves it as it is.
   * The newest entry is the first. MySQL makes assignments from left to right, so a column that
   * others read comes after them.
   */
  TAKE_TO_READ(texts -> takeToRead(texts, Template.UPDATE_ONE)),
  TAKE_BESIDE_READERS(texts -> takeToRead(texts, Template.UPDATE_ONE_WAITING)),
  /**
   * Reports 1 if the lock is free; else how much later it ends than the newest entry that is left,
   * and 2. MySQL reports a value that it assigns, after all other assignments.
   */
  LEAVE_READERS(texts -> leaveReaders(texts, Template.UPDATE_ONE)),
  LEAVE_READERS_WAITING(texts -> leaveReaders(texts, Template.UPDATE_ONE_WAITING)),
  HAND_OVER_BY_READER(Template.FIRST_OR_FAIL, "{inside} AND {rest} = ''", "TRUE"),
  HAND_OVER_BY_READER_TO_UNLOCKED(Template.FIRST_UNLOCKED, "{inside} AND {rest} = ''", "TRUE"),
  EXTEND_READER(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      "{inside} AND {own end} > CONCAT('', {now} + {late})",
      "expires_at = GREATEST(expires_at,"
          + " {now} + {report}(GREATEST(CAST({own end} AS DECIMAL(20)) - {now}, :ttl))),"
          + " readers = REGEXP_REPLACE(readers, CONCAT({owner}, {any end}),"
          + " CONCAT({owner}, GREATEST({own end}, CONCAT('', {now} + :ttl))))",
      "CAST({own end} AS DECIMAL(20)) - {now}")),
  RENEW_READERS(texts -> texts.ofEach(updateUnlocked(
      texts,
      "name IN (:keys) AND {inside} AND {own end} > CONCAT('', {now} + {late})",
      "readers = REGEXP_REPLACE(readers, CONCAT({owner}, {any end}), CONCAT({owner}, {now} + :ttl)),"
          + " expires_at = GREATEST(expires_at, {now} + :ttl)"))),
  TIDY(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      "owner = '*' AND readers = :readers",
      "owner = :owner, expires_at = {report}(:end), readers = :rest",
      "expires_at")),

  // Permits: entries of their semaphore's list, each with a tag at its end.

  /**
   * There are no more than N, since each entry has a permit of its own, of the same N. Who takes
   * one from the line leaves it, and tells the next if another permit is free.
   */
  TAKE_PERMIT(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      enterable("POSITION(CONCAT({tag}, ';') IN readers) = 0 AND {last of} = {of}", ""),
      enter("{tag}, ';'") + ", served = GREATEST(served, :served)",
      "number" + texts.notifyFirst("{held} < :permits", "''"))),
  LEAVE_PERMIT(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      "{inside}",
      leave("1"),
      "1{unsynced}" + texts.notifyFirst("TRUE", "{freed}"))),
  /** The entry's owner is no claim's any more. */
  KEEP_PERMIT(texts -> texts.updateOne(
      Template.UPDATE_ONE,
      "{inside}",
      "expires_at = GREATEST(expires_at, {now} + :hold),"
          + " readers = REGEXP_REPLACE(readers, CONCAT({owner}, {any end}),"
          + " CONCAT('{kept}', SUBSTRING({owner} FROM 2), {now} + :hold)),"
          + " guarded = guarded + 0 * {report}(1)",
      "1")),

  FIRST_IN_LINE("""
      SELECT a.holder FROM {table} l JOIN {waiters} a ON a.name = l.name
      WHERE l.name = :key AND a.place > l.served AND {alive waiter} ORDER BY a.place LIMIT 1
      """),

  REOPEN_LINE(texts ->
      updateUnlocked(texts, "name IN (:keys) AND served >= :place", "served = :place - 1")),
  ANNOUNCE(texts -> updateUnlocked(
      texts, "name IN (:keys) AND expires_at > {now}", "wanted_until = {now} + {alive}")),
  KEEP_ALIVE("""
      UPDATE {waiters} SET alive_until = {now} + {alive}
      WHERE name IN (:keys) AND owner IN (:owners)
      """),
  LEAVE("""
      DELETE FROM {waiters}
      WHERE name IN (:keys) AND (owner IN (:owners) OR alive_until < {now} - {deleted after})
      """),

  RENEW(texts -> updateUnlocked(
      texts,
      "name IN (:keys) AND owner IN (:owners) AND number IN (:numbers)"
          + " AND expires_at > {now} + {late}",
      "expires_at = {now} + :ttl")),
  // The limit of a query of many rows overrides MySQL's sql_select_limit, which could cut the
  // result short. A grant whose row is missing from the result counts as lost.
  READ_ROWS("SELECT {columns} FROM {table} l WHERE l.name IN (:keys) LIMIT {batch}"),
  READ_STANDINGS("""
      SELECT {columns}, COALESCE(w.owner, ''),
        (SELECT COUNT(*) {line} AND (w.place IS NULL OR a.place < w.place)
          AND (a.mode <> 'r' OR COALESCE(w.mode, :mode) <> 'r')),
        CASE WHEN w.place > l.served THEN 1 ELSE 0 END
      FROM {table} l LEFT JOIN {waiters} w ON w.name = l.name AND w.owner IN (:owners)
      WHERE l.name IN (:keys) LIMIT {batch}
      """),
  CLAIM_ID("UPDATE {table} SET owner = :owner WHERE name = :key AND owner = ''"),

  /** Runs in a user's transaction, whose waits are the user's to limit. */
  GUARD("""
      UPDATE {table} SET guarded = guarded + 1
      WHERE name = :key AND owner = :owner AND number = :number
      """),
  GUARD_PERMIT("UPDATE {table} SET guarded = guarded + 1 WHERE name = :key AND {inside}"),
  CREATE_ROW("INSERT INTO {row} VALUES (:key, '', 0, {now}, 0, 0, 0, 0, '') {on conflict}"),
  TOUCH_ROW("UPDATE {table} SET guarded = guarded + 1, changed_at = {now} WHERE name = :key"),
  SELECT_ROW_NO_WAIT("SELECT 1 FROM {table} WHERE name = :key FOR UPDATE NOWAIT"),

  LIST_HELD("""
      SELECT {columns}, '', (SELECT COUNT(*) {line}), 0 FROM {table} l
      WHERE {name by bytes} >= :from AND {name by bytes} < :below AND l.expires_at > {now}
      ORDER BY {name by bytes} LIMIT :limit
      """),
  END_OF_PAGE("""
      SELECT name FROM {table} l WHERE {name by bytes} >= :from AND {name by bytes} < :below
      ORDER BY {name by bytes} LIMIT 1 OFFSET {page}
      """),
  LIST_UNUSED(
      "SELECT name FROM {table} WHERE name > :from AND {unused} ORDER BY name LIMIT {batch}"),
  DELETE_UNUSED(texts -> unlocked(texts, Template.DELETE_UNLOCKED, "name IN (:keys) AND {unused}")),
  DELETE_UNUSED_WAITERS("DELETE FROM {waiters} WHERE alive_until < {now} - :unused");

  /** No single reader's: that one is looked up. */
  private static final String OF_NUMBER =
      "number = :number AND expires_at > {now} AND owner <> '*'";

  @SuppressWarnings("ImmutableEnumChecker") // None of the functions has a state.
  private final Function<Texts, String> text;

  LockStatement(Function<Texts, String> text) {
    this.text = text;
  }

  LockStatement(String text) {
    this(texts -> text);
  }

  LockStatement(Template template) {
    this(texts -> texts.template(template));
  }

  /** Makes a hand-over of locks for which the condition holds. */
  LockStatement(Template first, String condition, String forgettable) {
    this(texts -> texts
        .template(Template.HAND_OVER)
        .replace("{condition}", condition)
        .replace("{forgettable}", forgettable)
        .replace("{first}", texts.template(first)));
  }

  /** Whether it runs in a user's transaction. */
  boolean isOfUser() {
    return this == GUARD || this == GUARD_PERMIT;
  }

  /** Returns the text for a database, to be filled in. */
  String text(Texts texts) {
    return text.apply(texts);
  }

  /**
   * The assignments and the report are not those of MySQL and MariaDB, which have
   * {@code MySqlTexts.TAKE_OR_TELL}.
   */
  private static String acquire(Texts texts, String wanted) {
    return texts
        .updateOne(
            Template.ACQUIRE,
            "expires_at <= {now} AND {unwanted}",
            "number = {report}(GREATEST(number + 1, {now})), owner = :owner, changed_at = {now},"
                + " expires_at = {now} + :ttl, holder = :holder",
            "number")
        .replace("{wanted}", wanted);
  }

  private static String takeToRead(Texts texts, Template template) {
    String room = "CHAR_LENGTH(readers) < {list max}";
    return texts.updateOne(template, enterable(room, " AND a.mode = 'w'"), enter("';'"), "number");
  }

  /**
   * Makes the condition for a new entry in the list.
   *
   * @param room the condition for one beside others
   * @param ahead the condition for those in line that go first
   */
  private static String enterable(String room, String ahead) {
    return "(expires_at <= {now} OR owner = '*' AND " + room
        + " AND POSITION(:owner IN readers) = 0) AND served < :place"
        + " AND NOT EXISTS (SELECT 1 {line}" + ahead + " AND a.place < :place)";
  }

  /**
   * Makes the assignments for a new entry in the list, which begins anew if nobody's time is left.
   *
   * @param end the end of the entry
   */
  private static String enter(String end) {
    return "readers = CONCAT({owner}, {now} + :ttl, GREATEST(number + 1, {now}), {holder}, " + end
        + ", CASE WHEN owner = '*' AND expires_at > {now} THEN readers ELSE '' END),"
        + " number = {report}(GREATEST(number + 1, {now})), owner = '*', changed_at = {now},"
        + " holder = :holder, expires_at = GREATEST(expires_at, {now} + :ttl)";
  }

  private static String leaveReaders(Texts texts, Template template) {
    return texts.updateOne(
        template, "{inside} AND ({rest} <> '' OR {unwanted})", leave("{left}"), "{left}{unsynced}");
  }

  private static String leave(String reported) {
    return "owner = CASE WHEN {rest} = '' THEN '' ELSE '*' END, changed_at = {now},"
        + " expires_at = CASE WHEN {rest} = '' THEN 1 ELSE expires_at END,"
        + " readers = {rest}, guarded = guarded + 0 * {report}(" + reported + ")";
  }

  private static String updateUnlocked(Texts texts, String where, String set) {
    return unlocked(texts, Template.UPDATE_UNLOCKED, where).replace("{set}", set);
  }

  private static String unlocked(Texts texts, Template template, String where) {
    return texts
        .template(template)
        .replace("{unlocked}", texts.template(Template.UNLOCKED))
        .replace("{where}", where);
  }
}
