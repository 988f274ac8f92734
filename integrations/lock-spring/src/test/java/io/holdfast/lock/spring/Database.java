package io.holdfast.lock.spring;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.time.Duration;
import javax.sql.DataSource;

/** A database, and the clients and pools that are made for it. */
record Database(String url, String user, String password) {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  HikariDataSource pool() {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(user);
    config.setPassword(password);
    config.setMaximumPoolSize(8);
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  static LockClient locks(DataSource pool, String name) {
    return JdbcLocks.builder(pool)
        .clientName(name)
        .storeTimeout(STORE_TIMEOUT)
        .schema(SchemaMode.CREATE)
        .build();
  }
}
