package io.holdfast.lock.zookeeper;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.LeaseGuard;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;

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
   * Applies all of the operations, or none if the lease does not stand.
   *
   * @param framework of the same chroot; the operations are of its {@code transactionOp()}
   * @throws LockLostException the lease does not stand at the server, and nothing was written
   * @throws Exception what Curator throws; after a lost connection it may have been applied
   */
  public List<CuratorTransactionResult> commit(CuratorFramework framework, CuratorOp... operations)
      throws Exception {
    List<CuratorOp> all = new ArrayList<>(operations.length + 1);
    all.add(check(framework));
    all.addAll(List.of(operations));
    try {
      List<CuratorTransactionResult> results = framework.transaction().forOperations(all);
      return results.subList(1, results.size());
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
    } catch (KeeperException.SessionExpiredException e) {
      LockLostException lost = guard.lost();
      lost.addSuppressed(e);
      throw lost;
    }
  }
}
