/** Distributed locks in a SQL database: MySQL, MariaDB, PostgreSQL and H2. */
@SuppressWarnings("requires-automatic") // PostgreSQL's driver: its name is in its manifest.
module io.holdfast.lock.jdbc {
  requires transitive io.holdfast.lock;
  requires transitive java.sql;
  requires org.slf4j;
  requires static org.jspecify;
  requires static org.postgresql.jdbc;

  exports io.holdfast.lock.jdbc;
}
