package io.holdfast.lock.zookeeper;

import io.holdfast.lock.SemaphoreClientBuilder;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.util.List;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Locks, read-write locks and semaphores in ZooKeeper, through your Curator framework and in its
 * session.
 *
 * <pre>{@code
 * try (LockClient locks = ZooKeeperLocks.builder(curatorFramework).build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>A lease belongs to the framework's session: if that ends, all leases of all clients on it are
 * lost. Between two confirmations, a lease is trusted for at most half of the session timeout,
 * whatever its TTL. If a holder crashes, the name stays taken until its session has timed out.
 *
 * <p>The server's answers arrive on the framework's event thread, so a listener or watcher of yours
 * that blocks there delays the locks too.
 */
public final class ZooKeeperLocks {
  static final String DEFAULT_PATH = "/holdfast";

  private ZooKeeperLocks() {}

  /**
   * Returns a builder of a client in the session of this framework.
   *
   * @param framework must be started; close it yourself, after the lock client: its close loses all
   *     leases. Its namespace, chroot, authentication and ACL provider apply to the locks too
   */
  public static Builder builder(CuratorFramework framework) {
    return new Builder(Objects.requireNonNull(framework));
  }

  /** Builds clients on ZooKeeper. */
  public static final class Builder extends SemaphoreClientBuilder<Builder> {
    private final CuratorFramework framework;
    private String path = DEFAULT_PATH;
    private @Nullable List<ACL> acl;

    private Builder(CuratorFramework framework) {
      this.framework = framework;
    }

    /**
     * Sets the path of the locks, within the framework's namespace; the default is
     * {@code /holdfast}. It is created if it is missing, with the ACL that the framework's provider
     * gives for it; all nodes below get the ACL that it has.
     *
     * @throws IllegalArgumentException not an absolute path, or the root
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
     * Sets the ACL of the nodes below the path; the default is the path's own ACL. Set it here if
     * the path's ACL names digests and the session lacks the right ADMIN, without which it can't
     * read that ACL in full. Every client of these locks needs all rights except ADMIN, and all
     * clients should set the same ACL.
     *
     * @throws IllegalArgumentException the ACL is empty, so that nobody could use the locks
     */
    public Builder acl(List<ACL> acl) {
      if (acl.isEmpty()) {
        throw new IllegalArgumentException("The ACL is empty: nobody could use the locks");
      }
      this.acl = List.copyOf(acl);
      return this;
    }

    @Override
    protected PermitStore openStore(StoreSettings settings) throws StoreException {
      return ZooKeeperStore.open(framework, path, acl, settings);
    }
  }
}
