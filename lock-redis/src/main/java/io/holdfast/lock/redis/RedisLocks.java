package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.SemaphoreClientBuilder;
import io.holdfast.lock.redis.quorum.QuorumStore;
import io.holdfast.lock.redis.server.ClusterPrimaries;
import io.holdfast.lock.redis.server.JedisProviders;
import io.holdfast.lock.redis.server.Keys;
import io.holdfast.lock.redis.server.Primaries;
import io.holdfast.lock.redis.server.Replicas;
import io.holdfast.lock.redis.store.RedisStore;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.providers.SentineledConnectionProvider;
import redis.clients.jedis.util.Pool;

/**
 * Locks in Redis 7.0 or later, or in Valkey, with Jedis 7.4 or a later 7.x, or 8.
 *
 * <pre>{@code
 * try (LockClient locks = RedisLocks.builder(redisClient).build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>Each call borrows a connection of your client's pool for one script. A lock client also opens
 * connections of its own, with the pool's settings: one if the pool has none to give for a renewal
 * or a release, or to check a doubtful answer, and another while threads wait. Opening a connection
 * can take as long as your client's timeouts allow, so set its connection and socket timeouts no
 * longer than the store timeout.
 *
 * <p>Redis can lose what it confirmed, at a failover or at a restart without persistence. Two
 * clients may then believe that they hold the same lock. Use the token or {@link RedisGuard} to
 * protect against that.
 */
public final class RedisLocks {
  static final String DEFAULT_PREFIX = "holdfast";
  static final Duration NUMBERS_KEPT = Duration.ofHours(1);

  /**
   * The least time for which numbers are kept; longer than a place in line lasts, since the place
   * is deleted with the number.
   */
  private static final Duration NUMBERS_KEPT_MIN = Duration.ofSeconds(10);

  private static final Duration NUMBERS_KEPT_MAX = Duration.ofDays(30);

  private static final int QUORUM_MIN = 3;
  private static final int QUORUM_MAX = 9;

  private RedisLocks() {}

  /**
   * Returns a builder of a client on one server.
   *
   * @param client the Jedis client, which the lock client does not close
   * @throws IllegalArgumentException the client has no pool of connections
   */
  public static Builder builder(RedisClient client) {
    Pool<Connection> pool = poolOf(client);
    return new Builder(settings -> key -> pool);
  }

  /**
   * Returns a builder of a client on the primary that Sentinels name.
   *
   * @param client the Jedis client, which the lock client does not close
   */
  public static Builder builder(RedisSentinelClient client) {
    Objects.requireNonNull(client);
    return new Builder(
        settings -> sentinelPrimary(JedisProviders.of(client, SentineledConnectionProvider.class)));
  }

  private static Primaries sentinelPrimary(SentineledConnectionProvider jedis) {
    return key -> jedis.getPrimaryNodesConnectionMap().values().stream()
        .findFirst()
        .orElseThrow(() -> StoreException.refused("The Sentinels name no primary", null));
  }

  /**
   * Returns a builder of a client on a Cluster. Each lock is in the slot of its name.
   *
   * @param client the Jedis client, which the lock client does not close
   */
  public static Builder builder(RedisClusterClient client) {
    Objects.requireNonNull(client);
    return new Builder(settings -> new ClusterPrimaries(
        JedisProviders.of(client, ClusterConnectionProvider.class),
        "holdfast-" + settings.clientName() + "-topology"));
  }

  /**
   * Returns a builder of a client on several independent servers, which must not be replicas of one
   * another or a Cluster. A client that has the lock on a majority of them holds it, so losing a
   * minority of the servers loses no lock.
   *
   * <p>Of the ways to use Redis, this one copes best with the loss of a server. It does not replace
   * the token: two clients can hold a lock at once if a server comes back without what it had
   * confirmed while others are down, or if clocks jump. {@link RedisGuard} can't be used, since no
   * single server knows who holds the lock. Waiters poll, in no order, and each acquire costs two
   * scripts on every server. The Redis page of the documentation says what to watch.
   *
   * @param clients one Jedis client for each of 3, 5, 7 or 9 servers; the lock client does not
   *     close them
   * @throws IllegalArgumentException there is another number of them, one of them is listed twice,
   *     or one has no pool of connections
   */
  public static QuorumBuilder quorum(List<RedisClient> clients) {
    int count = clients.size();
    if (count < QUORUM_MIN || count > QUORUM_MAX || count % 2 == 0) {
      throw new IllegalArgumentException("A quorum needs 3, 5, 7 or 9 servers, was given "
          + count
          + " (an even number bears no more failures than one less)");
    }
    if (Set.copyOf(clients).size() < count) {
      throw new IllegalArgumentException("A client is in the list of a quorum twice: each server"
          + " has one vote, and one client");
    }
    return new QuorumBuilder(clients.stream().map(RedisLocks::poolOf).toList());
  }

  private static Pool<Connection> poolOf(RedisClient client) {
    Objects.requireNonNull(client);
    try {
      return Objects.requireNonNull(client.getPool());
    } catch (ClassCastException | NullPointerException e) {
      throw new IllegalArgumentException(
          "The client must have a pool of connections: build it with a host and port", e);
    }
  }

  private static Duration checkNumbersKept(Duration keep) {
    if (keep.compareTo(NUMBERS_KEPT_MIN) < 0 || keep.compareTo(NUMBERS_KEPT_MAX) > 0) {
      throw new IllegalArgumentException("Numbers can be kept for %s to %s, not %s"
          .formatted(NUMBERS_KEPT_MIN, NUMBERS_KEPT_MAX, keep));
    }
    return keep;
  }

  /** Builds clients on several independent servers. */
  public static final class QuorumBuilder extends LockClientBuilder<QuorumBuilder> {
    private final List<Pool<Connection>> pools;
    private String prefix = DEFAULT_PREFIX;
    private Duration numbersKept = NUMBERS_KEPT;

    private QuorumBuilder(List<Pool<Connection>> pools) {
      this.pools = pools;
    }

    /**
     * Sets the prefix of every key; the default is {@code holdfast}. Clients with different
     * prefixes have different locks.
     *
     * @throws IllegalArgumentException not 1 to 64 ASCII letters, digits and characters of {@code _
     *     . : / -}
     */
    public QuorumBuilder prefix(String prefix) {
      this.prefix = Keys.checkPrefix(prefix);
      return this;
    }

    /**
     * Sets how long a server keeps the number of a name's last grant after that grant's latest end;
     * the default is 1 hour. For this time, each name that was used takes some 200 bytes of memory,
     * and tokens keep rising even if the server's clock is set back.
     *
     * @param keep 10 seconds to 30 days
     * @throws IllegalArgumentException the time is out of that range
     */
    public QuorumBuilder keepNumbersFor(Duration keep) {
      this.numbersKept = checkNumbersKept(keep);
      return this;
    }

    /**
     * Opens the store; called by {@link #build()}. A minority of the servers may be down.
     *
     * @throws IllegalStateException a server is too old, or two clients lead to one server; or the
     *     Jedis on the class path is not supported
     * @throws StoreException a majority did not answer
     */
    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      JedisProviders.checkVersion();
      return QuorumStore.open(pools, prefix, numbersKept, settings);
    }
  }

  /** Builds clients on a server, on Sentinels or on a Cluster. */
  public static final class Builder extends SemaphoreClientBuilder<Builder> {
    private final Function<StoreSettings, Primaries> primaries;
    private String prefix = DEFAULT_PREFIX;
    private Duration numbersKept = NUMBERS_KEPT;
    private @Nullable Replicas replicas;

    private Builder(Function<StoreSettings, Primaries> primaries) {
      this.primaries = primaries;
    }

    /**
     * Sets the prefix of every key and channel; the default is {@code holdfast}. Clients with
     * different prefixes have different locks.
     *
     * @throws IllegalArgumentException not 1 to 64 ASCII letters, digits and characters of {@code _
     *     . : / -}
     */
    public Builder prefix(String prefix) {
      this.prefix = Keys.checkPrefix(prefix);
      return this;
    }

    /**
     * Sets how long a server keeps the number of a name's last grant after that grant's latest end;
     * the default is 1 hour. For this time, each name that was used takes some 200 bytes of memory,
     * and tokens keep rising even if the server's clock is set back.
     *
     * <p>Use the same value in all clients: when a lock is handed over, the previous holder's value
     * applies, and not the new one's.
     *
     * @param keep 10 seconds to 30 days
     * @throws IllegalArgumentException the time is out of that range
     */
    public Builder keepNumbersFor(Duration keep) {
      this.numbersKept = checkNumbersKept(keep);
      return this;
    }

    /**
     * Makes an acquire succeed only once this many replicas have received the grant ({@code WAIT}),
     * also if the lock was handed over by its previous holder. By default an acquire waits for no
     * replica.
     *
     * <p>If they have not received it within the timeout, the grant is withdrawn, and the acquire
     * throws {@link LockStoreException}. While there are too few replicas, every acquire takes that
     * long and fails.
     *
     * <p>After a failover to one of those replicas, the lock is still taken. This makes losses
     * rarer, but not impossible: another replica may be elected, and renewals do not wait for
     * replicas, so a lease may end early at the store after a failover. The token or
     * {@link RedisGuard} is still needed where two holders would do harm.
     *
     * @param count the number of replicas, 1 to 100
     * @param timeout the longest time to wait for them: at least 1 ms, and at most half of the
     *     store timeout, which {@link #build()} checks
     * @throws IllegalArgumentException a value is out of range
     */
    public Builder waitForReplicas(int count, Duration timeout) {
      this.replicas = new Replicas(count, timeout);
      return this;
    }

    /**
     * Opens the store; called by {@link #build()}.
     *
     * @throws IllegalArgumentException the timeout for replicas is over half of the store timeout
     * @throws IllegalStateException the server is too old, or the Jedis on the class path is not
     *     supported
     */
    @Override
    protected PermitStore openStore(StoreSettings settings) throws StoreException {
      JedisProviders.checkVersion();
      if (replicas != null) {
        replicas.check(settings.storeTimeout());
      }
      return RedisStore.open(primaries.apply(settings), prefix, numbersKept, replicas, settings);
    }
  }
}
