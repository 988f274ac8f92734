package io.holdfast.lock.jdbc.dialect;

import java.util.List;
import java.util.Map;

/**
 * A claim as the database stores it.
 *
 * @param key the stored name
 * @param owner the claim's owner id
 * @param shared whether it shares the lock with others that do: a reader's
 * @param ttlMicros the time for which the lock is taken, in microseconds
 * @param holder the description of the holder, for humans
 */
public record StoredClaim(String key, String owner, boolean shared, long ttlMicros, String holder) {

  /**
   * Returns this claim as one that has the lock to itself. So does a reader to which a client
   * handed the lock over that does not know readers.
   */
  public StoredClaim alone() {
    return new StoredClaim(key, owner, false, ttlMicros, holder);
  }

  /** Returns the mode in the table of waiters. */
  String mode() {
    return shared ? "r" : "w";
  }

  /**
   * Returns the parameters of a statement about a grant of this claim.
   *
   * @param micros the time for which the lock is taken from now on
   */
  Map<String, ?> grant(long number, long micros) {
    return Map.of("key", key, "owner", owner, "number", number, "hold", micros, "ttl", micros);
  }

  /**
   * Returns the keys and the owner ids as two lists. These match no wrong pairs, since an owner id
   * belongs to one lock.
   */
  static Map<String, ?> all(List<StoredClaim> claims) {
    return Map.of(
        "keys", claims.stream().map(StoredClaim::key).toList(),
        "owners", claims.stream().map(StoredClaim::owner).toList(),
        "mode", claims.get(0).mode(),
        "ttl", claims.get(0).ttlMicros());
  }
}
