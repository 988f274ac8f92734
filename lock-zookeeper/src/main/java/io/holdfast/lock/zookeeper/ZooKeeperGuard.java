package io.holdfast.lock.zookeeper;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.LeaseGuard;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.TypeAndPath;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.Stat;

/**
 * Makes writes in the same ZooKeeper apply only while a lease stands, whatever the clocks did: a
 * holder that was frozen past its time and woke up can't write.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock()) {
 *   ZooKeeperGuard.of(lease).commit(
 *       client, client.transactionOp().setData().forPath("/stock", stock));
 * }
 * }</pre>
 *
 * <p>The server checks the lease's node and makes the writes in one step, so a guard has no end and
 * needs no {@code close()}. A lease that a guard was ever opened on is not handed on to another
 * thread locally, since the server could not tell the two apart.
 *
 * <p>Threads: safe for all.
 */
public final class ZooKeeperGuard {
  private final LeaseGuard<ZooKeeperGrant> guard;
  private final String path;

  private ZooKeeperGuard(LeaseGuard<ZooKeeperGrant> guard) {
    this.guard = guard;
    this.path = guard.grant().node().path();
  }

  /**
   * A guard on a lease of {@link ZooKeeperLocks}. No I/O.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   */
  public static ZooKeeperGuard of(Lease lease) {
    // Closed at once: the lease's close() need not wait, since the check is part of the write.
    try (LeaseGuard<ZooKeeperGrant> guard = LeaseGuard.open(lease, ZooKeeperGrant.class)) {
      return new ZooKeeperGuard(guard);
    }
  }

  /**
   * The operation to put into a {@code multi} of your own, on a {@code ZooKeeper} handle with the
   * same chroot: with it, the {@code multi} fails with {@code NoNode} once the lease does not
   * stand.
   */
  public Op check() {
    return Op.check(path, -1);
  }

  /**
   * The same for a transaction of Curator's.
   *
   * @param framework of the same chroot; its namespace does not matter
   */
  public CuratorOp check(CuratorFramework framework) throws Exception {
    CuratorFramework whole = framework.usingNamespace(null);
    return whole.transactionOp().check().forPath(path);
  }

  /**
   * Applies all of the operations, or none if the lease does not stand. They are sent once: unlike
   * Curator's own transactions, they are not sent again when the connection is lost.
   *
   * @param framework of the same chroot; the operations are of its {@code transactionOp()}
   * @throws LockLostException the lease does not stand at the server, and nothing was written
   * @throws KeeperException.ConnectionLossException the answer was lost: everything was written, or
   *     nothing. Read what you wanted to write, under this lease or the next, before you go on
   * @throws KeeperException.SessionExpiredException the same, and the framework's session is over
   * @throws KeeperException.RequestTimeoutException the same: the answer took longer than
   *     {@code zookeeper.request.timeout}, if you set that
   * @throws InterruptedException the same: the thread was interrupted, and the answer not waited
   *     for
   * @throws Exception what else ZooKeeper throws; nothing was written
   */
  public List<CuratorTransactionResult> commit(CuratorFramework framework, CuratorOp... operations)
      throws Exception {
    // Begins with a connection that works. What a server that lags behind says does not matter.
    Stat unused = framework.usingNamespace(null).checkExists().forPath(path);
    List<Op> all = new ArrayList<>(operations.length + 1);
    all.add(check());
    for (CuratorOp operation : operations) {
      all.add(operation.get());
    }
    try {
      List<OpResult> results = framework.getZookeeperClient().getZooKeeper().multi(all);
      return results(framework, operations, results.subList(1, results.size()));
    } catch (KeeperException.NoNodeException e) {
      List<OpResult> results = e.getResults();
      if (results != null
          && !results.isEmpty()
          && results.get(0) instanceof OpResult.ErrorResult error
          && error.getErr() == Code.NONODE.intValue()) {
        LockLostException lost = guard.lost();
        lost.addSuppressed(e);
        throw lost;
      }
      throw e;
    }
  }

  /** As Curator tells them. */
  private static List<CuratorTransactionResult> results(
      CuratorFramework framework, CuratorOp[] operations, List<OpResult> results) {
    List<CuratorTransactionResult> told = new ArrayList<>(results.size());
    for (int i = 0; i < results.size(); i++) {
      TypeAndPath asked = operations[i].getTypeAndPath();
      String path = null;
      Stat stat = null;
      if (results.get(i) instanceof OpResult.CreateResult created) {
        path = withoutNamespace(framework, created.getPath());
        stat = created.getStat();
      } else if (results.get(i) instanceof OpResult.SetDataResult set) {
        stat = set.getStat();
      }
      told.add(new CuratorTransactionResult(asked.getType(), asked.getForPath(), path, stat));
    }
    return told;
  }

  private static String withoutNamespace(CuratorFramework framework, String path) {
    String namespace = framework.getNamespace();
    String prefix = "/" + namespace + "/";
    return namespace != null && !namespace.isEmpty() && path.startsWith(prefix)
        ? path.substring(prefix.length() - 1)
        : path;
  }
}
