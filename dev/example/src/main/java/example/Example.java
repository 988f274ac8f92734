package example;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.consul.ConsulLocks;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.time.Duration;
import java.util.List;
import org.h2.jdbcx.JdbcConnectionPool;

/** Two clients, as two machines would be, want one lock. */
public final class Example {
  private Example() {}

  public static void main(String[] args) throws Exception {
    JdbcConnectionPool pool = JdbcConnectionPool.create("jdbc:h2:mem:example", "sa", "");
    // A third of the TTL, which is as long as it may be: machines that check releases are busy.
    Duration patience = Duration.ofSeconds(10);
    try (LockClient ours = JdbcLocks.builder(pool)
            .schema(SchemaMode.CREATE)
            .storeTimeout(patience)
            .build();
        LockClient theirs = JdbcLocks.builder(pool).storeTimeout(patience).build()) {
      DistributedLock lock = ours.get("orders/42");
      try (Lease lease = lock.lockWithin(Duration.ofSeconds(2))) {
        boolean ran = theirs.get("orders/42").tryRun(other -> System.out.println("two at once"));
        System.out.println("token " + lease.token() + ", the other ran: " + ran);
      }
    } finally {
      pool.dispose();
    }
    // The other stores' classes are there, and so is all that they refer to.
    for (Class<?> store : List.of(RedisLocks.class, ZooKeeperLocks.class, ConsulLocks.class)) {
      System.out.println(store.getSimpleName() + ": " + store.getMethods().length + " methods");
    }
  }
}
