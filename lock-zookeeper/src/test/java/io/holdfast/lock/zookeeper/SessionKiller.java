package io.holdfast.lock.zookeeper;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** Ends a session at the server: a second handle of it is closed. */
final class SessionKiller {
  private static final int ATTEMPTS_MAX = 20;

  private SessionKiller() {}

  static void expire(CuratorFramework framework, String address) throws Exception {
    end(Frameworks.handle(framework), address);
  }

  static void end(ZooKeeper zk, String address) throws Exception {
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (isOverOrClose(zk, address)) {
        return;
      }
    }
    throw new AssertionError("The session does not end");
  }

  /**
   * Whether the server says that the session is over. If not it is closed, perhaps in vain: the
   * first handle, which the second has driven out, may come back and drive that one out.
   */
  private static boolean isOverOrClose(ZooKeeper zk, String address) throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    AtomicBoolean over = new AtomicBoolean();
    ZooKeeper twin = new ZooKeeper(
        address,
        zk.getSessionTimeout(),
        event -> {
          if (event.getState() == KeeperState.Expired) {
            over.set(true);
          }
          if (over.get() || event.getState() == KeeperState.SyncConnected) {
            answered.countDown();
          }
        },
        zk.getSessionId(),
        zk.getSessionPasswd());
    if (!answered.await(30, TimeUnit.SECONDS)) {
      throw new AssertionError("The twin of the session got no connection");
    }
    twin.close();
    return over.get();
  }
}
