package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import io.holdfast.lock.testsupport.ServerContainer;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** A server for the kit. */
final class RedisFixture extends RedisAccess implements Fixture {
  private static final int POOL_SIZE = 60;
  private static final int LINK_POOL_SIZE = 4;

  private final ServerContainer server;
  private final Set<Capability> capabilities;

  private RedisFixture(ServerContainer server, Set<Capability> capabilities) {
    super(Stores.address(server), POOL_SIZE);
    this.server = server;
    this.capabilities = capabilities;
  }

  /** With all that a server can be made to do. */
  static RedisFixture whole(ServerContainer server) {
    return new RedisFixture(
        server, EnumSet.complementOf(EnumSet.of(Capability.CALLER_TRANSACTIONS)));
  }

  /** Without breaking the server or the way to it, which takes most of the time. */
  static RedisFixture unbroken(ServerContainer server) {
    return new RedisFixture(
        server,
        EnumSet.of(
            Capability.TAP,
            Capability.GUARDED_WRITES,
            Capability.LEFTOVERS,
            Capability.READ_WRITE,
            Capability.SEMAPHORES));
  }

  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  @Override
  public String whyNot(Capability missing) {
    return switch (missing) {
      case CALLER_TRANSACTIONS ->
        "a MULTI of Redis has a connection of its own and is sent as a whole";
      default -> "shown on Redis";
    };
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(RedisLocks.builder(redis())::openStore, tap);
  }

  @Override
  public Link newLink() {
    return FaultProxy.open(
        Stores.address(server).getHost(), Stores.address(server).getPort());
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    FaultProxy proxy = (FaultProxy) link;
    RedisClient throughLink =
        kitClient(new HostAndPort(proxy.host(), proxy.port()), LINK_POOL_SIZE);
    link.onClose(throughLink);
    return RedisLocks.builder(throughLink);
  }

  @Override
  public void pauseServer() {
    server.pause();
  }

  @Override
  public void resumeServer() {
    server.resume();
  }

  @Override
  public void killServer() {
    server.kill();
    // The kit's own requests are to meet no connection that has died.
    redis().getPool().clear();
  }

  @Override
  public void startServer() {
    server.startAgain();
  }

  @Override
  public ChildProcess.Entry childProcess() {
    HostAndPort address = Stores.address(server);
    return new ChildProcess.Entry(
        RedisAccessFactory.class, List.of(address.getHost(), Integer.toString(address.getPort())));
  }

  /** Numbers are kept for an hour, and then go by themselves. */
  @Override
  public Map<String, Long> leftovers() {
    return Map.of(
        "names taken or waited for",
        redis().keys("holdfast:*").stream()
            .filter(key -> Stored.isTaken(redis(), key) || Stored.waiting(redis(), key) > 0)
            .count(),
        "names without an end",
        redis().keys("holdfast:*").stream()
            .filter(key -> redis().pttl(key) == -1)
            .count(),
        "connections in use",
        (long) redis().getPool().getNumActive());
  }

  @Override
  public void close() {
    super.close();
    server.close();
  }
}
