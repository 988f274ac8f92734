package io.holdfast.lock.jdbc.dialect;

import io.holdfast.lock.spi.Claim;
import java.util.List;
import java.util.Map;

/**
 * A claim as the database stores it.
 *
 * @param key the stored name
 * @param owner the claim's owner id
 * @param shared whether it shares the lock with others that do: a reader's, or one for a permit
 * @param ttlMicros the time for which the lock is taken, in microseconds
 * @param holder the description of the holder, for humans
 * @param permits the number of permits that the semaphore has, as the claimant knows it; 0: it is
 *     not for a permit
 */
public record StoredClaim(
    String key, String owner, boolean shared, long ttlMicros, String holder, int permits) {

  /** Makes one that is not for a permit. */
  public StoredClaim(String key, String owner, boolean shared, long ttlMicros, String holder) {
    this(key, owner, shared, ttlMicros, holder, 0);
  }

  /** Whether it is for a permit. */
  public boolean isForPermit() {
    return permits > 0;
  }

  /**
   * Returns this claim as one that has the lock to itself. So does a reader to which a client
   * handed the lock over that does not know readers.
   */
  public StoredClaim alone() {
    return new StoredClaim(key, owner, false, ttlMicros, holder);
  }

  /**
   * Returns the description in the table of waiters: of one for a permit, with a
   * {@linkplain PermitTag tag} whose permit does not matter.
   */
  String waiter() {
    if (!isForPermit()) {
      return holder;
    }
    String tag = new PermitTag(permits, 0).text();
    int lengthMax = Claim.HOLDER_LENGTH_MAX - tag.length();
    return holder.substring(0, Math.min(holder.length(), lengthMax)) + tag;
  }

  /** Returns the mode in the table of waiters. */
  String mode() {
    if (isForPermit()) {
      return "p";
    }
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
