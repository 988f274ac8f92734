package io.holdfast.lock.jdbc.dialect;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Databases that speak the protocol of another one and use its name. They lock rows differently or
 * lack what the statements need, so they are refused by name until they are tested.
 */
final class LookAlikes {
  /** The databases' names, by a part of their description in lower case. */
  private static final Map<String, String> NAMES = Map.of(
      "cockroachdb", "CockroachDB",
      "-yb-", "YugabyteDB",
      "yugabyte", "YugabyteDB",
      "tidb", "TiDB",
      "aurora dsql", "Aurora DSQL");

  /** The address of a database that claims to be PostgreSQL; only its host name reveals it. */
  private static final Pattern DSQL_HOST = Pattern.compile("//[^/?]*\\.dsql\\..*");

  private LookAlikes() {}

  /**
   * Refuses such a database.
   *
   * @param description the database's description of itself
   * @throws IllegalStateException the database is one of them
   */
  static void refuse(String description) {
    String lower = description.toLowerCase(Locale.ROOT);
    NAMES.forEach((part, name) -> {
      if (lower.contains(part)) {
        throw refused(name);
      }
    });
  }

  /** Refuses such a database by its address, which is null if it is not known. */
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
