package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * Lists the locks that a majority of a quorum's servers show. All servers are scanned at once, page
 * by page, and all are asked about each lock that one of them has shown. Every held lock is on a
 * majority of the servers, so once a majority has been scanned to the end, one of them has shown
 * it.
 */
final class QuorumList {
  /** The pause before servers are asked again about a lock whose state was not clear. */
  static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(10);

  private final List<Scan> scans;
  private final NameRange names;
  private final Deadline deadline;
  private final Map<LockKey, StoredLock> listed = new LinkedHashMap<>();

  QuorumList(List<Voter> voters, NameRange names, Deadline deadline) {
    this.scans = voters.stream().map(Scan::new).toList();
    this.names = names;
    this.deadline = deadline;
  }

  /** The progress of the scan of one server. */
  private static final class Scan {
    private final Voter voter;
    private Page page = new Page(Page.FIRST, Set.of());
    private boolean isOver;
    private CompletableFuture<?> asked = CompletableFuture.completedFuture(null);

    Scan(Voter voter) {
      this.voter = voter;
    }

    /**
     * Asks the server, unless it has still to answer an earlier question: this one would wait, too.
     */
    <T> CompletableFuture<T> ask(Voter.Question<T> question) {
      if (!asked.isDone()) {
        return CompletableFuture.failedFuture(
            StoreException.refused("The server has not answered an earlier question", null));
      }
      CompletableFuture<T> answer = voter.ask(Voter.Lane.ACQUIRE, question);
      asked = answer;
      return answer;
    }

    CompletableFuture<Page> next(NameRange names, Deadline deadline) {
      String from = page.next();
      return isOver
          ? CompletableFuture.completedFuture(new Page(Page.FIRST, Set.of()))
          : ask(server -> Page.scan(server, only(server, deadline), from, names, deadline));
    }
  }

  private static Pool<Connection> only(Server server, Deadline deadline) throws StoreException {
    return server.all(deadline).get(0);
  }

  List<StoredLock> read(int limit) throws StoreException {
    try {
      while (listed.size() < limit && !isMajorityOver()) {
        look(nextPages());
      }
    } catch (StoreException e) {
      throw NameRange.failure(deadline, e);
    }
    return listed.values().stream().limit(limit).toList();
  }

  private boolean isMajorityOver() {
    return scans.stream().filter(scan -> scan.isOver).count() >= Votes.majority(scans.size());
  }

  /** Returns the locks on the next page of each server that were not listed before. */
  private Set<LockKey> nextPages() throws StoreException {
    Votes<Page> pages = Votes.gatherInTime(
        scans.stream().map(scan -> scan.next(names, deadline)).toList(),
        deadline,
        votes -> false,
        0);
    if (pages.answers().size() < pages.majority()) {
      throw pages.failure("Too few servers to list the locks");
    }
    Set<LockKey> found = new LinkedHashSet<>();
    for (Votes.Answer<Page> answer : pages.answers()) {
      Scan scan = scans.get(answer.voter());
      scan.page = answer.value();
      scan.isOver = scan.page.isLast();
      found.addAll(scan.page.locks());
    }
    found.removeAll(listed.keySet());
    return found;
  }

  private void look(Set<LockKey> found) throws StoreException {
    List<LockKey> open = List.copyOf(found);
    for (int repeats = 0; !open.isEmpty(); repeats++) {
      Votes<List<Optional<Reply.Held>>> votes = ask(open, repeats);
      boolean answered = votes.answers().size() >= votes.majority();
      if (answered) {
        open = look(open, votes);
      }
      if (!open.isEmpty()) {
        if (!answered || deadline.isOver()) {
          throw votes.failure(
              answered || repeats > 0
                  ? "It is not known whether the lock '" + open.get(0).name() + "' is taken"
                  : "Too few servers to list the locks");
        }
        Server.pause(LOOK_AGAIN_AFTER, deadline);
      }
    }
  }

  /** Returns what each server shows of each of these locks. */
  private Votes<List<Optional<Reply.Held>>> ask(List<LockKey> keys, int repeats) {
    List<Call> calls = keys.stream().map(names::look).toList();
    return Votes.gatherInTime(
        scans.stream()
            .map(scan ->
                scan.ask(server -> held(server.runAll(only(server, deadline), calls, deadline))))
            .toList(),
        deadline,
        votes -> false,
        repeats);
  }

  /** Lists what a majority shows; returns the locks about which it is not clear. */
  private List<LockKey> look(List<LockKey> keys, Votes<List<Optional<Reply.Held>>> votes) {
    List<LockKey> unclear = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      int index = i;
      LockKey key = keys.get(i);
      Shown shown = Shown.by(votes.map(replies -> replies.get(index)));
      if (shown instanceof Shown.Taken taken) {
        listed.put(key, new StoredLock(key, taken.holder(), OptionalInt.empty()));
      } else if (shown instanceof Shown.Unclear) {
        unclear.add(key);
      }
    }
    return unclear;
  }

  private static List<Optional<Reply.Held>> held(List<Object> replies) throws StoreException {
    List<Optional<Reply.Held>> held = new ArrayList<>(replies.size());
    for (Object reply : replies) {
      if (reply instanceof JedisDataException e) {
        throw Failures.answered(e);
      } else if (reply instanceof StoreException e) {
        throw e;
      }
      held.add(Reply.Held.of(reply));
    }
    return held;
  }
}
