package io.holdfast.lock.redis;

import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.util.List;
import redis.clients.jedis.HostAndPort;

/** A child process's way to a server: host, port. */
@SuppressWarnings("exports") // Only child processes of the tests load it.
public final class RedisAccessFactory implements StoreAccessFactory {
  private static final int POOL_SIZE = 8;

  /** For the child process. */
  public RedisAccessFactory() {}

  @Override
  public StoreAccess open(List<String> arguments) {
    return new RedisAccess(
        new HostAndPort(arguments.get(0), Integer.parseInt(arguments.get(1))), POOL_SIZE);
  }
}
