package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * A list of the locks that most servers of a quorum show. All servers are scanned at once, page by
 * page, and all are asked about what one of them has shown. A majority has each lock that is held,
 * so once a majority has been scanned to the end, one of them has shown it.
 */
final class QuorumList {
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final List<Scan> scans;
  private final NameRange names;
  private final Deadline deadline;
  private final Map<LockKey, StoredLock> listed = new LinkedHashMap<>();

  QuorumList(List<Voter> voters, NameRange names, Deadline deadline) {
    this.scans = voters.stream().map(Scan::new).toList();
    this.names = names;
    this.deadline = deadline;
  }

  /** How far one server is. */
  private static final class Scan {
    private final Voter voter;
    private Page page = new Page(Page.FIRST, List.of());
    private boolean isOver;
    private boolean isLeftOut;

    Scan(Voter voter) {
      this.voter = voter;
    }

    /** Who was late or failed once is asked nothing more: each question would take that long. */
    <T> CompletableFuture<T> ask(Voter.Question<T> question) {
      return isLeftOut
          ? CompletableFuture.failedFuture(
              StoreException.refused("The server failed, or was late, before", null))
          : voter.ask(question);
    }

    CompletableFuture<Page> next(String glob, Deadline deadline) {
      String from = page.next();
      return isOver
          ? CompletableFuture.completedFuture(new Page(Page.FIRST, List.of()))
          : ask(server -> Page.scan(server, only(server, deadline), from, glob, deadline));
    }
  }

  private static Pool<Connection> only(Server server, Deadline deadline) throws StoreException {
    return server.all(deadline).get(0);
  }

  List<StoredLock> read(int limit) throws StoreException {
    while (listed.size() < limit && !isMajorityOver()) {
      look(nextPages());
    }
    return listed.values().stream().limit(limit).toList();
  }

  private boolean isMajorityOver() {
    return scans.stream().filter(scan -> scan.isOver).count() >= Votes.majority(scans.size());
  }

  /** What the next page of each server shows that was not listed before. */
  private Set<LockKey> nextPages() throws StoreException {
    Votes<Page> pages = ofMajority(Votes.gatherInTime(
        scans.stream().map(scan -> scan.next(names.glob(), deadline)).toList(),
        deadline,
        votes -> false));
    scans.forEach(scan -> scan.isLeftOut = true);
    Set<LockKey> found = new LinkedHashSet<>();
    for (Votes.Answer<Page> answer : pages.answers()) {
      Scan scan = scans.get(answer.voter());
      scan.isLeftOut = false;
      scan.page = answer.value();
      scan.isOver = scan.page.isLast();
      found.addAll(names.in(scan.page.keys()));
    }
    found.removeAll(listed.keySet());
    return found;
  }

  private void look(Set<LockKey> found) throws StoreException {
    if (found.isEmpty()) {
      return;
    }
    List<LockKey> unclear = look(List.copyOf(found), ofMajority(ask(found)));
    while (!unclear.isEmpty()) {
      LockSupport.parkNanos(this, LOOK_AGAIN_NANOS);
      Votes<List<Optional<Reply.Held>>> votes = ask(unclear);
      if (deadline.isOver() || votes.answers().size() < votes.majority()) {
        throw votes.failure(
            "It is not known whether the lock '" + unclear.get(0).name() + "' is taken");
      }
      unclear = look(unclear, votes);
    }
  }

  /** What each server shows of each of these locks. */
  private Votes<List<Optional<Reply.Held>>> ask(Collection<LockKey> keys) {
    List<Call> calls = keys.stream().map(names::key).map(RedisStore::lookCall).toList();
    return Votes.gatherInTime(
        scans.stream()
            .map(scan ->
                scan.ask(server -> held(server.readAll(only(server, deadline), calls, deadline))))
            .toList(),
        deadline,
        votes -> false);
  }

  /** Lists what a majority shows; returns what is not clear. */
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
      }
      held.add(Optional.ofNullable(Reply.Held.of(reply)));
    }
    return held;
  }

  private <T> Votes<T> ofMajority(Votes<T> votes) throws StoreException {
    if (votes.answers().size() < votes.majority()) {
      throw NameRange.failure(deadline, votes.failure("Too few servers to list the locks"));
    }
    return votes;
  }
}
