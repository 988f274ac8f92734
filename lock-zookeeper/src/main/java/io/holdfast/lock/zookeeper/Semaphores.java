package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Semaphores: in one node, a line for each permit, in which the first has it, and a line of those
 * who wait for any. The decision page zookeeper-a-semaphore-is-n-lines has the proof.
 */
final class Semaphores {
  private final ZooKeeperStore store;
  private final Wire wire;
  private final String root;
  private final SeenTaken seenTaken = new SeenTaken();
  private final PermitHints hints = new PermitHints();

  Semaphores(ZooKeeperStore store, String root) {
    this.store = store;
    this.wire = store.wire();
    this.root = root;
  }

  Optional<Grant> tryAcquire(Claim claim, Deadline deadline) throws StoreException {
    String parent = root + "/" + Names.of(claim);
    int permit = hints.guess(parent, claim.permits());
    if (seenTaken.contains(parent)) {
      ZooKeeper zk = wire.handle();
      Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, parent), deadline);
      PermitLine line =
          PermitLine.of(parent, claim.permits(), listed.isAbsent() ? List.of() : listed.get());
      OptionalInt free = line.free(permit);
      // Whether a mark still counts is not known without a write.
      if (line.isAnybodyWaiting() || (free.isEmpty() && line.marks().isEmpty())) {
        return Optional.empty();
      }
      permit = free.orElse(permit);
    }
    PermitAttempt attempt = new PermitAttempt(store, claim, parent, permit);
    boolean settled = false;
    try {
      PermitAttempt.Taking taking = attempt.take(attempt.begin(deadline), deadline);
      Optional<Grant> grant = taking instanceof PermitAttempt.Taken taken
          ? Optional.of(got(taken.grant()))
          : Optional.empty();
      settled = grant.isPresent();
      seenTaken.note(parent, grant.isEmpty());
      return grant;
    } finally {
      if (!settled) {
        leaveQuietly(attempt);
      }
    }
  }

  /** Deletes an attempt's nodes; a failure is made up for in the background. */
  private static void leaveQuietly(PermitAttempt attempt) {
    try {
      attempt.leave();
    } catch (StoreException e) {
      // They are abandoned, and so deleted as soon as there is a connection.
    }
  }

  Acquisition acquireOrQueue(Claim claim, Runnable wakeUp, Deadline deadline)
      throws StoreException {
    String parent = root + "/" + Names.of(claim);
    int permit = hints.guess(parent, claim.permits());
    PermitAttempt attempt = new PermitAttempt(store, claim, parent, permit);
    PermitTicket ticket = new PermitTicket(store, attempt, wakeUp);
    boolean settled = false;
    try {
      if (!seenTaken.contains(parent)) {
        PermitAttempt.Taking taking = attempt.take(attempt.begin(deadline), deadline);
        if (taking instanceof PermitAttempt.Taken taken) {
          settled = true;
          return new Acquisition.Granted(got(taken.grant()));
        }
      }
      Ticket.Status status = ticket.look(attempt.join(deadline), false, deadline);
      settled = true;
      seenTaken.note(parent, status instanceof Ticket.Waiting);
      if (status instanceof Ticket.Granted granted) {
        return new Acquisition.Granted(got(granted.grant()));
      }
      if (status instanceof Ticket.Waiting waiting) {
        return new Acquisition.Queued(ticket, waiting.recheckAfter());
      }
      throw StoreException.unanswered("The session ended as the lock was acquired", null);
    } finally {
      if (!settled) {
        ticket.forget();
      }
    }
  }

  private Grant got(Grant grant) {
    hints.got(((ZooKeeperGrant) grant).node().parent(), grant.permit());
    return grant;
  }

  /** Notes that a grant, of whatever kind, is about to be released. */
  void released(Grant grant) {
    if (grant.claim().key().kind() == LockKind.PERMIT) {
      hints.released(((ZooKeeperGrant) grant).node().parent(), grant.permit());
    }
  }

  // Administration

  /** A semaphore as an administrator sees it. */
  private record Listed(ZooKeeper zk, String parent, PermitLine line) {}

  private @Nullable Listed list(LockKey key, Deadline deadline) throws StoreException {
    ZooKeeper zk = wire.handle();
    Integer stored = store.counts().stored(zk, key, deadline);
    if (stored == null) {
      return null;
    }
    String parent = root + "/" + Names.of(key) + "/" + stored;
    Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, parent), deadline);
    return listed.isAbsent()
        ? null
        : new Listed(zk, parent, PermitLine.of(parent, stored, listed.get()));
  }

  List<StoredHolder> holders(LockKey key) throws StoreException {
    Deadline deadline = wire.deadline();
    Listed listed = list(key, deadline);
    if (listed == null) {
      return List.of();
    }
    SortedMap<Integer, StoredHolder> holders = new TreeMap<>();
    held(listed, deadline)
        .forEach((permit, found) -> holders.put(permit, found.text().storedHolder(permit)));
    List<String> marks = listed.line().marks();
    if (!marks.isEmpty()) {
      List<Marks.Reading> readings = Marks.read(listed.zk(), listed.parent(), marks);
      long nowMillis = store.marks().nowMillis(listed.zk(), deadline);
      for (Marks.Mark mark : store.marks().await(readings, nowMillis, deadline)) {
        if (!mark.rest().isZero()) {
          int permit = PermitLine.permitOfMark(mark.name());
          // Who has bid meanwhile waits for it.
          holders.put(permit, mark.storedHolder(permit));
        }
      }
    }
    return List.copyOf(holders.values());
  }

  /** Reads the first bids that still exist, by permit. */
  private SortedMap<Integer, Wire.Found> held(Listed listed, Deadline deadline)
      throws StoreException {
    Map<String, Integer> permits = new LinkedHashMap<>();
    for (PermitLine.Node bid : listed.line().firstBids()) {
      permits.put(listed.parent() + "/" + bid.name(), bid.permit());
    }
    SortedMap<Integer, Wire.Found> held = new TreeMap<>();
    for (Wire.Found found : wire.readAll(listed.zk(), List.copyOf(permits.keySet()), deadline)) {
      held.put(Objects.requireNonNull(permits.get(found.path())), found);
    }
    return held;
  }

  boolean forceRelease(LockKey key, long number) throws StoreException {
    Deadline deadline = wire.deadline();
    Listed listed = list(key, deadline);
    if (listed == null) {
      return false;
    }
    for (String mark : listed.line().marks()) {
      if (Names.numberOfMark(mark) == number) {
        return wire.deleted(listed.zk(), listed.parent() + "/" + mark, deadline);
      }
    }
    for (Map.Entry<Integer, Wire.Found> held : held(listed, deadline).entrySet()) {
      if (held.getValue().text().stat().getCzxid() == number
          && listed.line().marks(held.getKey()).isEmpty()) {
        return wire.deleted(listed.zk(), held.getValue().path(), deadline);
      }
    }
    return false;
  }
}
