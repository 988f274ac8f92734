package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Confirms that nodes exist, with a {@code multi} of {@code check} operations for as many as fit
 * into one request. That is a write, so a majority confirms it; a read could be answered by a
 * server that is cut off from the majority.
 */
final class Confirmer {
  /** The most characters of paths in one request; the server refuses packets of a megabyte. */
  private static final int BATCH_CHARS_MAX = 200_000;

  private final Wire wire;
  private final SessionTrust trust;

  Confirmer(Wire wire, SessionTrust trust) {
    this.wire = wire;
    this.trust = trust;
  }

  /**
   * Confirms which nodes exist.
   *
   * @return those that exist, each with the time for which its session is certain to live
   * @throws StoreException there is no answer, or it is not known how long the session lives
   */
  Map<OwnNode, SessionTrust.Lifetime> confirm(List<OwnNode> nodes, Deadline deadline)
      throws StoreException {
    Map<OwnNode, SessionTrust.Lifetime> trusted = new HashMap<>();
    int from = 0;
    while (from < nodes.size()) {
      List<OwnNode> batch = new ArrayList<>();
      for (int chars = 0; from < nodes.size() && chars < BATCH_CHARS_MAX; from++) {
        batch.add(nodes.get(from));
        chars += nodes.get(from).path().length();
      }
      SessionTrust.Lifetime lives = confirmBatch(batch, deadline);
      batch.forEach(node -> trusted.put(node, lives));
    }
    return trusted;
  }

  /**
   * Asks about a batch, and removes from it the nodes that turn out to be gone, until all the
   * others exist.
   *
   * @return for how long the session of the existing nodes is certain to live; it means nothing if
   *     there are none
   */
  private SessionTrust.Lifetime confirmBatch(List<OwnNode> batch, Deadline deadline)
      throws StoreException {
    boolean anyGone = false;
    while (true) {
      ZooKeeper zk = wire.handle();
      long session = zk.getSessionId();
      // A session that was replaced is no longer kept alive.
      batch.removeIf(node -> node.session() != session);
      if (batch.isEmpty()) {
        return new SessionTrust.Lifetime(Duration.ZERO, deadline.startNanos());
      }
      List<Op> ops = batch.stream().map(node -> Op.check(node.path(), -1)).toList();
      SessionTrust.Request request = trust.request(zk);
      Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
      if (answer.isOk()) {
        SessionTrust.Lifetime trusted = trust.noteConfirmed(request);
        if (trusted.lives().isZero()) {
          throw SessionTrust.outOfTouch();
        }
        return trusted;
      } else if (answer.isSessionOver()) {
        batch.clear();
      } else if (answer.isAbsent()) {
        batch.remove(Wire.firstFailed(answer));
        if (anyGone) {
          removeGone(zk, batch, deadline);
        }
        anyGone = true;
      } else if (answer.isConnectionLost()) {
        trust.noteDisconnected(request);
        wire.pauseBeforeRetry(answer, deadline);
      } else {
        throw answer.failure();
      }
    }
  }

  /**
   * Removes the nodes that are gone, of which there seem to be several: a request for each would
   * take too long. A session never sees an earlier state than it saw before, so any server is
   * believed that one of its nodes is gone.
   */
  private void removeGone(ZooKeeper zk, List<OwnNode> batch, Deadline deadline)
      throws StoreException {
    List<CompletableFuture<Answer<Stat>>> answers =
        batch.stream().map(node -> Wire.stat(zk, node.path())).toList();
    Iterator<OwnNode> nodes = batch.iterator();
    for (CompletableFuture<Answer<Stat>> answer : answers) {
      OwnNode unused = nodes.next();
      if (wire.await(answer, deadline).isAbsent()) {
        nodes.remove();
      }
    }
  }
}
