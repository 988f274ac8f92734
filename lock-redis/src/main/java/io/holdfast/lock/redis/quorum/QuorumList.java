package io.holdfast.lock.redis.quorum;

import static java.util.stream.Collectors.toUnmodifiableSet;

import io.holdfast.lock.redis.quorum.Voter.Lane;
import io.holdfast.lock.redis.server.LockList;
import io.holdfast.lock.redis.server.Reply;
import io.holdfast.lock.redis.server.Server;
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
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A list of the locks that a majority of a quorum's servers show. Each server looks through all of
 * its keys: servers return their keys in different orders, so their first pages can have no lock in
 * common. Every held lock is on a majority of the servers, so once a majority is through, one of
 * them has shown it.
 */
record QuorumList(List<Voter> voters, Function<Server, LockList> listOf, Deadline deadline) {
  /** The pause before servers are asked again about a lock whose state was not clear. */
  static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(10);

  /** The number of locks that are asked about in one round trip. */
  private static final int LOOKED_AT_ONCE = 1_000;

  List<StoredLock> read(int limit) throws StoreException {
    Map<LockKey, StoredLock> listed = new LinkedHashMap<>();
    try {
      look(search(listed), listed, limit);
    } catch (StoreException e) {
      throw LockList.failure(deadline, e);
    }
    return listed.values().stream().limit(limit).toList();
  }

  /**
   * Lists the locks that a majority has shown, and returns all others that were shown. These are
   * not known to be free: the servers came to them at different times.
   */
  private Set<LockKey> search(Map<LockKey, StoredLock> listed) throws StoreException {
    Votes<Map<LockKey, Reply.Held>> votes = Votes.gather(
        ask(server -> listOf.apply(server).search(Integer.MAX_VALUE)), deadline, Votes::isAnswered);
    if (!votes.isAnswered()) {
      throw votes.failure("Too few servers to list the locks");
    }
    Set<LockKey> found = new LinkedHashSet<>();
    votes.answers.forEach(answer -> found.addAll(answer.keySet()));
    found.removeIf(key -> listIfTaken(key, votes, listed) instanceof Shown.Taken);
    return found;
  }

  /** Asks all servers about these locks, a part at a time, and again until each is clear. */
  private void look(Set<LockKey> open, Map<LockKey, StoredLock> listed, int limit)
      throws StoreException {
    int repeats = 0;
    while (!open.isEmpty() && listed.size() < limit) {
      Set<LockKey> asked = open.stream().limit(LOOKED_AT_ONCE).collect(toUnmodifiableSet());
      Votes<Map<LockKey, Reply.Held>> votes = Votes.gatherInTime(
          ask(server -> listOf.apply(server).look(asked)),
          deadline,
          soFar -> soFar.isAnswered()
              && asked.stream().noneMatch(key -> shown(key, soFar) instanceof Shown.Unclear),
          repeats);
      if (votes.isAnswered()) {
        open.removeIf(key ->
            asked.contains(key) && !(listIfTaken(key, votes, listed) instanceof Shown.Unclear));
      }
      if (asked.stream().anyMatch(open::contains)) {
        if (!votes.isAnswered() || deadline.isOver()) {
          throw votes.failure(
              "It is not known whether the lock '" + open.iterator().next().name() + "' is taken");
        }
        repeats++;
        Server.pause(LOOK_AGAIN_AFTER, deadline);
      }
    }
  }

  private <T> List<CompletableFuture<T>> ask(Voter.Question<T> question) {
    return voters.stream().map(voter -> voter.ask(Lane.LIST, question)).toList();
  }

  /** Lists a lock if a majority shows it; returns what it shows. */
  private static Shown listIfTaken(
      LockKey key, Votes<Map<LockKey, Reply.Held>> votes, Map<LockKey, StoredLock> listed) {
    Shown shown = shown(key, votes);
    if (shown instanceof Shown.Taken taken) {
      listed.put(key, new StoredLock(key, taken.holder(), OptionalInt.empty()));
    }
    return shown;
  }

  private static Shown shown(LockKey key, Votes<Map<LockKey, Reply.Held>> votes) {
    return Shown.by(votes.map(held -> Optional.ofNullable(held.get(key))));
  }
}
