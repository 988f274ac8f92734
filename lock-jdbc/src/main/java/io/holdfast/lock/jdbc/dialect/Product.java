package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Locale;

/** The kinds of databases that can have locks. */
public enum Product {
  MYSQL,
  MARIADB,
  POSTGRESQL,
  H2;

  /**
   * Returns the kind of the database behind this connection. No I/O with the known drivers.
   *
   * @throws IllegalStateException the database is unknown, or only imitates a known one
   */
  public static Product of(Connection connection) throws SQLException {
    DatabaseMetaData metaData = connection.getMetaData();
    String name = metaData.getDatabaseProductName();
    // Behind MySQL's driver, a MariaDB server has the product name MySQL, and MariaDB in its
    // version.
    String description =
        (name + " " + metaData.getDatabaseProductVersion()).toLowerCase(Locale.ROOT);
    LookAlikes.refuse(description);
    LookAlikes.refuseAt(metaData.getURL());
    if (description.contains("mariadb")) {
      return MARIADB;
    }
    for (Product product : values()) {
      if (description.startsWith(product.name().toLowerCase(Locale.ROOT))) {
        return product;
      }
    }
    throw new IllegalStateException("Holdfast does not know the database '"
        + name
        + "'. It knows MySQL, MariaDB, PostgreSQL and H2");
  }

  /** Returns its statements for this table of locks and the one of waiters beside it. */
  public Dialect dialect(String table) {
    return switch (this) {
      case MYSQL -> new MySql(table);
      case MARIADB -> new MariaDb(table);
      case POSTGRESQL -> new Postgres(table);
      case H2 -> new H2(table);
    };
  }
}
