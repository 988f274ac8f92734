package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The ticket of a claim that waits for a permit. Who waits first watches the whole semaphore, since
 * any permit will do. Every other watches the one who waits before it, and writes nothing.
 *
 * <p>When the first has a permit it leaves its place. That wakes the next, which finds what else is
 * free.
 */
final class PermitTicket implements Ticket, Watcher {
  /** The most looks in one poll; see {@link LineTicket}. All who wait before us may be leaving. */
  private static final int LOOKS_MAX = 8;

  private static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(20);

  private final ZooKeeperStore store;
  private final Wire wire;
  private final PermitAttempt attempt;
  private final Runnable wakeUp;

  /** The one who waits before us; null if we are the first, or do not watch. */
  private final AtomicReference<@Nullable Watched> watched = new AtomicReference<>();

  /** Whether we were the first when we looked last. */
  private volatile boolean first;

  private volatile boolean granted;

  private record Watched(ZooKeeper zk, String path) {}

  PermitTicket(ZooKeeperStore store, PermitAttempt attempt, Runnable wakeUp) {
    this.store = store;
    this.wire = store.wire();
    this.attempt = attempt;
    this.wakeUp = wakeUp;
  }

  @Override
  public void process(WatchedEvent event) {
    // Without a connection there is nothing to ask, and watches survive a reconnect.
    if (event.getType() != EventType.None || event.getState() == KeeperState.Expired) {
      wakeUp.run();
    }
  }

  @Override
  public Status poll() throws StoreException {
    Deadline deadline = wire.deadline();
    OwnNode place = attempt.place();
    Status status = null;
    while (status == null) {
      ZooKeeper zk = wire.handle();
      if (place == null || (zk.getSessionId() != 0 && zk.getSessionId() != place.session())) {
        return gone();
      }
      status = ask(zk, place, deadline);
    }
    return status;
  }

  private Status gone() {
    unwatch();
    attempt.gone();
    return new Gone();
  }

  /** Asks once; null if there was no answer, but there is time to ask again. */
  private @Nullable Status ask(ZooKeeper zk, OwnNode place, Deadline deadline)
      throws StoreException {
    SessionTrust.Asked asked = store.trust().asking(zk);
    var unused = Wire.sync(zk, place.parent());
    Watched before = watched.get();
    if (before != null && before.zk() == zk) {
      CompletableFuture<Answer<Stat>> finding = Wire.stat(zk, place.path());
      Answer<Wire.Text> there = wire.await(Wire.read(zk, before.path(), this), deadline);
      Answer<Stat> found = wire.await(finding, deadline);
      if (isUnanswered(found, asked, deadline)) {
        return null;
      }
      if (found.isAbsent() || found.isSessionOver()) {
        return gone();
      }
      found.requireOk();
      if (there.isOk()) {
        return new Waiting(LineTicket.RECHECK_AFTER);
      }
      watched.set(null);
    }
    boolean watching = first;
    Answer<List<String>> listed = wire.await(listing(zk, watching), deadline);
    if (isUnanswered(listed, asked, deadline)) {
      return null;
    }
    if (listed.isAbsent() || listed.isSessionOver()) {
      return gone();
    }
    PermitLine line = attempt.line(listed.get());
    return line.contains(place)
        ? look(new PermitAttempt.Seen(zk, line, store.trust().left(zk)), watching, deadline)
        : gone();
  }

  /** Notes the answer; whether there was none, for want of a connection. */
  private boolean isUnanswered(Answer<?> answer, SessionTrust.Asked asked, Deadline deadline)
      throws StoreException {
    if (answer.isConnectionLost()) {
      store.trust().disconnected(asked);
      wire.pauseBeforeRetry(answer, deadline);
      return true;
    }
    if (!answer.isSessionOver()) {
      store.trust().answered(asked);
    }
    return false;
  }

  /**
   * Takes a permit if there is one for us, else watches.
   *
   * @param seen the semaphore as it was just listed, with our place in it
   * @param watching whether that listing left a watch
   */
  Status look(PermitAttempt.Seen seen, boolean watching, Deadline deadline) throws StoreException {
    PermitAttempt.Seen now = seen;
    boolean nowWatching = watching;
    for (int looks = 1; looks <= LOOKS_MAX; looks++) {
      PermitAttempt.Taking taking = attempt.take(now, deadline);
      if (taking instanceof PermitAttempt.Taken taken) {
        granted = true;
        unwatch();
        return new Granted(taken.grant());
      }
      PermitAttempt.NothingFree nothing = (PermitAttempt.NothingFree) taking;
      nowWatching = nowWatching && !nothing.listedAnew();
      PermitLine.Node before = nothing.seen().line().waitingBefore(attempt.place());
      first = before == null;
      if (before == null && nowWatching) {
        Duration rest = nothing.rest();
        return new Waiting(
            rest == null
                ? LineTicket.RECHECK_AFTER
                : ZooKeeperGrant.shorter(rest, LineTicket.RECHECK_AFTER));
      }
      ZooKeeper zk = nothing.seen().zk();
      if (before != null && watch(zk, before, deadline)) {
        return new Waiting(LineTicket.RECHECK_AFTER);
      }
      nowWatching = first;
      now = list(zk, nowWatching, deadline);
    }
    return new Waiting(LOOK_AGAIN_AFTER);
  }

  private PermitAttempt.Seen list(ZooKeeper zk, boolean watching, Deadline deadline)
      throws StoreException {
    Answer<List<String>> listed = wire.askAgain(() -> listing(zk, watching), deadline);
    return new PermitAttempt.Seen(zk, attempt.line(listed.get()), store.trust().left(zk));
  }

  private CompletableFuture<Answer<List<String>>> listing(ZooKeeper zk, boolean watching) {
    return watching
        ? Wire.listAndWatch(zk, attempt.parent(), this)
        : Wire.list(zk, attempt.parent());
  }

  /** Watches the one who waits before us; false if it has just gone. */
  private boolean watch(ZooKeeper zk, PermitLine.Node before, Deadline deadline)
      throws StoreException {
    String path = attempt.parent() + "/" + before.name();
    Answer<Wire.Text> there = wire.askAgain(() -> Wire.read(zk, path, this), deadline);
    if (there.isAbsent()) {
      return false;
    }
    there.requireOk();
    watched.set(new Watched(zk, path));
    return true;
  }

  @Override
  public Optional<String> holder() {
    // Each of several may have the permit that this claim gets.
    return Optional.empty();
  }

  @Override
  public void close() throws StoreException {
    if (!granted) {
      unwatch();
      attempt.leave();
    }
  }

  /** Has its nodes deleted as soon as possible. */
  void forget() {
    unwatch();
    attempt.abandon();
  }

  /** Removes the watch on the one before us. That on the semaphore goes when we leave it. */
  private void unwatch() {
    Watched last = watched.getAndSet(null);
    if (last != null) {
      Wire.unwatch(last.zk(), last.path());
    }
  }
}
