package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.RedisLocks;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/**
 * A lock of Redis whose key moves to a server with another clock, as the slots of a Cluster do, has
 * as much time left there.
 */
@Tag("one-jdk")
class MovedKeyTest {
  private static final Duration SHORT = Duration.ofSeconds(30);
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final long AHEAD_MILLIS = 45_000;

  @Test
  @Timeout(120)
  void permitsKeepTheTimeThatIsLeftToEachOfThem() throws Exception {
    keepsItsTime(
        "holdfast:p:{moved}",
        (locks, options) -> locks.semaphore("moved", 2, options),
        locks -> locks.semaphore("moved", 2));
  }

  @Test
  @Timeout(120)
  void readersKeepTheTimeThatIsLeftToEachOfThem() throws Exception {
    keepsItsTime(
        "holdfast:m:{moved}",
        (locks, options) -> locks.readWrite("moved", options).read(),
        locks -> locks.get("moved"));
  }

  /** Two leases of one lock, which exclude the other one. */
  private static void keepsItsTime(
      String key,
      BiFunction<LockClient, LockOptions, DistributedLock> lock,
      Function<LockClient, DistributedLock> excluded)
      throws Exception {
    TortureTest.assumeServers();
    try (Servers servers = Servers.start(StoreKind.REDIS_QUORUM);
        RedisClient home = RedisAccess.client(servers.addresses().get(0));
        RedisClient ahead = RedisAccess.client(servers.addresses().get(1));
        RedisClient behind = RedisAccess.client(servers.addresses().get(2));
        LockClient atHome = RedisLocks.builder(home).build();
        LockClient besides = RedisLocks.builder(home).build();
        LockClient there = RedisLocks.builder(ahead).build();
        LockClient farther = RedisLocks.builder(behind).build()) {
      servers.setClock(1, AHEAD_MILLIS);
      servers.setClock(2, -AHEAD_MILLIS);
      Lease shorter = take(lock.apply(atHome, LockOptions.fixed(SHORT)));
      Lease longer = take(lock.apply(besides, LockOptions.fixed(LONG)));

      move(home, servers.addresses().get(1), key);
      assertThatTheyStand(excluded.apply(there), shorter, longer);

      move(ahead, servers.addresses().get(2), key);
      assertThatTheyStand(excluded.apply(farther), shorter, longer);
    }
  }

  private static Lease take(DistributedLock lock) {
    return lock.tryLock().orElseThrow();
  }

  private static void move(RedisClient from, Address to, String key) {
    CommandArguments migrate = new CommandArguments(Protocol.Command.MIGRATE);
    List.of(to.host(), to.port(), key, 0, 5_000).forEach(migrate::add);
    Object unused = from.executeCommand(migrate);
  }

  /** The machine may have stood still meanwhile, for a third of the shorter time at most. */
  private static void assertThatTheyStand(DistributedLock lock, Lease shorter, Lease longer) {
    assertThat(lock.holders())
        .extracting(LockHolder::token)
        .containsExactly(shorter.token(), longer.token());
    assertThat(lock.holders().get(0).remaining())
        .isBetween(SHORT.multipliedBy(2).dividedBy(3), SHORT);
    assertThat(lock.holders().get(1).remaining()).isBetween(LONG.minus(SHORT.dividedBy(3)), LONG);
    assertThat(lock.tryLock()).isEmpty();
  }
}
