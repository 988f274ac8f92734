package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The watch of a node in the line. While others before it have to go first, it is on the last of
 * them: for a writer the node before its own, for a reader the last writer's, for a permit the last
 * that waits. While nobody waits before it, but no permit is free, it is on all nodes.
 *
 * <p>When the watched node is gone, the line is listed at once, from the event thread, and the
 * listing wakes the waiting thread; unless it shows that no permit is free. If the life of the
 * session is not certain for a while, a write is sent along, by which a majority confirms the node
 * and the session; a permit is taken by a write anyway.
 *
 * <p>Threads: the waiting one, and ZooKeeper's event thread.
 */
final class LineWatch implements Watcher {
  private final Wire wire;
  private final SessionTrust trust;
  private final OwnNode node;
  private final Runnable wakeUp;
  private final AtomicReference<@Nullable Watched> watched = new AtomicReference<>();
  private volatile @Nullable Listing listing;
  private volatile @Nullable String holder;
  private volatile List<Place> marksWaitedFor = List.of();

  /**
   * A node that is watched, or all nodes.
   *
   * @param path the path of the node; if all are watched, that of their parent
   * @param head the path of the node that has the lock; null if several have permits
   */
  private record Watched(
      ZooKeeper zk, String path, @Nullable String head, boolean all) {}

  /**
   * The listing of the line after an event.
   *
   * @param all whether it left a watch on all nodes
   */
  record Listing(ZooKeeper zk, boolean all, Answer<List<String>> listed) {}

  LineWatch(Wire wire, SessionTrust trust, OwnNode node, Runnable wakeUp) {
    this.wire = wire;
    this.trust = trust;
    this.node = node;
    this.wakeUp = wakeUp;
  }

  @Override
  public void process(WatchedEvent event) {
    Watched now = watched.get();
    if (event.getType() == EventType.None) {
      // Without a connection there is nothing to ask, and watches survive a reconnect.
      if (event.getState() == KeeperState.Expired || event.getState() == KeeperState.Closed) {
        wakeUp.run();
      }
    } else if (now == null || !now.path().equals(event.getPath())) {
      // About a node that is no longer watched.
      return;
    } else if (event.getType() == EventType.NodeDeleted
        || event.getType() == EventType.NodeChildrenChanged) {
      listAfter(now);
    } else {
      // Somebody wrote to that node, or removed all watches on it, so the watch is used up. The
      // waiting thread may be watching another node by now.
      watched.compareAndSet(now, null);
      wakeUp.run();
    }
  }

  /** Lists the line after an event; for a permit, all nodes are watched from now on. */
  private void listAfter(Watched now) {
    ZooKeeper zk = now.zk();
    boolean all = isForPermit() && (now.all() || watched.compareAndSet(now, all(zk)));
    CompletableFuture<Answer<List<String>>> listing = Wire.list(zk, node.parent, all ? this : null);
    CompletableFuture<?> last = listing;
    if (!isForPermit() && !SessionTrust.isEnough(zk, trust.left(zk))) {
      SessionTrust.Request request = trust.request(zk);
      last = Wire.multi(zk, List.of(Op.check(node.path(), -1))).thenAccept(checked -> {
        if (checked.isOk()) {
          SessionTrust.Lifetime unused = trust.noteConfirmed(request);
        }
      });
    }
    // The second answer can come first: a handle that is being closed gives it at once.
    var unused = CompletableFuture.allOf(listing, last).whenComplete((done, failure) -> {
      Answer<List<String>> listed = listing.join();
      if (!all || !isFull(listed)) {
        this.listing = new Listing(zk, all, listed);
        wakeUp.run();
      }
    });
  }

  private boolean isForPermit() {
    return node.claim.mode() instanceof Claim.Permit;
  }

  private Watched all(ZooKeeper zk) {
    return new Watched(zk, node.parent, null, true);
  }

  /** Whether a listing shows that no permit is free, except after the marks that are known. */
  private boolean isFull(Answer<List<String>> listed) {
    if (!listed.isOk()) {
      return false;
    }
    try {
      Line line = Line.of(node.parent, listed.get());
      return line.indexOf(node.name()) >= 0
          && line.turn(node) instanceof Turn.Full
          && (marksWaitedFor.containsAll(line.marks()) || !line.isKeptByMarks(node));
    } catch (StoreException e) {
      // The waiting thread finds that, too, and tells it.
      return false;
    }
  }

  /** Returns the last listing after an event, once; null if there is none of use. */
  @Nullable
  Listing takeListing(ZooKeeper zk) {
    Listing last = listing;
    listing = null;
    return last != null && last.zk() == zk && last.listed().isOk() ? last : null;
  }

  /** Watches the node that ours waits for; false if it has just gone. */
  boolean watch(ZooKeeper zk, Line line, Place blocker, Deadline deadline) throws StoreException {
    String head =
        isForPermit() ? null : node.parent + "/" + line.places().get(0).name();
    Watched next = new Watched(zk, node.parent + "/" + blocker.name(), head, false);
    // Set before the request is sent: the event may come before the answer is handled.
    watched.set(next);
    Answer<Wire.Node> there = wire.untilAnswered(() -> watchAndRead(next), deadline);
    if (there.isAbsent()) {
      watched.set(null);
      return false;
    }
    there.requireOk();
    return true;
  }

  /** Watches a node, and reads the holder from the first one. */
  private CompletableFuture<Answer<Wire.Node>> watchAndRead(Watched next) {
    CompletableFuture<Answer<Wire.Node>> watching = Wire.read(next.zk(), next.path(), this);
    String head = next.head();
    if (head == null) {
      return watching;
    }
    CompletableFuture<Answer<Wire.Node>> reading =
        next.path().equals(head) ? watching : Wire.read(next.zk(), head, null);
    return watching.thenCombine(reading, (there, first) -> {
      Wire.Node held = first.value();
      holder = held == null ? null : held.data().holder();
      return there;
    });
  }

  /**
   * Whether the watched node still exists, and the first one: watchAndRead sets the holder to null
   * if that is gone. A listing would be as long as the line.
   */
  boolean isStillThere(ZooKeeper zk, Deadline deadline) throws StoreException {
    Watched now = watched.get();
    return now != null
        && now.zk() == zk
        && !now.all()
        && wire.await(watchAndRead(now), deadline).isOk()
        && (now.head() == null || holder != null);
  }

  /** Whether all nodes are watched. */
  boolean isOnAll() {
    Watched now = watched.get();
    return now != null && now.all();
  }

  /** Watches all nodes, and lists them. */
  Answer<List<String>> watchAll(ZooKeeper zk, Deadline deadline) throws StoreException {
    watched.set(all(zk));
    return wire.untilAnswered(() -> Wire.list(zk, node.parent, this), deadline);
  }

  /** Notes that the waiting thread looks again when one of these marks is over. */
  void waitsForMarks(List<Place> marks) {
    marksWaitedFor = marks;
  }

  Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  /** Ends the watch, without a request. */
  void end() {
    watched.set(null);
  }

  /** Removes the watch. One on all nodes is used up by the end of our own. */
  void remove() {
    Watched last = watched.getAndSet(null);
    if (last != null && !last.all() && last.zk().getState().isAlive()) {
      // ZooKeeper's removeWatches would remove it only locally; this one tells the server. Other
      // watchers of that node in this session get an event that their watch was removed too.
      last.zk().removeAllWatches(last.path(), WatcherType.Data, true, (code, p, ctx) -> {}, null);
    }
  }
}
