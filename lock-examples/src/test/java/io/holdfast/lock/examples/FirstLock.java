package io.holdfast.lock.examples;

// tag::first-lock[]
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.time.Duration;

public class FirstLock {
  public static void main(String[] args) throws Exception {
    try (HikariDataSource pool = new HikariDataSource()) {
      pool.setJdbcUrl(args[0]); // jdbc:postgresql://localhost/test?user=me&password=secret
      try (LockClient locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
        DistributedLock lock = locks.get("orders/42");
        try (Lease lease = lock.lockWithin(Duration.ofSeconds(2))) {
          System.out.println("It is mine, with token " + lease.token());
        }
      }
    }
  }
}
// end::first-lock[]
