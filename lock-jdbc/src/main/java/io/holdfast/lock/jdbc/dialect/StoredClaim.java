package io.holdfast.lock.jdbc.dialect;

import java.util.List;
import java.util.Map;

/**
 * A claim as the database stores it.
 *
 * @param key the stored name
 * @param owner the claim's owner id
 * @param ttlMicros the time for which the lock is taken, in microseconds
 * @param holder the description of the holder, for humans
 */
public record StoredClaim(String key, String owner, long ttlMicros, String holder) {

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
        "ttl", claims.get(0).ttlMicros());
  }
}
