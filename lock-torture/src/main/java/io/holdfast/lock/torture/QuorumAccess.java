package io.holdfast.lock.torture;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.redis.RedisLocks;
import java.util.List;
import redis.clients.jedis.RedisClient;

/** A quorum of independent Redis servers. It has no guard, and so no logs. */
final class QuorumAccess implements Access {
  private final List<RedisClient> clients;

  QuorumAccess(List<Address> servers) {
    this.clients = servers.stream().map(RedisAccess::client).toList();
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return RedisLocks.quorum(clients);
  }

  @Override
  public void close() {
    clients.forEach(RedisClient::close);
  }
}
