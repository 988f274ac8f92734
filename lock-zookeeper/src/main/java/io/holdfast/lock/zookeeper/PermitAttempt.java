package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * One claim's attempt to get a permit. It bids for one permit at a time, with a node; the first bid
 * for a permit has it, as the first node in a mutex's line has the mutex. It bids only while nobody
 * waits before it. If no permit is free it takes a place among those who wait, and keeps that until
 * one of its bids is the first.
 *
 * <p>Threads: one at a time.
 */
final class PermitAttempt {
  private final ZooKeeperStore store;
  private final Claim claim;
  private final String parent;
  private final int preferred;
  private @Nullable OwnNode place;
  private @Nullable OwnNode bid;
  private int bids;

  /**
   * Makes an attempt that has no node yet.
   *
   * @param preferred the permit to bid for if there is a choice
   */
  PermitAttempt(ZooKeeperStore store, Claim claim, String parent, int preferred) {
    this.store = store;
    this.claim = claim;
    this.parent = parent;
    this.preferred = preferred;
  }

  /**
   * The semaphore, as this attempt saw it last.
   *
   * @param trusted the time for which the session is certain to live, from when the engine asked
   */
  record Seen(ZooKeeper zk, PermitLine line, Duration trusted) {}

  /** The result of {@link #take}. */
  sealed interface Taking {}

  record Taken(Grant grant) implements Taking {}

  /**
   * There is no permit for this claim now.
   *
   * @param seen what that rests on
   * @param listedAnew whether that is a later listing than the one that was handed in
   * @param rest the time after which a minimum hold is over that keeps a permit from this claim;
   *     null if none does
   */
  record NothingFree(
      Seen seen, boolean listedAnew, @Nullable Duration rest) implements Taking {}

  String parent() {
    return parent;
  }

  /** Returns its node among those who wait; null if it has none. */
  @Nullable
  OwnNode place() {
    return place;
  }

  PermitLine line(List<String> children) throws StoreException {
    return PermitLine.of(parent, claim.permits(), children);
  }

  /** Begins with a bid for the permit that is probably free. */
  Seen begin(Deadline deadline) throws StoreException {
    return bidFor(preferred, deadline);
  }

  /** Takes a place among those who wait, and gives up the bid. */
  Seen join(Deadline deadline) throws StoreException {
    OwnNode node = new OwnNode(claim, parent, Names.ofWaiting(claim.ownerId()), 0);
    return instead(node, deadline);
  }

  private Seen bidFor(int permit, Deadline deadline) throws StoreException {
    String name = Names.ofBid(claim.ownerId(), permit, bids++);
    return instead(new OwnNode(claim, parent, name, permit), deadline);
  }

  /** Deletes the bid, if there is one, and makes a node; in one round trip. */
  private Seen instead(OwnNode node, Deadline deadline) throws StoreException {
    OwnNode before = bid;
    bid = null;
    CompletableFuture<Answer<Boolean>> deleting = before == null ? null : giveUp(before);
    Placing.Placed placed = store.placing().place(node, deadline);
    if (place == null && node.prefix().equals(Names.ofWaiting(claim.ownerId()))) {
      place = node;
    } else {
      bid = node;
    }
    if (deleting != null) {
      // It came before the others. If it failed, the node is deleted in the background.
      Answer<Boolean> unused = store.wire().await(deleting, deadline);
    }
    return new Seen(placed.zk(), line(placed.children()), placed.trusted());
  }

  /** Deletes a node without waiting for it; a failure is made up for in the background. */
  private CompletableFuture<Answer<Boolean>> giveUp(OwnNode node) throws StoreException {
    node.abandon();
    return Wire.delete(store.wire().handle(), node.path()).thenApply(answer -> {
      if (answer.isOk() || answer.isAbsent()) {
        store.nodes().deleted(node);
      }
      return answer;
    });
  }

  /**
   * Takes a permit, if one is free and nobody waits before this claim. Whoever looks at the same
   * time may be faster with a bid; then another permit is looked for.
   */
  Taking take(Seen first, Deadline deadline) throws StoreException {
    Seen seen = first;
    boolean listedAnew = false;
    while (true) {
      if (bid != null && !seen.line().contains(bid)) {
        // Somebody freed it by force.
        bid.abandon();
        bid = null;
      }
      if (!isMyTurn(seen.line())) {
        return new NothingFree(seen, listedAnew, null);
      }
      if (bid != null
          && seen.line().isFirst(bid)
          && seen.line().marks(bid.permit()).isEmpty()) {
        return new Taken(grant(seen, bid, deadline));
      }
      OptionalInt next = seen.line().free(preferred);
      if (next.isEmpty()) {
        Marked soonest = soonest(seen, deadline);
        if (soonest == null || !soonest.rest().isZero()) {
          return new NothingFree(seen, listedAnew, soonest == null ? null : soonest.rest());
        }
        if (bid != null && bid.permit() == soonest.permit()) {
          List<String> marks = seen.line().marks(bid.permit());
          Duration rest = store.marks().settle(seen.zk(), bid, marks, deadline);
          return rest.isZero()
              ? new Taken(grant(seen, bid, deadline))
              : new NothingFree(seen, listedAnew, rest);
        }
        next = OptionalInt.of(soonest.permit());
      }
      if (deadline.isOver()) {
        throw StoreException.unanswered(
            "Other claims were faster with each permit that was free, for " + deadline.whole(),
            null);
      }
      seen = bidFor(next.getAsInt(), deadline);
      listedAnew = true;
    }
  }

  private boolean isMyTurn(PermitLine line) {
    return line.waitingBefore(place == null ? bid : place) == null;
  }

  /** A permit that only a minimum hold keeps, and for how much longer. */
  private record Marked(int permit, Duration rest) {}

  /** Returns the marked permit that can be had soonest, our own rather than another; or null. */
  private @Nullable Marked soonest(Seen seen, Deadline deadline) throws StoreException {
    List<String> names = seen.line().marksToWaitFor(bid);
    if (names.isEmpty()) {
      return null;
    }
    Map<Integer, Duration> rests = new TreeMap<>();
    for (String name : names) {
      rests.put(PermitLine.permitOfMark(name), Duration.ZERO);
    }
    for (Marks.Mark mark : store.marks().look(seen.zk(), parent, names, deadline)) {
      Duration unused = rests.merge(
          PermitLine.permitOfMark(mark.name()), mark.rest(), (a, b) -> a.compareTo(b) < 0 ? b : a);
    }
    Marked soonest = null;
    for (Map.Entry<Integer, Duration> one : rests.entrySet()) {
      int compared = soonest == null ? -1 : one.getValue().compareTo(soonest.rest());
      if (compared < 0 || (compared == 0 && bid != null && bid.permit() == one.getKey())) {
        soonest = new Marked(one.getKey(), one.getValue());
      }
    }
    return soonest;
  }

  /** Makes the first bid a grant, if the session is certain to live for long enough. */
  private Grant grant(Seen seen, OwnNode first, Deadline deadline) throws StoreException {
    Duration trusted = seen.trusted();
    if (!SessionTrust.isEnough(seen.zk(), trusted)) {
      trusted = store
          .checks()
          .confirm(seen.zk(), first, deadline)
          .orElseThrow(() -> StoreException.unanswered("Our node vanished: " + first.path(), null));
    }
    Grant grant = store.grant(seen.zk(), first, trusted);
    if (place != null) {
      // Not waited for: nobody waits for that place, since the bid is the first.
      var unused = giveUp(place);
    }
    return grant;
  }

  /** Has all its nodes deleted as soon as possible. */
  void abandon() {
    if (bid != null) {
      bid.abandon();
    }
    if (place != null) {
      place.abandon();
    }
  }

  /**
   * Deletes all its nodes.
   *
   * @throws StoreException some may be left; they are abandoned
   */
  void leave() throws StoreException {
    abandon();
    if (bid != null) {
      store.leave(bid);
    }
    if (place != null) {
      store.leave(place);
    }
  }

  /** Notes that the session of its nodes is over. */
  void gone() {
    abandon();
    if (bid != null) {
      store.nodes().gone(bid);
    }
    if (place != null) {
      store.nodes().gone(place);
    }
  }
}
