package io.holdfast.lock.redis;

import io.holdfast.lock.redis.Server.Call;
import io.holdfast.lock.redis.Server.Page;
import io.holdfast.lock.redis.Server.WithoutPool;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * A list of held locks, read from one server after the other, page by page. A page costs a trip;
 * one that shows locks costs a second, and one that shows locks with a line a third.
 */
final class LockList {
  private final Server server;
  private final NameRange names;
  private final Deadline deadline;
  private final Map<LockKey, StoredLock> listed = new LinkedHashMap<>();

  LockList(Server server, NameRange names, Deadline deadline) {
    this.server = server;
    this.names = names;
    this.deadline = deadline;
  }

  List<StoredLock> read(int limit) throws StoreException {
    try {
      for (Pool<Connection> pool : server.all(deadline)) {
        if (listed.size() >= limit) {
          break;
        }
        String from = Page.FIRST;
        do {
          Page page = server.scan(pool, from, names.glob(), deadline);
          Set<LockKey> found = names.in(page.keys());
          // A scan can show a key twice; so do two servers, while slots move.
          found.removeAll(listed.keySet());
          look(pool, List.copyOf(found));
          from = page.next();
        } while (!from.equals(Page.FIRST) && listed.size() < limit);
      }
    } catch (StoreException e) {
      throw NameRange.failure(deadline, e);
    }
    return listed.values().stream().limit(limit).toList();
  }

  private void look(Pool<Connection> pool, List<LockKey> found) throws StoreException {
    List<@Nullable Object> replies = ask(pool, found, RedisStore::lookCall);
    Map<LockKey, Reply.Held> held = new LinkedHashMap<>();
    Map<LockKey, Integer> waiting = new LinkedHashMap<>();
    for (int i = 0; i < replies.size(); i++) {
      Reply.Held shown = Reply.Held.of(replies.get(i));
      if (shown != null) {
        held.put(found.get(i), shown);
        if (shown.mayHaveLine()) {
          waiting.put(found.get(i), 0);
        }
      }
    }
    List<LockKey> lines = List.copyOf(waiting.keySet());
    List<@Nullable Object> counts =
        ask(pool, lines, keys -> new Call(Script.COUNT_LINE, List.of(keys.line())));
    for (int i = 0; i < counts.size(); i++) {
      if (!(counts.get(i) instanceof Long count)) {
        throw Reply.noAnswer(counts.get(i));
      }
      waiting.put(lines.get(i), count.intValue());
    }
    held.forEach((key, shown) -> listed.put(
        key, new StoredLock(key, shown.stored(), OptionalInt.of(waiting.getOrDefault(key, 0)))));
  }

  /** Each script has one key, so one that has moved is found where it is now. */
  private List<@Nullable Object> ask(
      Pool<Connection> pool, List<LockKey> keys, Function<Keys, Call> question)
      throws StoreException {
    List<Call> calls = keys.stream().map(names::keys).map(question).toList();
    List<@Nullable Object> replies = new ArrayList<>(server.readAll(pool, calls, deadline));
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof JedisDataException) {
        replies.set(i, server.run(calls.get(i), WithoutPool.FAIL, deadline).reply());
      }
    }
    return replies;
  }
}
