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
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All nodes that this client has at ZooKeeper, or may have. An ephemeral node that nobody deletes
 * lasts as long as the session, which is the application's and may last for months: so each attempt
 * is entered before it is sent, and leaves only when its node is known to be gone. What is not
 * wanted any more is deleted again and again until then.
 *
 * <p>While anything is entered, it is looked through twice a second. After the client was closed
 * this goes on for what it had to leave, until that is gone or the session would have ended without
 * a connection.
 */
final class OwnNodes {
  private static final Logger log = LoggerFactory.getLogger(OwnNodes.class);
  private static final long LOOK_MILLIS = 500;

  /** How long looks go on after the close: longer than servers let a session live, usually. */
  private static final long AFTER_CLOSE_NANOS_MIN = TimeUnit.MINUTES.toNanos(1);

  /** How long a mark is left beyond its time: others count that by the leader's clock. */
  private static final long MARK_GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Wire wire;
  private final TimeSource time;
  private final List<ACL> acl;
  private final Map<String, OwnNode> nodes = new ConcurrentHashMap<>();

  /** Paths of marks, and when they may go. */
  private final Map<String, Long> marks = new ConcurrentHashMap<>();

  private final AtomicBoolean lookPlanned = new AtomicBoolean();
  private final Background background;
  private volatile @Nullable Long looksEndNanos;

  OwnNodes(Background background, Wire wire, TimeSource time, List<ACL> acl) {
    this.background = background;
    this.wire = wire;
    this.time = time;
    this.acl = acl;
  }

  /** Enters an attempt that is about to be sent. */
  OwnNode enter(Claim claim, String parent) {
    OwnNode node = new OwnNode(claim, parent);
    nodes.put(claim.ownerId(), node);
    planLook();
    return node;
  }

  @Nullable
  OwnNode find(Claim claim) {
    return nodes.get(claim.ownerId());
  }

  /** The node was deleted; what may have a twin is looked for once more. */
  void deleted(OwnNode node) {
    if (!node.hasTwin()) {
      gone(node);
    }
  }

  /** It is known that the node is gone. */
  void gone(OwnNode node) {
    nodes.remove(node.claim().ownerId(), node);
  }

  List<OwnNode> all() {
    return new ArrayList<>(nodes.values());
  }

  /** A mark was left, which is to go when it no longer counts. */
  void marked(String path, Duration holdFor) {
    marks.put(path, time.nanos() + holdFor.toNanos() + MARK_GRACE_NANOS);
    planLook();
  }

  /** What frees the name: the node goes, and a mark comes if the name is to stay taken. */
  List<Op> ending(OwnNode node, Duration holdFor) {
    Op delete = Op.delete(node.path(), -1);
    if (holdFor.isZero()) {
      return List.of(delete);
    }
    NodeText text =
        new NodeText(holdFor.plusMillis(1), node.since(), node.claim().holder());
    return List.of(delete, Op.create(markPath(node), text.bytes(), acl, CreateMode.PERSISTENT));
  }

  static String markPath(OwnNode node) {
    return node.parent() + "/" + Names.ofMark(node.czxid());
  }

  private void planLook() {
    if (!lookPlanned.get() && lookPlanned.compareAndSet(false, true)) {
      try {
        background.later(LOOK_MILLIS, this::look);
      } catch (RuntimeException | Error e) {
        // None comes; the next who wants one is to try again.
        lookPlanned.set(false);
        throw e;
      }
    }
  }

  private void look() {
    try {
      cleanUp();
    } catch (RuntimeException e) {
      log.warn("Looking through the nodes of locks failed, and is done again", e);
    } finally {
      lookPlanned.set(false);
      Long endNanos = looksEndNanos;
      boolean idle = nodes.isEmpty() && marks.isEmpty();
      if (endNanos != null && (idle || endNanos - time.nanos() <= 0)) {
        endLooks();
      } else if (!idle) {
        planLook();
      }
    }
  }

  private void endLooks() {
    background.end();
    if (!nodes.isEmpty()) {
      log.warn(
          "Nodes of a closed client were not seen to be gone; they go with their session: {}",
          nodes.values().stream().map(OwnNode::parent).distinct().limit(10).toList());
    }
  }

  /** Nothing is wanted any more. The thread ends when all is gone, or in vain long enough. */
  void close() {
    nodes.values().forEach(OwnNode::abandon);
    long sessionNanos = nodes.values().stream()
        .mapToLong(node -> node.sessionTimeout().toNanos())
        .max()
        .orElse(0);
    looksEndNanos = time.nanos() + Math.max(AFTER_CLOSE_NANOS_MIN, 2 * sessionNanos);
    planLook();
  }

  private void cleanUp() {
    if (!wire.isOpen()) {
      // The session is closed, and all its nodes with it.
      nodes.clear();
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
      if (!node.isWanted() && node.beginCleaning()) {
        tryToCleanUp(zk, session, node);
      }
    }
    marks.forEach((path, endsNanos) -> {
      if (endsNanos - nowNanos <= 0) {
        var unused = Wire.delete(zk, path).thenAccept(answer -> {
          if (answer.isOk() || answer.isAbsent()) {
            marks.remove(path);
          }
        });
      }
    });
  }

  /** What fails here and now gets no answer, and is sent again by the next look. */
  private void tryToCleanUp(ZooKeeper zk, long session, OwnNode node) {
    try {
      cleanUp(zk, session, node);
    } catch (RuntimeException | Error e) {
      node.endCleaning();
      log.warn("Deleting a node of {} failed, and is done again", node.parent(), e);
    }
  }

  private void cleanUp(ZooKeeper zk, long session, OwnNode node) {
    String path = node.pathIfMade();
    if (path == null || node.hasTwin()) {
      var unused = Wire.listNewest(zk, node.parent()).thenAccept(answer -> {
        node.endCleaning();
        if (answer.isAbsent()) {
          gone(node);
        } else if (answer.isOk()) {
          List<String> names = ofOwner(answer, node.claim());
          if (names.isEmpty()) {
            gone(node);
          }
          for (String name : names) {
            var unusedToo = Wire.delete(zk, node.parent() + "/" + name);
          }
        }
      });
    } else if (node.session() != session) {
      // Made by a session that was replaced: it ended, or will for want of a heartbeat.
      gone(node);
    } else {
      Duration holdLeft = node.holdLeft(time.nanos());
      var unused = Wire.multi(zk, ending(node, holdLeft)).thenAccept(answer -> {
        node.endCleaning();
        if (answer.isOk() && !holdLeft.isZero()) {
          marked(markPath(node), holdLeft);
        }
        if (answer.isOk() || answer.isAbsent()) {
          gone(node);
        }
      });
    }
  }

  /** The names in a listing that bear a claim's owner id. */
  static List<String> ofOwner(Answer<List<String>> listed, Claim claim) {
    String prefix = Names.ofOwner(claim.ownerId());
    List<String> names = listed.value();
    return names == null
        ? List.of()
        : names.stream().filter(name -> name.startsWith(prefix)).toList();
  }
}
