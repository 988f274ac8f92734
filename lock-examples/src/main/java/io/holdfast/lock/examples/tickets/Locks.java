package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.time.Duration;
import javax.sql.DataSource;

/** The lock client as every process of the demo has it. */
final class Locks {
  /** A table of its own, so that the demo touches nobody else's locks. */
  static final String TABLE = "holdfast_demo_lock";

  /** Short, since we are going to wait for it; the default is 30 s. */
  static final Duration TTL = Duration.ofSeconds(3);

  static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  private Locks() {}

  static LockClient open(DataSource dataSource, String clientName, SchemaMode schema) {
    return JdbcLocks.builder(dataSource)
        .table(TABLE)
        .schema(schema)
        .clientName(clientName)
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }
}
