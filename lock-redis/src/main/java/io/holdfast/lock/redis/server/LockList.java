package io.holdfast.lock.redis.server;

import io.holdfast.lock.redis.server.Server.Mode;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
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
 * A list of held locks, read one server after the other and page by page. A page costs one round
 * trip, and a second one if it has names of locks, even of free ones.
 */
public final class LockList {
  /** SCAN's cursor for the first page. SCAN also returns it with the last page. */
  private static final String FIRST = "0";

  /** The number of keys that are scanned at once; the server does nothing else meanwhile. */
  private static final int SCANNED_AT_ONCE = 1_000;

  private final Server server;
  private final String prefix;
  private final LockKind kind;
  private final String namePrefix;
  private final Deadline deadline;
  private final Map<LockKey, Reply.Held> held = new LinkedHashMap<>();

  /**
   * Makes a list that has not begun.
   *
   * @param prefix the prefix of all the client's keys
   * @param kind the kind of the locks
   * @param namePrefix the prefix of their names
   */
  public LockList(
      Server server, String prefix, LockKind kind, String namePrefix, Deadline deadline) {
    this.server = server;
    this.prefix = prefix;
    this.kind = kind;
    this.namePrefix = namePrefix;
    this.deadline = deadline;
  }

  /** Lists locks that are held, up to a limit. */
  public List<StoredLock> read(int limit) throws StoreException {
    try {
      return search(limit).entrySet().stream()
          .limit(limit)
          .map(lock -> new StoredLock(
              lock.getKey(),
              lock.getValue().holder(),
              OptionalInt.of(lock.getValue().waiting())))
          .toList();
    } catch (StoreException e) {
      throw failure(deadline, e);
    }
  }

  /**
   * Makes the exception for a list that failed, or for a server with more keys than can be scanned
   * in time.
   */
  public static StoreException failure(Deadline deadline, StoreException e) {
    // A socket's timeout is in whole milliseconds, so it can end up to one before the deadline.
    return deadline.leftMillis() <= 1
        ? StoreException.unanswered(
            ("The locks could not be listed within %s, for which the server looks through all of"
                    + " its keys. Build the client with a longer storeTimeout. At last: %s")
                .formatted(deadline.whole(), e.getMessage()),
            e)
        : e;
  }

  /** Finds locks that are held: all of them, or, once there are enough, those found so far. */
  public Map<LockKey, Reply.Held> search(int enough) throws StoreException {
    for (Pool<Connection> pool : server.primaries.all(deadline)) {
      if (held.size() >= enough) {
        break;
      }
      String cursor = FIRST;
      do {
        cursor = scan(pool, cursor);
      } while (!cursor.equals(FIRST) && held.size() < enough);
    }
    return held;
  }

  /** Returns those of these locks that are held; all are on one server. */
  public Map<LockKey, Reply.Held> look(Set<LockKey> locks) throws StoreException {
    look(server.primaries.all(deadline).get(0), List.copyOf(locks));
    return held;
  }

  /**
   * Scans a page of a server's keys, and looks at its locks; takes a short time, however many keys
   * there are.
   *
   * @return the cursor of the next page
   */
  private String scan(Pool<Connection> pool, String cursor) throws StoreException {
    if (deadline.isOver()) {
      throw StoreException.refused("The time was over before all keys were looked through", null);
    }
    List<Object> arguments = List.of(cursor, Keys.glob(prefix, kind, namePrefix), SCANNED_AT_ONCE);
    Call scan = new Call(Script.SCAN, List.of(), arguments, false, null);
    Object reply = server.run(pool, scan, deadline);
    if (reply instanceof List<?> both && both.size() == 2 && both.get(1) instanceof List<?> keys) {
      look(pool, locks(keys));
      return Reply.text(both.get(0));
    }
    throw Reply.noAnswer(reply);
  }

  /** Returns the locks that are looked for among these keys, and are not known to be held. */
  private List<LockKey> locks(List<?> keys) {
    // A scan can return a key twice, and so can two servers while slots move.
    return keys.stream()
        .flatMap(key -> Keys.parse(prefix, kind, Reply.text(key)).stream())
        .filter(lock -> lock.name().startsWith(namePrefix) && !held.containsKey(lock))
        .distinct()
        .toList();
  }

  private void look(Pool<Connection> pool, List<LockKey> locks) throws StoreException {
    if (locks.isEmpty()) {
      return;
    }
    List<Call> calls = locks.stream().map(lock -> Call.look(prefix, lock)).toList();
    List<Object> replies = server.runAll(pool, calls, deadline);
    for (int i = 0; i < replies.size(); i++) {
      Object reply = replies.get(i);
      if (reply instanceof JedisDataException || reply instanceof StoreException) {
        // The key may have moved: ask the server that has it now.
        reply = server.run(calls.get(i), Mode.ASK, deadline).reply();
      }
      LockKey key = locks.get(i);
      Reply.Held.any(reply).ifPresent(lock -> held.put(key, lock));
    }
  }
}
