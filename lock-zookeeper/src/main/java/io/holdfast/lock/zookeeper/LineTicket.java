package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * A node in the line that is not the first. It watches the one before it, and no other.
 *
 * <p>When that one is gone, the line is listed at once, on the event thread, and the waiting thread
 * is woken by the listing. What a listing lacks before us can't come back, and our own node is sure
 * to stand for half of the session's timeout after the last write that a majority confirmed; so if
 * that was lately, the listing is enough, and the lease lasts for the rest of that time.
 */
final class LineTicket implements Ticket, Watcher {
  /** An event that got lost would be a bug of somebody's; this is how long it would cost. */
  static final Duration RECHECK_AFTER_MAX = Duration.ofSeconds(15);

  /** A recheck is a confirmed write, too: often enough that a wake-up needs none. */
  private static final int RECHECKS_PER_SESSION = 4;

  /** A confirmation that is older than this part of the session's timeout is not recent. */
  private static final int RECENT_DIVISOR = 3;

  /** Those before us may all be leaving at once; who can't settle it soon is called again. */
  private static final int LOOKS_MAX = 8;

  private static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(20);

  private final ZooKeeperStore store;
  private final OwnNode node;
  private final Runnable wakeUp;
  private @Nullable String watchedPath;
  private volatile @Nullable ZooKeeper watchedAt;
  private volatile @Nullable Heard heard;
  private volatile @Nullable String holder;

  /** The line after the one before us had gone. */
  private record Heard(ZooKeeper zk, Answer<List<String>> listed) {}

  LineTicket(ZooKeeperStore store, OwnNode node, Runnable wakeUp) {
    this.store = store;
    this.node = node;
    this.wakeUp = wakeUp;
  }

  @Override
  public void process(WatchedEvent event) {
    // While there is no connection there is nothing to ask; watches survive a new one.
    boolean over = event.getType() == EventType.None && event.getState() == KeeperState.Expired;
    ZooKeeper zk = watchedAt;
    if (event.getType() == EventType.NodeDeleted && zk != null) {
      var unused = Wire.list(zk, node.parent()).thenAccept(listed -> {
        heard = new Heard(zk, listed);
        wakeUp.run();
      });
    } else if (over) {
      wakeUp.run();
    }
  }

  @Override
  public Status poll() throws StoreException {
    Wire wire = store.wire();
    Deadline deadline = wire.deadline();
    Status status = lookAtWhatWasHeard(deadline);
    while (status == null) {
      ZooKeeper zk = wire.handle();
      if (zk.getSessionId() != 0 && zk.getSessionId() != node.session()) {
        forget();
        store.nodes().gone(node);
        return new Gone();
      }
      long sentNanos = store.time().nanos();
      // The listing alone could come from a server that was cut off from the others; the check
      // asks the leader, and what it confirms was true of the listing.
      CompletableFuture<Answer<List<String>>> listing = Wire.list(zk, node.parent());
      CompletableFuture<Answer<List<OpResult>>> checking =
          Wire.multi(zk, List.of(Op.check(node.path(), -1)));
      Answer<List<String>> listed = wire.await(listing, deadline);
      Answer<List<OpResult>> checked = wire.await(checking, deadline);
      if (checked.isAbsent() || checked.isSessionOver()) {
        forget();
        store.nodes().gone(node);
        return new Gone();
      } else if (checked.isOk() && listed.isOk()) {
        store.confirmation().confirmed(node.session(), sentNanos);
        Line line = Line.of(node.parent(), listed.get());
        return look(zk, line, ZooKeeperStore.trusted(node), deadline);
      }
      wire.pauseBeforeRetry(listed.isOk() ? checked : listed, deadline);
    }
    return status;
  }

  /** Null: nothing was, or it is not enough to go by. */
  private @Nullable Status lookAtWhatWasHeard(Deadline deadline) throws StoreException {
    Heard now = heard;
    heard = null;
    Long ageNanos = store.confirmation().ageNanos(node.session(), store.time().nanos());
    if (now == null
        || now.zk() != store.wire().handle()
        || !now.listed().isOk()
        || ageNanos == null
        || ageNanos > node.sessionTimeout().dividedBy(RECENT_DIVISOR).toNanos()) {
      return null;
    }
    Line line = Line.of(node.parent(), now.listed().get());
    return line.indexOf(node.name()) < 0
        ? null
        : look(now.zk(), line, ZooKeeperStore.trusted(node).minusNanos(ageNanos), deadline);
  }

  /**
   * Takes the lock if it is our turn, else watches the one before us.
   *
   * @param trusted how long the session is sure to live, from when the engine asked
   */
  Status look(ZooKeeper zk, Line first, Duration trusted, Deadline deadline) throws StoreException {
    Line line = first;
    for (int looks = 1; ; looks++) {
      int index = line.indexOf(node.name());
      if (index < 0) {
        throw StoreException.unanswered("The listing lacks our own node " + node.path(), null);
      } else if (index == 0) {
        Duration rest = store.marks().settle(zk, node, line.marks(), deadline);
        return rest.isZero() ? new Granted(store.grant(zk, node, trusted)) : new Waiting(rest);
      } else if (watch(zk, line, index, deadline)) {
        return new Waiting(ZooKeeperGrant.shorter(
            RECHECK_AFTER_MAX, node.sessionTimeout().dividedBy(RECHECKS_PER_SESSION)));
      } else if (looks == LOOKS_MAX) {
        return new Waiting(LOOK_AGAIN_AFTER);
      }
      line = Line.of(
          node.parent(),
          store.wire().await(Wire.list(zk, node.parent()), deadline).get());
    }
  }

  /** False: the one before us has just gone. */
  private boolean watch(ZooKeeper zk, Line line, int index, Deadline deadline)
      throws StoreException {
    String path = node.parent() + "/" + line.places().get(index - 1).name();
    if (path.equals(watchedPath) && zk == watchedAt) {
      return true;
    }
    Wire wire = store.wire();
    CompletableFuture<Answer<Wire.Text>> watching = Wire.read(zk, path, this);
    watchedPath = path;
    watchedAt = zk;
    CompletableFuture<Answer<Wire.Text>> reading = index == 1
        ? watching
        : Wire.read(zk, node.parent() + "/" + line.places().get(0).name(), null);
    Answer<Wire.Text> watched = wire.await(watching, deadline);
    Answer<Wire.Text> head = wire.await(reading, deadline);
    if (head.isOk()) {
      holder = head.get().text().holder();
    }
    if (watched.isAbsent()) {
      watchedPath = null;
      return false;
    }
    watched.requireOk();
    return true;
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    if (!node.wasGranted()) {
      forget();
      store.leave(node);
    }
  }

  /** Takes the watch back, and has the node deleted as soon as that can be done. */
  void forget() {
    node.abandon();
    String path = watchedPath;
    ZooKeeper zk = watchedAt;
    watchedPath = null;
    if (path != null && zk != null && zk.getState().isAlive()) {
      // ZooKeeper's removeWatches forgets it here only; this one tells the server. Nobody else of
      // this session watches that node: who stands behind us comes to it when ours is gone.
      zk.removeAllWatches(path, WatcherType.Data, true, (code, p, ctx) -> {}, null);
    }
  }
}
