package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.ServerContainer;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterEach;

/** A test on one server; what it opened is closed after it, last first. */
abstract class ServerTest {
  final ServerContainer server;
  private final List<AutoCloseable> closeables = new ArrayList<>();

  /** On the server that such tests share. */
  ServerTest() {
    server = ZooKeeperServer.shared();
  }

  /** On a server of its own. */
  ServerTest(ServerContainer server) {
    this.server = closeLater(server);
  }

  @AfterEach
  final void closeAll() throws Exception {
    for (int i = closeables.size() - 1; i >= 0; i--) {
      closeables.get(i).close();
    }
  }

  final <T extends AutoCloseable> T closeLater(T closeable) {
    closeables.add(closeable);
    return closeable;
  }

  final CuratorFramework openFramework() {
    return closeLater(Frameworks.open(ZooKeeperServer.address(server)));
  }

  final FaultProxy openProxy() {
    return closeLater(FaultProxy.open(server.host(), server.port()));
  }

  final CuratorFramework openFramework(FaultProxy proxy) {
    return closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port())));
  }
}
