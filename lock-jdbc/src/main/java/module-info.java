/** Distributed locks in a SQL database: MySQL, MariaDB, PostgreSQL and H2. */
// The drivers of PostgreSQL and MySQL, whose module names are in their manifests or files.
@SuppressWarnings("requires-automatic")
module io.holdfast.lock.jdbc {
  requires transitive io.holdfast.lock;
  requires transitive java.sql;
  requires org.slf4j;
  requires static org.jspecify;
  requires static com.zaxxer.hikari;
  requires static mysql.connector.j;
  requires static org.mariadb.jdbc;
  requires static org.postgresql.jdbc;

  exports io.holdfast.lock.jdbc;
}
