package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.zookeeper.ZooKeeperGuard;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;

/** A session of ZooKeeper. Logs are sequential nodes. */
final class ZooKeeperAccess implements Access {
  private static final String LOCKS = "/holdfast";

  private static final int CONNECT_MILLIS_MAX = 2_000;

  /**
   * The number of addresses: a client waits for a connection for its session timeout divided by it,
   * so one server is named several times.
   */
  private static final int SERVERS_MIN = 6;

  private final CuratorFramework framework;

  ZooKeeperAccess(List<Address> servers) {
    // Otherwise each session first looks for Kerberos.
    System.setProperty("zookeeper.sasl.client", "false");
    List<Address> known = new ArrayList<>();
    while (known.size() < SERVERS_MIN) {
      known.addAll(servers);
    }
    framework = CuratorFrameworkFactory.builder()
        .connectString(Address.join(known))
        .sessionTimeoutMs((int) StoreKind.ZOOKEEPER_SESSION.toMillis())
        .connectionTimeoutMs(CONNECT_MILLIS_MAX)
        .retryPolicy(new RetryForever(100))
        // The addresses that the servers know each other by bypass the proxies.
        .ensembleTracker(false)
        .build();
    framework.start();
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return ZooKeeperLocks.builder(framework);
  }

  @Override
  public void prepare(List<String> names) throws Exception {
    for (String name : names) {
      framework.create().creatingParentsIfNeeded().forPath(log(name));
    }
  }

  @Override
  public void write(Lease lease, String entry) throws Exception {
    ZooKeeperGuard.of(lease)
        .commit(
            framework,
            framework
                .transactionOp()
                .create()
                .withMode(CreateMode.PERSISTENT_SEQUENTIAL)
                .forPath(log(lease.name()) + "/e", entry.getBytes(StandardCharsets.UTF_8)));
  }

  @Override
  public boolean leavesOpen(Exception failure) {
    return failure instanceof KeeperException.ConnectionLossException
        || failure instanceof KeeperException.SessionExpiredException;
  }

  @Override
  public List<String> written(String name) throws Exception {
    List<String> nodes = new ArrayList<>(children(log(name)));
    Collections.sort(nodes);
    List<String> entries = new ArrayList<>();
    for (String node : nodes) {
      byte[] data = framework.getData().forPath(log(name) + "/" + node);
      entries.add(new String(data, StandardCharsets.UTF_8));
    }
    return entries;
  }

  /** Returns nodes in queues. The node of a minimum hold may stay (docs/backends/zookeeper.md). */
  @Override
  public List<String> leftovers(String namePrefix) throws Exception {
    List<String> left = new ArrayList<>();
    for (String lock : children(LOCKS)) {
      if (lock.startsWith(namePrefix, "m-".length())) {
        children(LOCKS + "/" + lock).stream()
            .filter(node -> !node.startsWith("hold-"))
            .forEach(node -> left.add(lock + "/" + node));
      }
    }
    return left;
  }

  private List<String> children(String path) throws Exception {
    try {
      framework.sync().forPath(path);
      return framework.getChildren().forPath(path);
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    }
  }

  private static String log(String name) {
    return "/torture-log/" + name;
  }

  @Override
  public void close() {
    framework.close();
  }
}
