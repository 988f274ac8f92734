package io.holdfast.lock.redis;

import io.holdfast.lock.redis.Voter.Lane;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;

/**
 * A list of the locks that a majority of a quorum's servers show. Each server looks through all of
 * its keys, since it has them in an order of its own. Every held lock is on a majority of the
 * servers, so once a majority is through, one of them has shown it.
 */
record QuorumList(List<Voter> voters, Function<Server, LockList> ofServer, Deadline deadline) {
  /** The pause before servers are asked again about a lock whose state was not clear. */
  static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(10);

  List<StoredLock> read(int limit) throws StoreException {
    Map<LockKey, StoredLock> listed = new LinkedHashMap<>();
    try {
      look(found(listed), listed, limit);
    } catch (StoreException e) {
      throw LockList.failure(deadline, e);
    }
    return listed.values().stream().limit(limit).toList();
  }

  /**
   * Lists the locks that a majority has shown, and returns all others that were shown. These are
   * not known to be free: the servers came to them at different times.
   */
  private Set<LockKey> found(Map<LockKey, StoredLock> listed) throws StoreException {
    Votes<Map<LockKey, Reply.Held>> votes =
        ask(Lane.LIST, server -> ofServer.apply(server).held(Integer.MAX_VALUE), 0);
    if (votes.answers().size() < votes.majority()) {
      throw votes.failure("Too few servers to list the locks");
    }
    Set<LockKey> found = new LinkedHashSet<>();
    votes.answers().forEach(answer -> found.addAll(answer.value().keySet()));
    found.removeIf(key -> list(key, votes, listed) instanceof Shown.Taken);
    return found;
  }

  /** Asks all servers about these locks at once, and again until each is clear. */
  private void look(Set<LockKey> open, Map<LockKey, StoredLock> listed, int limit)
      throws StoreException {
    for (int repeats = 0; !open.isEmpty() && listed.size() < limit; repeats++) {
      Set<LockKey> asked = Set.copyOf(open);
      Votes<Map<LockKey, Reply.Held>> votes =
          ask(Lane.ACQUIRE, server -> ofServer.apply(server).look(asked), repeats);
      boolean answered = votes.answers().size() >= votes.majority();
      if (answered) {
        open.removeIf(key -> !(list(key, votes, listed) instanceof Shown.Unclear));
      }
      if (!open.isEmpty()) {
        if (!answered || deadline.isOver()) {
          throw votes.failure(
              "It is not known whether the lock '" + open.iterator().next().name() + "' is taken");
        }
        Server.pause(LOOK_AGAIN_AFTER, deadline);
      }
    }
  }

  private Votes<Map<LockKey, Reply.Held>> ask(
      Lane lane, Voter.Question<Map<LockKey, Reply.Held>> question, int repeats) {
    return Votes.gatherInTime(
        voters.stream().map(voter -> voter.ask(lane, question)).toList(),
        deadline,
        votes -> false,
        repeats);
  }

  /** Lists a lock if a majority shows it; returns what it shows. */
  private static Shown list(
      LockKey key, Votes<Map<LockKey, Reply.Held>> votes, Map<LockKey, StoredLock> listed) {
    Shown shown = Shown.by(votes.map(held -> Optional.ofNullable(held.get(key))));
    if (shown instanceof Shown.Taken taken) {
      listed.put(key, new StoredLock(key, taken.holder(), OptionalInt.empty()));
    }
    return shown;
  }
}
