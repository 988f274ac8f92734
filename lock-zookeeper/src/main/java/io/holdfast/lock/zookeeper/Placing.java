package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Puts an attempt into the line: creates its node and lists the line in one round trip, since the
 * server carries out a session's requests in order.
 */
final class Placing {
  private final Wire wire;
  private final OwnNodes nodes;
  private final SessionTrust trust;
  private final String root;
  private final List<ACL> acl;

  Placing(Wire wire, OwnNodes nodes, SessionTrust trust, String root, List<ACL> acl) {
    this.wire = wire;
    this.nodes = nodes;
    this.trust = trust;
    this.root = root;
    this.acl = acl;
  }

  /**
   * A node that was created, and the line just after that.
   *
   * @param trusted for how long the session is certain to live
   */
  record Placed(ZooKeeper zk, OwnNode node, Line line, SessionTrust.Lifetime trusted) {}

  /**
   * Creates a node. If that fails, the node is given up.
   *
   * @param permit the permit that it is to have if it can enter with it, or {@link Names#NO_PERMIT}
   */
  Placed place(Claim claim, String parent, int permit, Deadline deadline) throws StoreException {
    return place(nodes.enter(claim, parent), permit, deadline);
  }

  /**
   * Creates a node, at the end of the line, in place of the one that an attempt has, which can't
   * enter with its permit. At the old place, those who entered behind it may have any permit by
   * now. If that fails, the node is given up.
   *
   * @param permit see above
   */
  Placed place(OwnNode node, int permit, Deadline deadline) throws StoreException {
    String parent = node.parent;
    String replaced = node.pathIfMade();
    boolean mayHaveTwin = node.mayHaveTwin;
    // Until both answers are there.
    node.mayHaveTwin |= replaced != null;
    boolean placed = false;
    try {
      List<CompletableFuture<Answer<Boolean>>> parents = List.of();
      while (true) {
        ZooKeeper zk = wire.handle();
        Sent sent = send(zk, node, permit, replaced);
        Answer<List<String>> listed = wire.await(sent.listing(), deadline);
        // Answers come in order, so this one has come too.
        Answer<OwnNode.Made> made = wire.await(sent.making(), deadline);
        if (made.isAbsent()) {
          if (parents.isEmpty()) {
            // The lock has no node yet. The requests to create it and its parents are sent first,
            // and at once the next one for our node: together they take one round trip.
            parents = makeParents(zk, parent);
            continue;
          }
          // Still absent: throws the failure because of which a parent could not be created.
          for (CompletableFuture<Answer<Boolean>> one : parents) {
            wire.await(one, deadline).requireOk();
          }
        }
        if (made.isSessionOver() || made.isConnectionLost()) {
          // Tried again with the next connection or session. If this request created a node, that
          // node has the same owner id, so deleteTwins() finds it.
          mayHaveTwin = true;
          node.mayHaveTwin = true;
          parents = List.of();
          if (made.isConnectionLost()) {
            trust.noteDisconnected(sent.request());
          }
          wire.pauseBeforeRetry(made, deadline);
          continue;
        }
        if (made.isRefusal() && !node.mayHaveTwin) {
          nodes.noteGone(node);
        }
        made.requireOk();
        SessionTrust.Lifetime trusted = trust.noteConfirmed(sent.request());
        mayHaveTwin |= !wire.await(sent.deleting(), deadline).isOk();
        if (mayHaveTwin) {
          deleteTwins(zk, node, deadline);
        }
        if (mayHaveTwin || listed.isConnectionLost()) {
          listed = wire.untilAnswered(() -> Wire.list(zk, parent), deadline);
        }
        node.mayHaveTwin = mayHaveTwin;
        Line line = Line.of(parent, listed.get());
        if (line.indexOf(node.name()) < 0) {
          throw StoreException.unanswered("Our node vanished at once: " + node.path(), null);
        }
        placed = true;
        return new Placed(zk, node, line, trusted);
      }
    } finally {
      if (!placed) {
        node.abandon();
      }
    }
  }

  /** Deletes duplicates that earlier requests of this attempt created. */
  private void deleteTwins(ZooKeeper zk, OwnNode node, Deadline deadline) throws StoreException {
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.list(zk, node.parent), deadline);
    for (String name : OwnNodes.ofAttempt(listed, node.claim)) {
      if (!name.equals(node.name())) {
        boolean unused = wire.deleteIfThere(node.parent + "/" + name, deadline);
      }
    }
  }

  /** The requests of one try, which are under way. */
  private record Sent(
      SessionTrust.Request request,
      CompletableFuture<Answer<OwnNode.Made>> making,
      CompletableFuture<Answer<Boolean>> deleting,
      CompletableFuture<Answer<List<String>>> listing) {}

  private Sent send(ZooKeeper zk, OwnNode node, int permit, @Nullable String replaced) {
    Claim claim = node.claim;
    SessionTrust.Request request = trust.request(zk);
    // The timeout is zero if this handle was never connected.
    NodeData data = new NodeData(Duration.ofMillis(zk.getSessionTimeout()), null, claim.holder());
    CompletableFuture<Answer<OwnNode.Made>> making = Wire.send(answer -> zk.create(
        node.parent + "/" + Names.ofAttempt(claim, permit),
        data.bytes(),
        acl,
        CreateMode.EPHEMERAL_SEQUENTIAL,
        (code, p, ctx, name, stat) -> {
          OwnNode.Made made = name == null ? null : new OwnNode.Made(zk, name, stat, permit);
          if (made != null) {
            // Noted even if nobody waits for it any more.
            node.noteMade(made);
          }
          answer.accept(code, made);
        },
        null));
    CompletableFuture<Answer<Boolean>> deleting = replaced == null
        ? CompletableFuture.completedFuture(new Answer<>(Code.OK, true))
        : Wire.delete(zk, replaced);
    return new Sent(request, making, deleting, Wire.list(zk, node.parent));
  }

  /**
   * Enters with a permit from the line: gives a node that waits a name with that permit, and its
   * old place. The one who watches it is told by that.
   *
   * @return for how long the session is certain to live; null if the node is gone
   */
  SessionTrust.@Nullable Lifetime takePermit(
      ZooKeeper zk, OwnNode node, int permit, Deadline deadline) throws StoreException {
    String name = node.name();
    String path = node.parent + "/" + Names.ofAttempt(node.claim, permit) + Line.sequence(name);
    NodeData data =
        new NodeData(node.sessionTimeout(), node.since(), node.number(), node.claim.holder());
    List<Op> ops = List.of(
        Op.delete(node.path(), -1), Op.create(path, data.bytes(), acl, CreateMode.EPHEMERAL));
    boolean mayHaveTwin = node.mayHaveTwin;
    node.mayHaveTwin = true;
    while (true) {
      SessionTrust.Request request = trust.request(zk);
      Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
      if (answer.isOk()) {
        node.noteRenamed(path, permit);
        node.mayHaveTwin = mayHaveTwin;
        return trust.noteConfirmed(request);
      } else if (answer.isAbsent() || answer.isSessionOver()) {
        return null;
      } else if (!answer.isConnectionLost()) {
        throw answer.failure();
      }
      trust.noteDisconnected(request);
      wire.pauseBeforeRetry(answer, deadline);
      Answer<List<String>> listed =
          wire.untilAnswered(() -> Wire.listNewest(zk, node.parent), deadline);
      if (listed.isOk() && listed.get().contains(path.substring(node.parent.length() + 1))) {
        // That request was carried out.
        node.noteRenamed(path, permit);
        return trust.left(zk);
      }
    }
  }

  /**
   * Sends requests to create a lock's node and its parents; nodes that exist already are left
   * alone.
   *
   * <p>Only a path that was deleted after {@code build()} is made again here: with the ACL of the
   * nodes below it, and without restrictions on the nodes above it, which have no locks.
   */
  private List<CompletableFuture<Answer<Boolean>>> makeParents(ZooKeeper zk, String parent) {
    List<CompletableFuture<Answer<Boolean>>> making = new ArrayList<>();
    for (int slash = root.indexOf('/', 1); slash > 0; slash = root.indexOf('/', slash + 1)) {
      String above = root.substring(0, slash);
      making.add(Wire.make(zk, above, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER));
    }
    making.add(Wire.make(zk, root, acl, CreateMode.PERSISTENT));
    making.add(Wire.make(zk, parent, acl, CreateMode.CONTAINER));
    return making;
  }
}
