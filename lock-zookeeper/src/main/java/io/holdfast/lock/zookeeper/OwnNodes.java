package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All nodes that this client has, or may have, at ZooKeeper. An ephemeral node that nobody deletes
 * lasts as long as the session, which is the application's and may last for months. So each attempt
 * is added before it is sent, and removed only when its node is known to be gone. The deletion of
 * an unwanted node is repeated until then.
 *
 * <p>Unwanted nodes are cleaned up in the background. After the client was closed this goes on for
 * the nodes that are left, until they are gone or their session would have ended without a
 * connection.
 */
final class OwnNodes {
  private static final Logger log = LoggerFactory.getLogger(OwnNodes.class);
  /**
   * The least time for which the clean-up goes on after the close; usually longer than servers let
   * a session live.
   */
  private static final long AFTER_CLOSE_NANOS_MIN = TimeUnit.MINUTES.toNanos(1);

  /**
   * The time for which a mark is kept after its end, since other clients measure its age by the
   * leader's clock.
   */
  private static final long MARK_GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Wire wire;
  private final TimeSource time;
  private final List<ACL> acl;
  private final Map<String, OwnNode> nodes = new ConcurrentHashMap<>();

  /** The paths of marks, and the times at which they may be deleted. */
  private final Map<String, Long> marks = new ConcurrentHashMap<>();

  private final Background background;

  /** The time at which the clean-up ends after the close; null: not closed. */
  private volatile @Nullable Long endsNanos;

  OwnNodes(Background background, Wire wire, TimeSource time, List<ACL> acl) {
    this.background = background;
    this.wire = wire;
    this.time = time;
    this.acl = acl;
  }

  /** Adds an attempt that is about to be sent. */
  OwnNode enter(Claim claim, String parent) {
    OwnNode node = new OwnNode(claim, parent);
    nodes.put(claim.ownerId(), node);
    return node;
  }

  @Nullable
  OwnNode find(Claim claim) {
    return nodes.get(claim.ownerId());
  }

  /**
   * Notes that the node was deleted; if it may have a duplicate, the node stays listed until the
   * clean-up finds none.
   */
  void noteDeleted(OwnNode node) {
    if (!node.mayHaveTwin) {
      noteGone(node);
    }
  }

  /** Notes that the node is known to be gone. */
  void noteGone(OwnNode node) {
    nodes.remove(node.claim.ownerId(), node);
  }

  List<OwnNode> all() {
    return new ArrayList<>(nodes.values());
  }

  /**
   * Prepares the end of a node's grant, and returns its operations: delete the node, and create a
   * mark if the name must stay taken. The mark is noted first, so that it is deleted when it no
   * longer counts, even if the answer is lost.
   */
  List<Op> prepareEnd(OwnNode node, Duration holdFor) {
    Op delete = Op.delete(node.path(), -1);
    if (holdFor.isZero()) {
      return List.of(delete);
    }
    String mark = node.parent + "/" + Names.ofMark(node);
    marks.put(mark, time.nanos() + holdFor.toNanos() + MARK_GRACE_NANOS);
    // Rounded up, since a mark has whole milliseconds.
    NodeData data = new NodeData(holdFor.plusMillis(1), node.since(), node.claim.holder());
    return List.of(delete, Op.create(mark, data.bytes(), acl, CreateMode.PERSISTENT));
  }

  /** Cleans up, and ends the thread if the client was closed and nothing is left to do. */
  void runCleanUp() {
    try {
      cleanUp();
    } finally {
      Long end = endsNanos;
      boolean idle = nodes.isEmpty() && marks.isEmpty();
      if (end != null && (idle || end - time.nanos() <= 0)) {
        end();
      }
    }
  }

  private void end() {
    background.end();
    if (!nodes.isEmpty()) {
      log.warn(
          "Nodes of a closed client were not seen to be gone; they go with their session: {}",
          nodes.values().stream().map(node -> node.parent).distinct().limit(10).toList());
    }
  }

  /** Gives all nodes up. The thread ends when all are gone, or after trying for long enough. */
  void close() {
    nodes.values().forEach(OwnNode::abandon);
    long sessionNanos = nodes.values().stream()
        .mapToLong(node -> node.sessionTimeout().toNanos())
        .max()
        .orElse(0);
    endsNanos = time.nanos() + Math.max(AFTER_CLOSE_NANOS_MIN, 2 * sessionNanos);
  }

  private void cleanUp() {
    if (!wire.isOpen()) {
      // The nodes go with the session, which is over now or soon; marks are left to others. A grant
      // stays until its holder was told of that.
      nodes.values().removeIf(node -> node.grantIfAny() == null);
      marks.clear();
      return;
    }
    ZooKeeper zk;
    try {
      zk = wire.handle();
    } catch (StoreException e) {
      return;
    }
    if (!zk.getState().isConnected()) {
      return;
    }
    long session = zk.getSessionId();
    long nowNanos = time.nanos();
    for (OwnNode node : nodes.values()) {
      node.expireAt(nowNanos);
      if (!node.isWanted() && node.inUse.compareAndSet(false, true)) {
        try {
          cleanUp(zk, session, node);
        } catch (RuntimeException | Error e) {
          // The next clean-up sends it again.
          node.inUse.set(false);
          log.warn("Deleting a node of {} failed, and is done again", node.parent, e);
        }
      }
    }
    marks.forEach((path, deletableNanos) -> {
      if (deletableNanos - nowNanos <= 0) {
        var unused = Wire.delete(zk, path).thenAccept(answer -> {
          if (answer.isOk() || answer.isAbsent()) {
            marks.remove(path);
          }
        });
      }
    });
  }

  /** Sends the clean-up of a node. */
  private void cleanUp(ZooKeeper zk, long session, OwnNode node) {
    Duration holdLeft = node.holdLeft(time.nanos());
    if (node.pathIfMade() == null || (node.mayHaveTwin && holdLeft.isZero())) {
      var unused = Wire.listNewest(zk, node.parent).thenAccept(answer -> {
        node.inUse.set(false);
        if (answer.isAbsent()) {
          noteGone(node);
        } else if (answer.isOk()) {
          List<String> names = ofAttempt(answer, node.claim);
          if (names.isEmpty()) {
            noteGone(node);
          }
          for (String name : names) {
            var unusedToo = Wire.delete(zk, node.parent + "/" + name);
          }
        }
      });
    } else if (node.session() != session) {
      // Created by a session that was replaced: it has ended, or will for lack of a heartbeat.
      noteGone(node);
    } else {
      var unused = Wire.multi(zk, prepareEnd(node, holdLeft)).thenAccept(answer -> {
        node.inUse.set(false);
        if (answer.isOk() || answer.isAbsent()) {
          // A mark that was asked for is there, so the next clean-up only looks for a duplicate.
          node.release(time.nanos(), Duration.ZERO);
          noteDeleted(node);
        }
      });
    }
  }

  /** Returns the names in a listing that are of nodes of a claim's attempt. */
  static List<String> ofAttempt(Answer<List<String>> listed, Claim claim) {
    List<String> names = listed.value();
    return names == null
        ? List.of()
        : names.stream().filter(name -> name.startsWith(claim.ownerId())).toList();
  }
}
