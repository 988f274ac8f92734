package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import redis.clients.jedis.RedisClient;

/** Independent servers for the kit. */
final class QuorumFixture implements Fixture {
  private static final int POOL_SIZE = 60;

  private final ManyServers servers;
  private final List<RedisClient> clients;

  QuorumFixture(int count) throws Exception {
    this.servers = ManyServers.independent(count);
    this.clients = IntStream.range(0, count)
        .mapToObj(i -> RedisAccess.kitClient(servers.address(i), POOL_SIZE))
        .toList();
  }

  @Override
  public Set<Capability> capabilities() {
    return Set.of(Capability.TAP, Capability.LEFTOVERS);
  }

  @Override
  public String whyNot(Capability missing) {
    return missing == Capability.GUARDED_WRITES
        ? "no single server of a quorum knows who holds a lock"
        : "what differs on a quorum has tests of its own";
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return RedisLocks.quorum(clients);
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(RedisLocks.quorum(clients)::openStore, tap);
  }

  @Override
  public Map<String, Long> leftovers() {
    Map<String, Long> left = new HashMap<>();
    for (int i = 0; i < clients.size(); i++) {
      RedisClient client = clients.get(i);
      left.put(
          "names taken on server " + i,
          client.keys("holdfast:*").stream()
              .filter(key -> Stored.isTaken(client, key))
              .count());
      left.put("connections to server " + i + " in use", (long) client.getPool().getNumActive());
    }
    return left;
  }

  @Override
  public void close() {
    clients.forEach(RedisClient::close);
    servers.close();
  }
}
