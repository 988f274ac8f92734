package io.holdfast.lock.redis;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.redis.quorum.QuorumGrant;
import io.holdfast.lock.redis.server.Failures;
import io.holdfast.lock.redis.server.Scripts;
import io.holdfast.lock.redis.store.RedisGrant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/**
 * Guarded writes to the Redis server that has the lock: they are made only while the lease is valid
 * there, whatever clocks say. The server checks and writes in one step, so a holder that was frozen
 * past its deadline can't write when it wakes up.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock()) {
 *   RedisGuard.of(lease).set("stock:42", "99");
 * }
 * }</pre>
 *
 * <p>Each write is sent once. If its answer is lost, the method throws {@link LockStoreException}:
 * the write may have been made, or may yet be while the lease is valid, but never after the lease
 * was closed.
 *
 * <p>Threads: safe for use by any number of threads. Each write is one round trip; a lease that is
 * closed during a write is released after it.
 */
public final class RedisGuard {
  private static final Scripts SET =
      Scripts.guarded("return redis.call('SET', KEYS[1], ARGV[1])\n");
  private static final Scripts HSET =
      Scripts.guarded("return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])\n");

  private final Lease lease;

  private RedisGuard(Lease lease) {
    this.lease = lease;
  }

  /**
   * Returns a guard on a lease of {@link RedisLocks#builder}. The first write, and not this method,
   * checks that it is such a lease.
   */
  public static RedisGuard of(Lease lease) {
    return new RedisGuard(Objects.requireNonNull(lease));
  }

  /**
   * Sets a key, as Redis's {@code SET} does: its TTL, if it had one, is gone.
   *
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, or the key is
   *     in another slot of the Cluster than the lock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and nothing was written
   * @throws LockStoreException the server gave no usable answer; the value may have been written
   */
  public void set(String key, String value) {
    Object unused = run(SET, List.of(key), List.of(value));
  }

  /**
   * Sets a field of a hash, as Redis's {@code HSET} does.
   *
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, or the key is
   *     in another slot of the Cluster than the lock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and nothing was written
   * @throws LockStoreException the server gave no usable answer; the value may have been written
   */
  public void hset(String key, String field, String value) {
    Object unused = run(HSET, List.of(key), List.of(field, value));
  }

  /**
   * Runs a Lua script, with its keys in {@code KEYS} and its arguments in {@code ARGV}. As always
   * in Redis, an error in the script does not undo what it wrote before.
   *
   * @return the script's result, with strings as {@code String}, integers as {@code Long} and
   *     tables as {@code List}
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, a key is in
   *     another slot of the Cluster than the lock, or the script's first line names an engine
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and the script did not run
   * @throws LockStoreException the server gave no usable answer, or the script failed; its writes
   *     may have been made
   */
  public @Nullable Object eval(String script, List<String> keys, List<String> arguments) {
    if (script.startsWith("#!")) {
      throw new IllegalArgumentException("A guarded script can't begin with '#!': it is put behind"
          + " the check of the lease; leave that line out");
    }
    return run(Scripts.guarded(script), keys, arguments);
  }

  private LeaseGuard<RedisGrant> open() {
    try {
      return LeaseGuard.open(lease, RedisGrant.class);
    } catch (IllegalArgumentException e) {
      LeaseGuard.open(lease, QuorumGrant.class).close(); // Throws the same for other leases.
      throw new IllegalArgumentException(
          "The lease of lock '"
              + lease.name()
              + "' is of a quorum, for which there are no guarded writes: no single server knows"
              + " who holds the lock. Send the token with your writes",
          e);
    }
  }

  private @Nullable Object run(Scripts scripts, List<String> keys, List<String> arguments) {
    try (LeaseGuard<RedisGrant> guard = open()) {
      RedisGrant grant = guard.grant();
      try {
        return SafeEncoder.encodeObject(
            grant.store().runGuarded(grant.claim(), scripts, keys, arguments));
      } catch (StoreException e) {
        if (e.getCause() instanceof JedisDataException answer && Failures.isOfALostLease(answer)) {
          throw guard.lost();
        }
        throw new LockStoreException(lease.name(), "A guarded write failed: " + e.getMessage(), e);
      }
    }
  }
}
