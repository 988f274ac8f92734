package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.util.List;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Locks in ZooKeeper, on the framework and in the session that you have.
 *
 * <pre>{@code
 * try (LockClient locks = ZooKeeperLocks.builder(curatorFramework).build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>A lease lives in the framework's session: if that ends, all leases of all clients on it are
 * lost. Between two confirmations a lease is trusted for half of the session's timeout at most,
 * whatever its TTL. A holder that crashed blocks others until its session has timed out.
 *
 * <p>Answers of the server arrive on the framework's event thread: a listener or watcher of yours
 * that blocks there holds up the locks too.
 */
public final class ZooKeeperLocks {
  static final String DEFAULT_PATH = "/holdfast";

  private ZooKeeperLocks() {}

  /**
   * Begins a client in the session of this framework.
   *
   * @param framework started, and yours to close, after the lock client. Its namespace, chroot,
   *     authentication and ACL provider hold for the locks too
   */
  public static Builder builder(CuratorFramework framework) {
    return new Builder(Objects.requireNonNull(framework));
  }

  /** Makes a client in ZooKeeper. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final CuratorFramework framework;
    private String path = DEFAULT_PATH;
    private @Nullable List<ACL> acl;

    private Builder(CuratorFramework framework) {
      this.framework = framework;
    }

    /**
     * Where the locks are, within the framework's namespace; default {@code /holdfast}. Made if it
     * is missing, with the ACL that the framework's provider gives for it; all nodes under it get
     * the same ACL that it has.
     *
     * @throws IllegalArgumentException no absolute path, or the root
     */
    public Builder path(String path) {
      PathUtils.validatePath(path);
      if (path.equals("/")) {
        throw new IllegalArgumentException(
            "The locks need a path of their own, such as " + DEFAULT_PATH + ", not '/'");
      }
      this.path = path;
      return this;
    }

    /**
     * The ACL of the nodes below the path. Default: the one that the path has, which a session
     * without the right ADMIN there can't read in full where it names digests. Every client of
     * these locks needs all rights in it but ADMIN, and all clients should be told the same.
     *
     * @throws IllegalArgumentException it is empty, so that nobody could use the locks
     */
    public Builder acl(List<ACL> acl) {
      if (acl.isEmpty()) {
        throw new IllegalArgumentException("The ACL is empty: nobody could use the locks");
      }
      this.acl = List.copyOf(acl);
      return this;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      return ZooKeeperStore.open(framework, path, acl, settings);
    }
  }
}
