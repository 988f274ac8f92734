package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.Timing;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.curator.framework.CuratorFramework;

/** One server in a container, for the kit. */
final class ZooKeeperFixture extends ZooKeeperAccess implements Fixture {
  /**
   * The session timeout of clients whose links are cut. A quarter of it is what a session that is
   * new is trusted for: a TTL of the kit, and enough for a busy machine to connect again.
   */
  static final Duration LINKED_SESSION_TIMEOUT = Duration.ofSeconds(24);

  /**
   * The slack has room for a session to time out: who is cut off can't delete its node itself. A
   * client that lost its connection waits up to a second before the next.
   */
  static final Timing TIMING = new Timing(
      Duration.ofMillis(4_800),
      Duration.ofMillis(1_600),
      LINKED_SESSION_TIMEOUT.plusSeconds(4),
      Duration.ofMillis(800));

  private final ServerContainer server;

  ZooKeeperFixture(ServerContainer server) {
    // A lease in a new session is trusted for a quarter of this, and must outlast a restart of the
    // server on a busy machine.
    super(ZooKeeperServer.address(server), ZooKeeperServer.SESSION_TIMEOUT_MAX);
    this.server = server;
  }

  @Override
  public Timing timing() {
    return TIMING;
  }

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.complementOf(EnumSet.of(Capability.CALLER_TRANSACTIONS));
  }

  @Override
  public String whyNot(Capability missing) {
    return "ZooKeeper has no transaction that stays open";
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(ZooKeeperLocks.builder(framework())::openStore, tap);
  }

  @Override
  public Link newLink() {
    return FaultProxy.open(server.host(), server.port());
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    FaultProxy proxy = (FaultProxy) link;
    CuratorFramework throughLink = Frameworks.open(
        ZooKeeperServer.address(proxy.host(), proxy.port()), LINKED_SESSION_TIMEOUT);
    link.onClose(throughLink);
    return ZooKeeperLocks.builder(throughLink);
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
  }

  @Override
  public void startServer() {
    server.startAgain();
    Frameworks.awaitConnection(framework());
  }

  @Override
  public ChildProcess.Entry childProcess() {
    return new ChildProcess.Entry(
        ZooKeeperAccessFactory.class, List.of(ZooKeeperServer.address(server)));
  }

  @Override
  public Map<String, Long> leftovers() throws Exception {
    return nodes();
  }

  @Override
  public void close() {
    super.close();
    server.close();
  }
}
