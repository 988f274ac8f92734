package io.holdfast.lock.consul;

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
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** A Consul server for the kit. */
class ConsulFixture extends ConsulAccess implements Fixture {
  /**
   * The times for a session that is no shorter than 10 s. The slack has room for its end: up to two
   * TTLs, and one more for what its holder may still trust. The store timeout has room for an
   * acquire of three writes that each wait for the disk.
   */
  static final Timing TIMING = new Timing(
      Duration.ofSeconds(6),
      Duration.ofSeconds(2),
      Duration.ofSeconds(30),
      Timing.defaults().quiet());

  private final ServerContainer server;
  private final TestHttp http;

  ConsulFixture(ServerContainer server) {
    super(ConsulServer.address(server));
    this.server = server;
    this.http = new TestHttp(ConsulServer.address(server));
  }

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.complementOf(EnumSet.of(Capability.CALLER_TRANSACTIONS, Capability.SEMAPHORES));
  }

  @Override
  public String whyNot(Capability missing) {
    return missing == Capability.CALLER_TRANSACTIONS
        ? "Consul's transactions are one request each, so none is ever open around a lock"
        : "Consul has no semaphores so far";
  }

  @Override
  public Timing timing() {
    return TIMING;
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(ConsulLocks.builder(client(), address())::openStore, tap);
  }

  @Override
  public Link newLink() {
    return FaultProxy.open(server.host(), server.port());
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    return ConsulLocks.builder(client(), addressOf(link));
  }

  static String addressOf(Link link) {
    FaultProxy proxy = (FaultProxy) link;
    return "http://" + proxy.host() + ":" + proxy.port();
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
  }

  @Override
  public ChildProcess.Entry childProcess() {
    return new ChildProcess.Entry(ConsulAccessFactory.class, List.of(address()));
  }

  @Override
  public Map<String, Long> leftovers() throws IOException {
    return Map.of("keys", (long) http.keys("holdfast").size(), "sessions", (long)
        http.sessions().size());
  }

  @Override
  public void close() {
    super.close();
    server.close();
  }
}
