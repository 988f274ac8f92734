package io.holdfast.lock.redis;

import io.holdfast.lock.redis.Server.Mode;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * Lists held locks, one server after the other and page by page. A page costs one round trip, and a
 * second one if it has names of locks, even of free ones.
 */
final class LockList {
  private final Server server;
  private final NameRange names;
  private final Deadline deadline;
  private final Map<LockKey, Reply.Held> held = new LinkedHashMap<>();

  LockList(Server server, NameRange names, Deadline deadline) {
    this.server = server;
    this.names = names;
    this.deadline = deadline;
  }

  List<StoredLock> read(int limit) throws StoreException {
    try {
      return held(limit).entrySet().stream()
          .limit(limit)
          .map(lock -> new StoredLock(
              lock.getKey(),
              lock.getValue().holder(),
              OptionalInt.of(lock.getValue().waiting())))
          .toList();
    } catch (StoreException e) {
      throw NameRange.failure(deadline, e);
    }
  }

  /** Returns the locks that are held, at least this many if there are. */
  Map<LockKey, Reply.Held> held(int enough) throws StoreException {
    for (Pool<Connection> pool : server.all(deadline)) {
      if (held.size() >= enough) {
        break;
      }
      String from = Page.FIRST;
      do {
        Page page = Page.scan(server, pool, from, names, deadline);
        look(pool, page.locks());
        from = page.next();
      } while (!from.equals(Page.FIRST) && held.size() < enough);
    }
    return held;
  }

  /** Returns those of these locks that are held; all are on one server. */
  Map<LockKey, Reply.Held> look(Set<LockKey> locks) throws StoreException {
    look(server.all(deadline).get(0), locks);
    return held;
  }

  private void look(Pool<Connection> pool, Set<LockKey> locks) throws StoreException {
    // A scan can return a key twice, and so can two servers while slots move.
    List<LockKey> found = locks.stream().filter(key -> !held.containsKey(key)).toList();
    if (found.isEmpty()) {
      return;
    }
    List<Call> calls = found.stream().map(names::look).toList();
    List<Object> replies = server.runAll(pool, calls, deadline);
    for (int i = 0; i < replies.size(); i++) {
      Object reply = replies.get(i);
      if (reply instanceof JedisDataException || reply instanceof StoreException) {
        // The key may have moved: ask the server that has it now.
        reply = server.run(calls.get(i), Mode.ASK, deadline).reply();
      }
      LockKey key = found.get(i);
      Reply.Held.of(reply).ifPresent(lock -> held.put(key, lock));
    }
  }
}
