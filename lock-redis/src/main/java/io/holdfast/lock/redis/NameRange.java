package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The locks of which a list is asked for.
 *
 * @param keyPrefix what every key of the client begins with
 * @param kind their kind
 * @param namePrefix what their names begin with
 */
record NameRange(String keyPrefix, LockKind kind, String namePrefix) {
  /** For a server, to leave out what it can. */
  String glob() {
    return Keys.glob(keyPrefix, kind, namePrefix);
  }

  /** The locks among these keys. */
  Set<LockKey> in(List<String> keys) {
    Set<LockKey> found = new LinkedHashSet<>();
    for (String key : keys) {
      LockKey lock = Keys.parse(keyPrefix, kind, key);
      if (lock != null && lock.name().startsWith(namePrefix)) {
        found.add(lock);
      }
    }
    return found;
  }

  String key(LockKey key) {
    return Keys.of(keyPrefix, key);
  }

  /** What to throw: a server has more keys than can be looked through in time, or it failed. */
  static StoreException failure(Deadline deadline, StoreException e) {
    return deadline.isOver()
        ? StoreException.unanswered(
            "The locks could not be listed within "
                + deadline.whole()
                + ", for which the server looks through all of its keys. Build the client with a"
                + " longer storeTimeout. At last: "
                + e.getMessage(),
            e)
        : e;
  }
}
