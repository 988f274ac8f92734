package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.PermitGuesses;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.ZooKeeper;

/** Acquires locks and permits: puts an attempt into the line, and makes it a grant in its turn. */
final class Acquiring {
  /** The most nodes with another permit that an attempt makes before it waits. */
  private static final int FREE_PERMIT_TRIES = 4;

  final Wire wire;
  final SessionTrust trust;
  final OwnNodes nodes;
  final Placing placing;
  final Marks marks;
  final Confirmer confirmer;
  final PermitGuesses guesses = new PermitGuesses();

  /** The number of tickets that wait. */
  final AtomicInteger waiting = new AtomicInteger();

  private final TimeSource time;
  private final String root;

  /** The names that writers, or claims to a permit, saw taken. */
  private final SeenTaken seenTaken = new SeenTaken();

  /** The names that readers saw taken: by writers. */
  private final SeenTaken seenTakenByWriters = new SeenTaken();

  Acquiring(
      Wire wire,
      SessionTrust trust,
      OwnNodes nodes,
      Placing placing,
      Marks marks,
      Confirmer confirmer,
      TimeSource time,
      String root) {
    this.wire = wire;
    this.trust = trust;
    this.nodes = nodes;
    this.placing = placing;
    this.marks = marks;
    this.confirmer = confirmer;
    this.time = time;
    this.root = root;
  }

  /** See {@code LockStore.tryAcquire}. */
  Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = wire.deadline();
    String parent = Names.path(root, claim.key());
    SeenTaken seen = Names.isShared(claim) ? seenTakenByWriters : seenTaken;
    if (seen.contains(parent) && isTaken(claim, parent, deadline)) {
      return Optional.empty();
    }
    Placing.Placed placed = placing.place(claim, parent, permitToTry(claim, parent), deadline);
    OwnNode node = placed.node();
    try {
      placed = withFreePermit(placed, deadline);
      Turn turn = marks.turn(placed.zk(), node, placed.line(), deadline);
      if (turn instanceof Turn.Now now && hasOtherPermit(node, now)) {
        placed = placing.place(node, Names.NO_PERMIT, deadline);
        turn = marks.turn(placed.zk(), node, placed.line(), deadline);
      }
      Optional<Grant> grant = turn instanceof Turn.Now now
          ? Optional.of(take(placed, now.permit(), deadline))
          : Optional.empty();
      if (turn instanceof Turn.Gone) {
        throw vanished();
      }
      seen.note(parent, grant.isEmpty());
      return grant;
    } finally {
      if (node.grantIfAny() == null) {
        node.abandon();
        leaveQuietly(node, deadline);
      }
    }
  }

  /** Returns the permit for the name of an attempt's first node. */
  private int permitToTry(Claim claim, String parent) {
    return claim.mode() instanceof Claim.Permit permits
        ? guesses.next(parent, permits.of())
        : Names.NO_PERMIT;
  }

  /**
   * Replaces a node by one with a free permit, if its turn has come but another has the permit in
   * its name; a few times at most, since others may be faster each time.
   */
  private Placing.Placed withFreePermit(Placing.Placed first, Deadline deadline)
      throws StoreException {
    Placing.Placed placed = first;
    OwnNode node = placed.node();
    for (int tries = 0; node.permit() != Names.NO_PERMIT && tries < FREE_PERMIT_TRIES; tries++) {
      if (!(placed.line().turn(node) instanceof Turn.Now now) || !hasOtherPermit(node, now)) {
        return placed;
      }
      guesses.noteFree(node.parent, now.permit() + 1);
      placed = placing.place(node, now.permit(), deadline);
    }
    return placed;
  }

  /** Whether a node whose turn has come can't have the permit in its name. */
  private static boolean hasOtherPermit(OwnNode node, Turn.Now now) {
    return node.permit() != Names.NO_PERMIT && node.permit() != now.permit();
  }

  private Grant take(Placing.Placed placed, int permit, Deadline deadline) throws StoreException {
    OwnNode node = placed.node();
    SessionTrust.Lifetime lives = node.permit() == permit
        ? placed.trusted()
        : placing.takePermit(placed.zk(), node, permit, deadline);
    if (lives == null) {
      throw vanished();
    }
    return grant(placed.zk(), node, lives, deadline);
  }

  private static StoreException vanished() {
    return StoreException.unanswered("Our node vanished as the lock was acquired", null);
  }

  /**
   * Whether those in the line keep out one that joins now, according to a server that has caught up
   * with the leader. Writes nothing.
   */
  private boolean isTaken(Claim claim, String parent, Deadline deadline) throws StoreException {
    ZooKeeper zk = wire.handle();
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    // Marks alone do not count: whether their time is over, only the leader's clock tells, and only
    // a write shows it.
    if (!listed.isOk()) {
      return false;
    }
    Line line = Line.of(parent, listed.get()).withMarks(List.of());
    return !(line.turn(line.places().size(), claim, Names.NO_PERMIT) instanceof Turn.Now);
  }

  /** See {@code LockStore.acquireOrQueue}. */
  Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Deadline deadline = wire.deadline();
    String parent = Names.path(root, claim.key());
    int permit = seenTaken.contains(parent) ? Names.NO_PERMIT : permitToTry(claim, parent);
    Placing.Placed placed = placing.place(claim, parent, permit, deadline);
    OwnNode node = placed.node();
    LineTicket ticket = new LineTicket(this, node, wakeUp);
    boolean done = false;
    try {
      placed = withFreePermit(placed, deadline);
      if (node.permit() != Names.NO_PERMIT
          && !placed.line().turn(node).equals(new Turn.Now(node.permit()))) {
        placed = placing.place(node, Names.NO_PERMIT, deadline);
      }
      Ticket.Status status =
          ticket.takeOrWatch(placed.zk(), placed.line(), false, placed.trusted(), deadline);
      done = true;
      if (claim.mode() instanceof Claim.Permit) {
        seenTaken.note(parent, status instanceof Ticket.Waiting);
      }
      if (status instanceof Ticket.Granted granted) {
        return new Acquisition.Granted(granted.grant());
      }
      if (status instanceof Ticket.Waiting waiting) {
        return new Acquisition.Queued(ticket, waiting.recheckAfter());
      }
      throw vanished();
    } catch (PermitsDifferException e) {
      // It keeps nobody else waiting, not even until the background deletes it.
      ticket.forget();
      leaveQuietly(node, deadline);
      throw e;
    } finally {
      if (!done) {
        ticket.forget();
      }
    }
  }

  /**
   * Makes a grant of a node whose turn has come.
   *
   * @param trusted for how long the session is certain to live
   * @param deadline that of the engine's call, from which the grant's time counts
   */
  Grant grant(ZooKeeper zk, OwnNode node, SessionTrust.Lifetime trusted, Deadline deadline)
      throws StoreException {
    if (!SessionTrust.isEnough(zk, trusted)) {
      node.abandon();
      throw SessionTrust.outOfTouch();
    }
    Grant grant = node.session() == zk.getSessionId()
        ? node.grant(time.nanos(), trusted.countedFrom(deadline.startNanos()))
        : null;
    // When a session ends, its handle is closed, it is forgotten (or the framework is closed), and
    // then the holders of grants are told. So a grant that came too late for that is noticed here.
    if (grant == null
        || trust.left(zk).lives().isZero()
        || node.isHandleClosed()
        || !wire.isOpen()) {
      node.abandon();
      throw StoreException.unanswered(
          "The session ended, or the machine slept, as the lock was acquired", null);
    }
    return grant;
  }

  /** Notes that a grant was given back. */
  void noteReleased(OwnNode node) {
    if (node.permit() != Names.NO_PERMIT) {
      guesses.noteFree(node.parent, node.permit());
    }
  }

  /** Deletes an attempt's node. */
  void leave(OwnNode node, Deadline deadline) throws StoreException {
    boolean unused = wire.deleteIfThere(node.path(), deadline);
    nodes.noteDeleted(node);
  }

  /** Deletes an attempt's node. If that fails, the background does it. */
  private void leaveQuietly(OwnNode node, Deadline deadline) {
    try {
      leave(node, deadline);
    } catch (StoreException e) {
      // The node is abandoned, so the background deletes it once there is a connection.
    }
  }
}
