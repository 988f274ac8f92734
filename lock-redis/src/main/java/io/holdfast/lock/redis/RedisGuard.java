package io.holdfast.lock.redis;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/**
 * Writes to the Redis that has the lock, only while the lease stands there, whatever the clocks
 * did: the server checks and writes in one step, so a holder that was frozen past its time and woke
 * up can't write.
 *
 * <pre>{@code
 * try (Lease lease = lock.lock()) {
 *   RedisGuard.on(lease).set("stock:42", "99");
 * }
 * }</pre>
 *
 * <p>A write is sent once. One whose answer got lost throws {@link LockStoreException}, and may
 * have been made, or may yet be: as long as the lease stands, and never after it was closed.
 *
 * <p>Threads: safe for all. Each write is one round trip, and a lease that is closed meanwhile is
 * released after it.
 */
public final class RedisGuard {
  private static final Script SET = Script.guarded("return redis.call('SET', KEYS[1], ARGV[1])\n");
  private static final Script HSET =
      Script.guarded("return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])\n");

  private final Lease lease;

  private RedisGuard(Lease lease) {
    this.lease = lease;
  }

  /**
   * A guard on a lease of {@link RedisLocks#builder}; whether it is one shows at the first write.
   */
  public static RedisGuard on(Lease lease) {
    return new RedisGuard(Objects.requireNonNull(lease));
  }

  /**
   * Sets a key, as Redis's {@code SET} does: its TTL, if it had one, is gone.
   *
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, or the key is
   *     in another slot of a Cluster than the lock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and nothing was written
   * @throws LockStoreException no usable answer; it may have been written
   */
  public void set(String key, String value) {
    Object unused = run(SET, List.of(key), List.of(value));
  }

  /**
   * Sets a field of a hash, as Redis's {@code HSET} does.
   *
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, or the key is
   *     in another slot of a Cluster than the lock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and nothing was written
   * @throws LockStoreException no usable answer; it may have been written
   */
  public void hset(String key, String field, String value) {
    Object unused = run(HSET, List.of(key), List.of(field, value));
  }

  /**
   * Runs a Lua script. It finds its own keys in {@code KEYS} and its arguments in {@code ARGV}; an
   * error of its own undoes nothing, as ever in Redis.
   *
   * @return what the script returned, with texts as {@code String}, integers as {@code Long} and
   *     tables as {@code List}
   * @throws IllegalArgumentException the lease is not of {@link RedisLocks#builder}, a key is in
   *     another slot of a Cluster than the lock, or the script names an engine in its first line
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost, and the script did not run
   * @throws LockStoreException no usable answer, an error of the script's own included; what it
   *     wrote may have been written
   */
  public @Nullable Object eval(String script, List<String> keys, List<String> arguments) {
    if (script.startsWith("#!")) {
      throw new IllegalArgumentException("A guarded script can't begin with '#!': it is put behind"
          + " the check of the lease; leave that line out");
    }
    return run(Script.guarded(script), keys, arguments);
  }

  private LeaseGuard<RedisGrant> open() {
    try {
      return LeaseGuard.open(lease, RedisGrant.class);
    } catch (IllegalArgumentException e) {
      throw isOfAQuorum()
          ? new IllegalArgumentException(
              "The lease of lock '"
                  + lease.name()
                  + "' is of a quorum, for which there are no guarded writes: no single server knows"
                  + " who holds the lock. Send the token with your writes",
              e)
          : e;
    }
  }

  private boolean isOfAQuorum() {
    try {
      LeaseGuard.open(lease, QuorumGrant.class).close();
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private @Nullable Object run(Script script, List<String> keys, List<String> arguments) {
    try (LeaseGuard<RedisGrant> guard = open()) {
      RedisGrant grant = guard.grant();
      String lock = grant.key();
      grant.store().server().checkTogether(lock, keys);
      List<String> allKeys = new ArrayList<>();
      allKeys.add(lock);
      allKeys.addAll(keys);
      List<String> allArguments = new ArrayList<>();
      allArguments.add(grant.claim().ownerId());
      allArguments.addAll(arguments);
      try {
        return SafeEncoder.encodeObject(
            grant.store().server().runOnce(new Call(script, allKeys, allArguments, false, null)));
      } catch (StoreException e) {
        if (e.getCause() instanceof JedisDataException answer && Failures.isOfALostLease(answer)) {
          throw guard.lost();
        }
        throw new LockStoreException(lease.name(), "A guarded write failed: " + e.getMessage(), e);
      }
    }
  }
}
