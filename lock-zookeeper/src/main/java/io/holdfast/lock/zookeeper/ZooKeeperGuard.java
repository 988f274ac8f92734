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
 * Guarded writes in the ZooKeeper that has the lock: they are made only while a lease is valid
 * there, whatever clocks say. A holder that was frozen past its deadline can't write when it wakes
 * up.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock()) {
 *   ZooKeeperGuard.of(lease).commit(
 *       client, client.transactionOp().setData().forPath("/stock", stock));
 * }
 * }</pre>
 *
 * <p>The server checks the lease's node and makes the writes in one step, so a guard needs no
 * {@code close()}. A lease that ever had a guard is not handed on within the client, since the
 * server could not tell the next holder from this one.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class ZooKeeperGuard {
  private final LeaseGuard<ZooKeeperGrant> guard;
  private final String path;

  private ZooKeeperGuard(LeaseGuard<ZooKeeperGrant> guard) {
    this.guard = guard;
    this.path = guard.grant().node().path();
  }

  /**
   * Returns a guard on a lease of {@link ZooKeeperLocks}. No I/O, unless the wall clock casts doubt
   * on the lease: then the server is asked whether it is valid.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the lease is in doubt, and the server gave no
   *     usable answer
   */
  public static ZooKeeperGuard of(Lease lease) {
    // Closed at once: the lease's close() need not wait for a write, which contains the check.
    try (LeaseGuard<ZooKeeperGrant> guard = LeaseGuard.open(lease, ZooKeeperGrant.class)) {
      return new ZooKeeperGuard(guard);
    }
  }

  /**
   * Returns an operation for a {@code multi} of your own, on a {@code ZooKeeper} handle with the
   * same chroot. It makes the {@code multi} fail with {@code NoNode} if the lease is no longer
   * valid.
   */
  public Op check() {
    return Op.check(path, -1);
  }

  /**
   * Returns such an operation for a Curator transaction.
   *
   * @param framework has the same chroot; its namespace does not matter
   */
  public CuratorOp check(CuratorFramework framework) throws Exception {
    CuratorFramework withoutNamespace = framework.usingNamespace(null);
    return withoutNamespace.transactionOp().check().forPath(path);
  }

  /**
   * Carries out all of the operations, or none if the lease is no longer valid. Unlike Curator's
   * own transactions, they are sent only once, and not again if the connection is lost.
   *
   * @param framework has the same chroot; the operations must come from its {@code transactionOp()}
   * @throws LockLostException the lease is no longer valid at the server, and nothing was written
   * @throws KeeperException.ConnectionLossException the answer was lost: everything was written, or
   *     may yet be while the lease is valid there, or nothing is. Read the data, under this lease
   *     or the next, before you go on
   * @throws KeeperException.SessionExpiredException as above, and the framework's session is over
   * @throws KeeperException.RequestTimeoutException as above: the answer took longer than
   *     {@code zookeeper.request.timeout}, if that is set
   * @throws InterruptedException as above: the thread was interrupted before the answer came
   * @throws Exception any other exception of ZooKeeper; nothing was written
   */
  public List<CuratorTransactionResult> commit(CuratorFramework framework, CuratorOp... operations)
      throws Exception {
    // Makes sure that the connection works; the answer does not matter, even from a server that
    // lags behind.
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

  /** Converts the results to those of Curator. */
  private static List<CuratorTransactionResult> results(
      CuratorFramework framework, CuratorOp[] operations, List<OpResult> results) {
    List<CuratorTransactionResult> told = new ArrayList<>(results.size());
    for (int i = 0; i < results.size(); i++) {
      TypeAndPath target = operations[i].getTypeAndPath();
      String path = null;
      Stat stat = null;
      if (results.get(i) instanceof OpResult.CreateResult created) {
        path = withoutNamespace(framework, created.getPath());
        stat = created.getStat();
      } else if (results.get(i) instanceof OpResult.SetDataResult set) {
        stat = set.getStat();
      }
      told.add(new CuratorTransactionResult(target.getType(), target.getForPath(), path, stat));
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
