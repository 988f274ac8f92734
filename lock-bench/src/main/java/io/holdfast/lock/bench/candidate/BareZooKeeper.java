package io.holdfast.lock.bench.candidate;

import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * The usual ZooKeeper recipe with the bare driver: create and list, sent back to back, and a
 * delete.
 */
final class BareZooKeeper implements Client {
  private static final String ROOT = "/bench-floor";
  private static final int SESSION_MILLIS = 60_000;
  private static final byte[] NOTHING = {};

  private final ZooKeeper zooKeeper;
  private final Gate gate = new Gate();

  BareZooKeeper(String url) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    zooKeeper = new ZooKeeper(url, SESSION_MILLIS, event -> {
      if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
        connected.countDown();
      }
    });
    connected.await();
    createIfAbsent(ROOT);
  }

  private void createIfAbsent(String path) throws KeeperException, InterruptedException {
    try {
      zooKeeper.create(path, NOTHING, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    } catch (KeeperException.NodeExistsException e) {
      // Another client was first.
    }
  }

  @Override
  public Mutex mutex(String name) throws Exception {
    String folder = ROOT + "/" + name;
    createIfAbsent(folder);
    ReentrantLock local = gate.of(name);
    return new Mutex() {
      private String own = "";

      @Override
      public void lock() throws Exception {
        local.lock();
        own = enter(folder);
      }

      @Override
      public void unlock() throws Exception {
        zooKeeper.delete(own, -1);
        local.unlock();
      }
    };
  }

  private String enter(String folder)
      throws KeeperException, InterruptedException, ExecutionException {
    CompletableFuture<String> created = new CompletableFuture<>();
    CompletableFuture<List<String>> listed = new CompletableFuture<>();
    zooKeeper.create(
        folder + "/",
        NOTHING,
        ZooDefs.Ids.OPEN_ACL_UNSAFE,
        CreateMode.EPHEMERAL_SEQUENTIAL,
        (code, path, context, name) -> complete(created, code, name),
        null);
    zooKeeper.getChildren(
        folder, false, (code, path, context, children) -> complete(listed, code, children), null);
    String own = created.get();
    List<String> children = listed.get();
    while (true) {
      String ahead = children.stream()
          .map(child -> folder + "/" + child)
          .filter(path -> path.compareTo(own) < 0)
          .max(Comparator.naturalOrder())
          .orElse("");
      if (ahead.isEmpty()) {
        return own;
      }
      CountDownLatch gone = new CountDownLatch(1);
      if (zooKeeper.exists(ahead, (WatchedEvent event) -> gone.countDown()) != null) {
        gone.await();
      }
      children = zooKeeper.getChildren(folder, false);
    }
  }

  private static <T> void complete(CompletableFuture<T> future, int code, T value) {
    if (code == KeeperException.Code.OK.intValue()) {
      future.complete(value);
    } else {
      future.completeExceptionally(KeeperException.create(KeeperException.Code.get(code)));
    }
  }
}
