package io.holdfast.lock.zookeeper;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** Ends a session at the server: a second handle of it is closed. */
final class SessionKiller {
  private SessionKiller() {}

  static void expire(CuratorFramework framework, String address) throws Exception {
    end(Frameworks.handle(framework), address);
  }

  static void end(ZooKeeper zk, String address) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper twin = new ZooKeeper(
        address,
        zk.getSessionTimeout(),
        event -> {
          if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
            connected.countDown();
          }
        },
        zk.getSessionId(),
        zk.getSessionPasswd());
    if (!connected.await(30, TimeUnit.SECONDS)) {
      throw new AssertionError("The twin of the session got no connection");
    }
    twin.close();
  }
}
