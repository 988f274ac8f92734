package io.holdfast.lock.tck.remote;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** All that the kit can do, on a server in this process. */
final class RemoteFixture extends RemoteAccess implements Fixture {
  private final RemoteServer server;

  private RemoteFixture(RemoteServer server) {
    super(server.port());
    this.server = server;
  }

  static RemoteFixture over(LockStore store) {
    return new RemoteFixture(new RemoteServer(store));
  }

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.complementOf(EnumSet.of(Capability.CALLER_TRANSACTIONS, Capability.SEMAPHORES));
  }

  @Override
  public String whyNot(Capability missing) {
    return missing == Capability.SEMAPHORES
        ? "the server has no semaphores"
        : "the server has no transactions";
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(
        settings -> new RemoteStore(server.port(), settings.storeTimeout()), tap);
  }

  @Override
  public Link newLink() {
    return FaultProxy.open("127.0.0.1", server.port());
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    return builder(((FaultProxy) link).port());
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
  public void startServer() throws IOException, InterruptedException {
    server.start();
  }

  @Override
  public ChildProcess.Entry childProcess() {
    return new ChildProcess.Entry(Factory.class, List.of(Integer.toString(server.port())));
  }

  @Override
  public Map<String, Long> leftovers() throws StoreException {
    return Map.of("grants", server.grants(), "connections", server.connections());
  }

  @Override
  public void close() {
    super.close();
    server.close();
  }
}
