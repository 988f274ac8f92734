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
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.curator.framework.CuratorFramework;

/** Three servers in containers, for the kit. */
final class EnsembleFixture extends ZooKeeperAccess implements Fixture {
  /** The part of the kit that each build runs on an ensemble; the rest takes more time. */
  static final Set<Capability> BRIEF = EnumSet.of(
      Capability.TAP,
      Capability.GUARDED_WRITES,
      Capability.LEFTOVERS,
      Capability.READ_WRITE,
      Capability.SEMAPHORES);

  static final Set<Capability> ALL = EnumSet.complementOf(EnumSet.of(
      Capability.CALLER_TRANSACTIONS,
      Capability.SERVER_PAUSE,
      Capability.SERVER_RESTART,
      Capability.DURABLE));

  private final Ensemble ensemble;
  private final Set<Capability> capabilities;

  /** The port of the server that links lead to, which is not the leader. */
  private final int follower;

  EnsembleFixture(Ensemble ensemble, Set<Capability> capabilities) {
    super(ensemble.address());
    this.ensemble = ensemble;
    this.capabilities = capabilities;
    this.follower = ensemble.port(ensemble.follower());
  }

  @Override
  public Timing timing() {
    return ZooKeeperFixture.TIMING;
  }

  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  @Override
  public String whyNot(Capability missing) {
    return switch (missing) {
      case CALLER_TRANSACTIONS -> "ZooKeeper has no transaction that stays open";
      case SERVER_PAUSE, SERVER_RESTART, DURABLE ->
        "an ensemble outlives a server: EnsembleTest shows how";
      default -> "shown on one server, and on three by EnsembleFaultsSoakTest";
    };
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(ZooKeeperLocks.builder(framework())::openStore, tap);
  }

  @Override
  public Link newLink() {
    return FaultProxy.open(ensemble.host(), follower);
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    FaultProxy proxy = (FaultProxy) link;
    CuratorFramework throughLink = Frameworks.open(
        ZooKeeperServer.address(proxy.host(), proxy.port()),
        ZooKeeperFixture.LINKED_SESSION_TIMEOUT);
    link.onClose(throughLink);
    return ZooKeeperLocks.builder(throughLink);
  }

  @Override
  public ChildProcess.Entry childProcess() {
    return new ChildProcess.Entry(ZooKeeperAccessFactory.class, List.of(ensemble.address()));
  }

  @Override
  public Map<String, Long> leftovers() throws Exception {
    return nodes();
  }

  @Override
  public void close() {
    super.close();
    ensemble.close();
  }
}
