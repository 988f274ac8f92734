package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

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

  /** Creates a node. If that fails, the node is given up. */
  Placed place(Claim claim, String parent, Deadline deadline) throws StoreException {
    OwnNode node = nodes.enter(claim, parent);
    boolean placed = false;
    try {
      List<CompletableFuture<Answer<Boolean>>> parents = List.of();
      while (true) {
        ZooKeeper zk = wire.handle();
        Sent sent = send(zk, node);
        Answer<List<String>> listed = wire.await(sent.listing(), deadline);
        // Answers come in order, so this one has come too.
        Answer<Wire.Made> made = wire.await(sent.making(), deadline);
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
        if (node.mayHaveTwin) {
          deleteTwins(zk, node, deadline);
        }
        if (node.mayHaveTwin || listed.isConnectionLost()) {
          listed = wire.untilAnswered(() -> Wire.list(zk, parent), deadline);
        }
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

  /** The two requests of one try, which are under way. */
  private record Sent(
      SessionTrust.Request request,
      CompletableFuture<Answer<Wire.Made>> making,
      CompletableFuture<Answer<List<String>>> listing) {}

  private Sent send(ZooKeeper zk, OwnNode node) {
    Claim claim = node.claim;
    SessionTrust.Request request = trust.request(zk);
    // The timeout is zero if this handle was never connected.
    NodeData data = new NodeData(Duration.ofMillis(zk.getSessionTimeout()), null, claim.holder());
    CompletableFuture<Answer<Wire.Made>> making = Wire.send(answer -> zk.create(
        node.parent + "/" + Names.ofAttempt(claim),
        data.bytes(),
        acl,
        CreateMode.EPHEMERAL_SEQUENTIAL,
        (code, p, ctx, name, stat) -> {
          Wire.Made made = name == null ? null : new Wire.Made(zk, name, stat);
          if (made != null) {
            // Noted even if nobody waits for it any more.
            node.noteMade(made);
          }
          answer.accept(code, made);
        },
        null));
    return new Sent(request, making, Wire.list(zk, node.parent));
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
