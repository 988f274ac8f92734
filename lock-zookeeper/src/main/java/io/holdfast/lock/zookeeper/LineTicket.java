package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The ticket of a node in the line.
 *
 * <p>New nodes sort behind ours; so once a listing shows none that has to go first, only the life
 * of our session is in question.
 */
final class LineTicket implements Ticket {
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

  private final Acquiring acquiring;
  private final OwnNode node;
  private final LineWatch watch;
  private final AtomicBoolean waits = new AtomicBoolean(true);

  LineTicket(Acquiring acquiring, OwnNode node, Runnable wakeUp) {
    this.acquiring = acquiring;
    this.node = node;
    this.watch = new LineWatch(acquiring.wire, acquiring.trust, node, wakeUp);
    acquiring.waiting.incrementAndGet();
  }

  @Override
  public Status poll() throws StoreException {
    Deadline deadline = acquiring.wire.deadline();
    Status status = evaluateListing(deadline);
    while (status == null) {
      ZooKeeper zk = acquiring.wire.handle();
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
    acquiring.nodes.noteDeleted(node);
    return new Gone();
  }

  /**
   * Asks once whether our node exists and its turn has come; null if there was no answer, but there
   * is time to ask again.
   */
  private @Nullable Status ask(ZooKeeper zk, Deadline deadline) throws StoreException {
    SessionTrust.Request request = acquiring.trust.request(zk);
    var unused = Wire.sync(zk, node.parent);
    CompletableFuture<Answer<Stat>> finding = Wire.stat(zk, node.path());
    boolean stillThere = watch.isStillThere(zk, deadline);
    Answer<Stat> found = acquiring.wire.await(finding, deadline);
    if (found.isAbsent() || found.isSessionOver()) {
      return endAsGone();
    }
    if (found.isConnectionLost()) {
      acquiring.trust.noteDisconnected(request);
      acquiring.wire.pauseBeforeRetry(found, deadline);
      return null;
    }
    acquiring.trust.noteAnswered(request);
    found.requireOk();
    if (stillThere) {
      return new Waiting(recheckAfter());
    }
    boolean all = watch.isOnAll();
    return takeOrWatch(zk, list(zk, all, deadline), all, acquiring.trust.left(zk), deadline);
  }

  /** Lists the line, and watches all its nodes if that is asked for. */
  private Line list(ZooKeeper zk, boolean all, Deadline deadline) throws StoreException {
    Answer<List<String>> listed = all
        ? watch.watchAll(zk, deadline)
        : acquiring.wire.untilAnswered(() -> Wire.list(zk, node.parent), deadline);
    return Line.of(node.parent, listed.get());
  }

  /** Evaluates the listing that an event triggered; null if there is none of use. */
  private @Nullable Status evaluateListing(Deadline deadline) throws StoreException {
    LineWatch.Listing now = watch.takeListing(acquiring.wire.handle());
    if (now == null) {
      return null;
    }
    Line line = Line.of(node.parent, now.listed().get());
    return line.indexOf(node.name()) < 0
        ? null
        : takeOrWatch(
            now.zk(), line, now.all() && watch.isOnAll(), acquiring.trust.left(now.zk()), deadline);
  }

  /**
   * Takes the lock if it is our turn, else watches what has to go first.
   *
   * @param watchesAll whether the listing left a watch on all nodes
   * @param trusted for how long the session is certain to live
   * @param deadline that of the engine's call
   */
  Status takeOrWatch(
      ZooKeeper zk,
      Line listed,
      boolean watchesAll,
      SessionTrust.Lifetime trusted,
      Deadline deadline)
      throws StoreException {
    Line line = listed;
    boolean all = watchesAll;
    for (int listings = 1; ; listings++) {
      if (line.indexOf(node.name()) < 0) {
        throw StoreException.unanswered("The listing lacks our own node " + node.path(), null);
      }
      Turn turn = acquiring.marks.turn(zk, node, line, deadline);
      if (turn instanceof Turn.Gone) {
        return endAsGone();
      } else if (turn instanceof Turn.Now now) {
        return take(zk, now.permit(), trusted, deadline);
      } else if (turn instanceof Turn.Behind behind
          && watch.watch(zk, line, behind.place(), deadline)) {
        return new Waiting(recheckAfter());
      } else if (turn instanceof Turn.Full full
          && (all || !(node.claim.mode() instanceof Claim.Permit))) {
        return waitFor(full.rest(), line.marks());
      } else if (listings == LISTINGS_MAX) {
        return new Waiting(POLL_AGAIN_AFTER);
      }
      all = turn instanceof Turn.Full;
      line = list(zk, all, deadline);
    }
  }

  /**
   * Waits for those inside, or for marks.
   *
   * @param rest the time after which one of the marks is over, which no watch tells; null if none
   *     matters
   */
  private Waiting waitFor(@Nullable Duration rest, List<Place> marks) {
    watch.waitsForMarks(rest == null ? List.of() : marks);
    return new Waiting(
        rest == null ? recheckAfter() : Collections.min(List.of(rest, recheckAfter())));
  }

  /**
   * Takes the lock if the session is certain to live long enough, else once a write confirmed that.
   * The write confirms the listing too: the nodes that ours waited for had gone, and ours exists.
   * One that waits for a permit takes it by such a write.
   */
  private Status take(ZooKeeper zk, int permit, SessionTrust.Lifetime trusted, Deadline deadline)
      throws StoreException {
    watch.end();
    SessionTrust.Lifetime lives = permit == node.permit()
        ? trusted
        : acquiring.placing.takePermit(zk, node, permit, deadline);
    if (lives != null && !SessionTrust.isEnough(zk, lives)) {
      lives = acquiring.confirmer.confirm(List.of(node), deadline).get(node);
    }
    if (lives == null) {
      return endAsGone();
    }
    // Before the grant: a failure of that ends the wait, too.
    endWait();
    return new Granted(acquiring.grant(zk, node, lives, deadline));
  }

  private Duration recheckAfter() {
    return Collections.max(
        List.of(RECHECK_AFTER_MIN, RECHECK_AFTER_PER_WAITER.multipliedBy(acquiring.waiting.get())));
  }

  private void endWait() {
    if (waits.getAndSet(false)) {
      acquiring.waiting.decrementAndGet();
    }
  }

  @Override
  public Optional<String> holder() {
    return watch.holder();
  }

  @Override
  public void close() throws StoreException {
    if (!node.wasGranted()) {
      forget();
      acquiring.leave(node, acquiring.wire.deadline());
    }
  }

  /** Removes the watch, and has the node deleted as soon as possible. */
  void forget() {
    endWait();
    node.abandon();
    watch.remove();
  }
}
