/** Distributed locks in a SQL database: MySQL, MariaDB, PostgreSQL and H2. */
// PostgreSQL's driver, whose module name is in its manifest.
@SuppressWarnings("requires-automatic")
module io.holdfast.lock.jdbc {
  requires transitive io.holdfast.lock;
  requires transitive java.sql;
  requires org.slf4j;
  requires static org.jspecify;
  requires static org.postgresql.jdbc;

  exports io.holdfast.lock.jdbc;
}
