package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The ticket of a node in the line. While another node before its own has to go first, it watches
 * the last such one only: a writer the node before its own, a reader the last writer's.
 *
 * <p>When that node is gone, the line is listed at once, from the event thread, and the listing
 * wakes the waiting thread. New nodes sort behind ours; so once a listing shows none that has to go
 * first, only the life of our session is in question. If that is not certain for a while, a write
 * is sent along, by which a majority confirms the node and the session.
 */
final class LineTicket implements Ticket, Watcher {
  /**
   * The time to the next poll without a wake-up. An event should never get lost; if one does, it
   * costs this much.
   */
  static final Duration RECHECK_AFTER_MIN = Duration.ofSeconds(15);

  /** The pause grows with the number of waiters, so that ten a second poll, however many wait. */
  private static final Duration RECHECK_AFTER_PER_WAITER = Duration.ofMillis(100);

  /**
   * The most listings that one poll evaluates. All nodes before ours may be leaving at once; if so
   * many listings don't show whose turn it is, the waiter polls again soon.
   */
  private static final int LISTINGS_MAX = 8;

  private static final Duration POLL_AGAIN_AFTER = Duration.ofMillis(20);

  private final ZooKeeperStore store;
  private final OwnNode node;
  private final Runnable wakeUp;
  private final AtomicReference<@Nullable Watched> watched = new AtomicReference<>();
  private final AtomicBoolean waits = new AtomicBoolean(true);
  private volatile @Nullable Listing listingByEvent;
  private volatile @Nullable String holder;

  /**
   * The node that ours waits for, and the first of all.
   *
   * @param head the path of the first node
   */
  private record Watched(ZooKeeper zk, String path, String head) {}

  /** The listing of the line after the node that ours waited for had gone. */
  private record Listing(ZooKeeper zk, Answer<List<String>> listed) {}

  LineTicket(ZooKeeperStore store, OwnNode node, Runnable wakeUp) {
    this.store = store;
    this.node = node;
    this.wakeUp = wakeUp;
    store.waiting.incrementAndGet();
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
    } else if (event.getType() == EventType.NodeDeleted) {
      listAfterItsEnd(now.zk());
    } else {
      // Somebody wrote to that node, or removed all watches on it, so the watch is used up. The
      // waiting thread may be watching another node by now.
      watched.compareAndSet(now, null);
      wakeUp.run();
    }
  }

  /** Lists the line after the end of the watched node, and then wakes the waiting thread. */
  private void listAfterItsEnd(ZooKeeper zk) {
    CompletableFuture<Answer<List<String>>> listing = Wire.list(zk, node.parent);
    CompletableFuture<?> last = listing;
    if (!SessionTrust.isEnough(zk, store.trust.left(zk))) {
      SessionTrust.Request request = store.trust.request(zk);
      last = Wire.multi(zk, List.of(Op.check(node.path(), -1))).thenAccept(checked -> {
        if (checked.isOk()) {
          SessionTrust.Lifetime unused = store.trust.noteConfirmed(request);
        }
      });
    }
    // The second answer can come first: a handle that is being closed gives it at once.
    var unused = CompletableFuture.allOf(listing, last).whenComplete((done, failure) -> {
      listingByEvent = new Listing(zk, listing.join());
      wakeUp.run();
    });
  }

  @Override
  public Status poll() throws StoreException {
    Deadline deadline = store.wire.deadline();
    Status status = evaluateListing(deadline);
    while (status == null) {
      ZooKeeper zk = store.wire.handle();
      if (zk.getSessionId() != 0 && zk.getSessionId() != node.session()) {
        return endAsGone();
      }
      status = ask(zk, deadline);
    }
    return status;
  }

  /** Gives the place up: our node is gone, or its session is over. */
  private Status endAsGone() {
    forget();
    store.nodes.noteGone(node);
    return new Gone();
  }

  /**
   * Asks once whether our node exists and its turn has come; null if there was no answer, but there
   * is time to ask again.
   */
  private @Nullable Status ask(ZooKeeper zk, Deadline deadline) throws StoreException {
    SessionTrust.Request request = store.trust.request(zk);
    var unused = Wire.sync(zk, node.parent);
    CompletableFuture<Answer<Stat>> finding = Wire.stat(zk, node.path());
    Watched before = watched.get();
    // Whether the watched node still exists, and the first one: watchAndRead sets holder to null if
    // that is gone. A listing would be as long as the line.
    boolean stillThere = before != null
        && before.zk() == zk
        && store.wire.await(watchAndRead(before), deadline).isOk()
        && holder != null;
    Answer<Stat> found = store.wire.await(finding, deadline);
    if (found.isAbsent() || found.isSessionOver()) {
      return endAsGone();
    }
    if (found.isConnectionLost()) {
      store.trust.noteDisconnected(request);
      store.wire.pauseBeforeRetry(found, deadline);
      return null;
    }
    store.trust.noteAnswered(request);
    found.requireOk();
    if (stillThere) {
      return new Waiting(recheckAfter());
    }
    return takeOrWatch(zk, listLine(zk, deadline), store.trust.left(zk), deadline);
  }

  private Line listLine(ZooKeeper zk, Deadline deadline) throws StoreException {
    return Line.of(
        node.parent,
        store.wire.untilAnswered(() -> Wire.list(zk, node.parent), deadline).get());
  }

  /** Watches a node, and reads the holder from the first one. */
  private CompletableFuture<Answer<Wire.Node>> watchAndRead(Watched next) {
    CompletableFuture<Answer<Wire.Node>> watching = Wire.read(next.zk(), next.path(), this);
    CompletableFuture<Answer<Wire.Node>> reading =
        next.path().equals(next.head()) ? watching : Wire.read(next.zk(), next.head(), null);
    return watching.thenCombine(reading, (there, head) -> {
      Wire.Node first = head.value();
      holder = first == null ? null : first.data().holder();
      return there;
    });
  }

  /** Evaluates the listing that an event triggered; null if there is none of use. */
  private @Nullable Status evaluateListing(Deadline deadline) throws StoreException {
    Listing now = listingByEvent;
    listingByEvent = null;
    if (now == null || now.zk() != store.wire.handle() || !now.listed().isOk()) {
      return null;
    }
    Line line = Line.of(node.parent, now.listed().get());
    return line.indexOf(node.name()) < 0
        ? null
        : takeOrWatch(now.zk(), line, store.trust.left(now.zk()), deadline);
  }

  /**
   * Takes the lock if it is our turn, else watches the node that has to go first.
   *
   * @param trusted for how long the session is certain to live
   * @param deadline that of the engine's call
   */
  Status takeOrWatch(ZooKeeper zk, Line listed, SessionTrust.Lifetime trusted, Deadline deadline)
      throws StoreException {
    Line line = listed;
    for (int listings = 1; ; listings++) {
      int index = line.indexOf(node.name());
      if (index < 0) {
        throw StoreException.unanswered("The listing lacks our own node " + node.path(), null);
      }
      Line.Place blocker = line.blocker(index, Names.isShared(node.claim));
      if (blocker == null) {
        Duration rest = store.marks.clearOrRest(zk, node, line.marks(), deadline);
        if (rest == null) {
          return endAsGone();
        }
        // No watch tells when a mark or our session is gone, so this waiter asks again soon.
        return rest.isZero()
            ? take(zk, trusted, deadline)
            : new Waiting(Collections.min(List.of(rest, recheckAfter())));
      } else if (watch(zk, line, blocker, deadline)) {
        return new Waiting(recheckAfter());
      } else if (listings == LISTINGS_MAX) {
        return new Waiting(POLL_AGAIN_AFTER);
      }
      line = listLine(zk, deadline);
    }
  }

  /**
   * Takes the lock if the session is certain to live long enough, else once a write confirmed that.
   * The write confirms the listing too: the nodes that ours waited for had gone, and ours exists.
   */
  private Status take(ZooKeeper zk, SessionTrust.Lifetime trusted, Deadline deadline)
      throws StoreException {
    SessionTrust.Lifetime lives = SessionTrust.isEnough(zk, trusted)
        ? trusted
        : store.confirmer.confirm(List.of(node), deadline).get(node);
    if (lives == null) {
      return endAsGone();
    }
    // Before the grant: a failure of that ends the wait, too.
    endWait();
    return new Granted(store.grant(zk, node, lives, deadline));
  }

  private Duration recheckAfter() {
    return Collections.max(
        List.of(RECHECK_AFTER_MIN, RECHECK_AFTER_PER_WAITER.multipliedBy(store.waiting.get())));
  }

  private void endWait() {
    if (waits.getAndSet(false)) {
      store.waiting.decrementAndGet();
    }
  }

  /** Watches the node that ours waits for; false if it has just gone. */
  private boolean watch(ZooKeeper zk, Line line, Line.Place blocker, Deadline deadline)
      throws StoreException {
    Watched next = new Watched(
        zk,
        node.parent + "/" + blocker.name(),
        node.parent + "/" + line.places().get(0).name());
    // Set before the request is sent: the event may come before the answer is handled.
    watched.set(next);
    Answer<Wire.Node> there = store.wire.untilAnswered(() -> watchAndRead(next), deadline);
    if (there.isAbsent()) {
      watched.set(null);
      return false;
    }
    there.requireOk();
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
      store.leave(node, store.wire.deadline());
    }
  }

  /** Removes the watch, and has the node deleted as soon as possible. */
  void forget() {
    endWait();
    node.abandon();
    Watched last = watched.getAndSet(null);
    if (last != null && last.zk().getState().isAlive()) {
      // ZooKeeper's removeWatches would remove it only locally; this one tells the server. Other
      // watchers of that node in this session get an event that their watch was removed too.
      last.zk().removeAllWatches(last.path(), WatcherType.Data, true, (code, p, ctx) -> {}, null);
    }
  }
}
