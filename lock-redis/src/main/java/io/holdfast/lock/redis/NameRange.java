package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The locks that are to be listed.
 *
 * @param keyPrefix the prefix of all the client's keys
 * @param kind the kind of the locks
 * @param namePrefix the prefix of their names
 */
record NameRange(String keyPrefix, LockKind kind, String namePrefix) {
  /** Returns the glob for the server, which filters most other keys. */
  String glob() {
    return Keys.glob(keyPrefix, kind, namePrefix);
  }

  /** Returns the locks of this range among these keys. */
  Set<LockKey> in(List<?> keys) {
    Set<LockKey> found = new LinkedHashSet<>();
    for (Object key : keys) {
      LockKey lock = Keys.parse(keyPrefix, kind, Reply.text(key));
      if (lock != null && lock.name().startsWith(namePrefix)) {
        found.add(lock);
      }
    }
    return found;
  }

  /** Makes the call that asks who has a lock. */
  Call look(LockKey key) {
    return Call.look(kind, Keys.of(keyPrefix, key));
  }

  /**
   * Makes the exception for a list that failed, or for a server with more keys than can be scanned
   * in time.
   */
  static StoreException failure(Deadline deadline, StoreException e) {
    // A socket counts in whole milliseconds, so it can give up one before the deadline.
    return deadline.leftMillis() <= 1
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
