package io.holdfast.lock.jdbc.dialect;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Databases that speak the protocol of another and call themselves by its name. They lock rows
 * otherwise or lack what the statements need, so they are refused by name until they are tested.
 */
final class LookAlikes {
  /** By a part of what they say of themselves, in lower case. */
  private static final Map<String, String> NAMES = Map.of(
      "cockroachdb", "CockroachDB",
      "-yb-", "YugabyteDB",
      "yugabyte", "YugabyteDB",
      "tidb", "TiDB",
      "aurora dsql", "Aurora DSQL");

  /** Says that it is PostgreSQL; its host's name tells. */
  private static final Pattern DSQL_HOST = Pattern.compile("//[^/?]*\\.dsql\\..*");

  private LookAlikes() {}

  /**
   * Refuses one of them.
   *
   * @param description what the database says of itself
   * @throws IllegalStateException it is one
   */
  static void refuse(String description) {
    String lower = description.toLowerCase(Locale.ROOT);
    NAMES.forEach((part, name) -> {
      if (lower.contains(part)) {
        throw refused(name);
      }
    });
  }

  /** As {@link #refuse}, by the address of the database; null: not known. */
  static void refuseAt(@Nullable String url) {
    if (url != null && DSQL_HOST.matcher(url.toLowerCase(Locale.ROOT)).find()) {
      throw refused("Aurora DSQL");
    }
  }

  private static IllegalStateException refused(String name) {
    return new IllegalStateException("The database is "
        + name
        + ", which speaks like one that Holdfast knows and locks rows otherwise. It has not been"
        + " tested, and a lock that only seems to work is worse than none. Use MySQL, MariaDB or"
        + " PostgreSQL itself for the locks");
  }
}
