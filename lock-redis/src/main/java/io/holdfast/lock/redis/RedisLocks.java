package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.providers.SentineledConnectionProvider;
import redis.clients.jedis.util.Pool;

/**
 * Locks in Redis 7.0 or later, or in Valkey, by Jedis 7.4 or later 7s, or 8.
 *
 * <pre>{@code
 * try (LockClient locks = RedisLocks.builder(redisClient).build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>A call borrows a connection of your client's pool for one script. Beside the pool, with its
 * settings, a lock client opens a connection of its own where the pool has none for a renewal or a
 * release, and another while somebody waits. Opening a connection takes as long as your client's
 * timeouts allow: set its connection and socket timeouts no longer than the store timeout.
 *
 * <p>Redis can lose what it confirmed: at a failover, and at a restart without persistence. Then
 * two may believe that they hold a lock. The token and {@link RedisGuard} are the answer.
 */
public final class RedisLocks {
  static final String DEFAULT_PREFIX = "holdfast";
  static final Duration NUMBERS_KEPT = Duration.ofHours(1);

  /** Longer than a place in line lasts: it goes with the number. */
  private static final Duration NUMBERS_KEPT_MIN = Duration.ofSeconds(10);

  private static final Duration NUMBERS_KEPT_MAX = Duration.ofDays(30);

  private static final int QUORUM_MIN = 3;
  private static final int QUORUM_MAX = 9;

  private RedisLocks() {}

  /**
   * Begins a client on one server.
   *
   * @param client stays yours to close
   * @throws IllegalArgumentException the client has no pool of connections
   */
  public static Builder builder(RedisClient client) {
    Pool<Connection> pool = poolOf(client);
    return new Builder(() -> key -> pool);
  }

  /**
   * Begins a client on the primary that Sentinels name.
   *
   * @param client stays yours to close
   */
  public static Builder builder(RedisSentinelClient client) {
    Objects.requireNonNull(client);
    return new Builder(
        () -> sentinelPrimary(JedisProviders.of(client, SentineledConnectionProvider.class)));
  }

  private static Primaries sentinelPrimary(SentineledConnectionProvider jedis) {
    return key -> jedis.getPrimaryNodesConnectionMap().values().stream()
        .findFirst()
        .orElseThrow(() -> StoreException.refused("The Sentinels name no primary", null));
  }

  /**
   * Begins a client on a Cluster. Each lock is in the slot of its name.
   *
   * @param client stays yours to close
   */
  public static Builder builder(RedisClusterClient client) {
    Objects.requireNonNull(client);
    return new Builder(
        () -> new ClusterPrimaries(JedisProviders.of(client, ClusterConnectionProvider.class)));
  }

  /**
   * Begins a client on several servers that know nothing of each other: no replicas of one another,
   * no Cluster. Who has a lock on most of them holds it, so that the loss of fewer loses no lock.
   *
   * <p>Nothing else of Redis answers a failover as well, and still it is no replacement for the
   * token: two can hold at once if a server comes back without what it had confirmed while others
   * are away, or if clocks jump. {@link RedisGuard} can't be used: no single server knows who holds
   * the lock. Those who wait ask again and again, in no order, and every acquire costs each server
   * two scripts. The page of Redis in the documentation says what to watch.
   *
   * @param clients one for each server, 3, 5, 7 or 9; they stay yours to close
   * @throws IllegalArgumentException another number of them, one of them twice, or one has no pool
   *     of connections
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
      throw new IllegalArgumentException("Numbers can be kept for "
          + NUMBERS_KEPT_MIN
          + " to "
          + NUMBERS_KEPT_MAX
          + ", not "
          + keep);
    }
    return keep;
  }

  /** Makes a client of several servers. */
  public static final class QuorumBuilder extends LockClientBuilder<QuorumBuilder> {
    private final List<Pool<Connection>> pools;
    private String prefix = DEFAULT_PREFIX;
    private Duration numbersKept = NUMBERS_KEPT;

    private QuorumBuilder(List<Pool<Connection>> pools) {
      this.pools = pools;
    }

    /**
     * What every key begins with; default {@code holdfast}. Clients with different prefixes have
     * different locks.
     *
     * @throws IllegalArgumentException not 1 to 64 ASCII letters, digits and characters of {@code _
     *     . : / -}
     */
    public QuorumBuilder prefix(String prefix) {
      this.prefix = Keys.checkPrefix(prefix);
      return this;
    }

    /**
     * For how long a server keeps the number of a name's last grant, after that grant could last;
     * default: 1 hour. So long each name that was used takes up memory, some 200 bytes. Tokens rise
     * over a server's clock that is set back as long as the numbers are there.
     *
     * @param keep 10 seconds to 30 days
     * @throws IllegalArgumentException outside those
     */
    public QuorumBuilder keepNumbersFor(Duration keep) {
      this.numbersKept = checkNumbersKept(keep);
      return this;
    }

    /**
     * For {@link #build()}. A minority of the servers may be down.
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

  /** Makes a client of Redis. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final Supplier<Primaries> primaries;
    private String prefix = DEFAULT_PREFIX;
    private Duration numbersKept = NUMBERS_KEPT;
    private @Nullable Replicas replicas;

    private Builder(Supplier<Primaries> primaries) {
      this.primaries = primaries;
    }

    /**
     * What every key and channel begins with; default {@code holdfast}. Clients with different
     * prefixes have different locks.
     *
     * @throws IllegalArgumentException not 1 to 64 ASCII letters, digits and characters of {@code _
     *     . : / -}
     */
    public Builder prefix(String prefix) {
      this.prefix = Keys.checkPrefix(prefix);
      return this;
    }

    /**
     * For how long a server keeps the number of a name's last grant, after that grant could last;
     * default: 1 hour. So long each name that was used takes up memory, some 200 bytes. Tokens rise
     * over a server's clock that is set back as long as the numbers are there.
     *
     * <p>Say the same in all clients: who is handed the lock keeps the number for as long as the
     * holder before it said, and not for its own time.
     *
     * @param keep 10 seconds to 30 days
     * @throws IllegalArgumentException outside those
     */
    public Builder keepNumbersFor(Duration keep) {
      this.numbersKept = checkNumbersKept(keep);
      return this;
    }

    /**
     * Has an acquire succeed only once so many replicas have received the grant ({@code WAIT}),
     * also when the lock is handed over by its last holder; default: none is waited for.
     *
     * <p>If they have not within the timeout, the grant is withdrawn, and the acquire throws
     * {@link LockStoreException}. With too few replicas there, every acquire takes that long and
     * fails.
     *
     * <p>A failover to one of those replicas then finds the lock taken. It makes losses rarer, not
     * impossible: another replica may be elected, and renewals are not waited for, so after a
     * failover a lease may end early at the store. The token and {@link RedisGuard} are still
     * needed where two holders would do harm.
     *
     * @param count 1 to 100
     * @param timeout how long that may take: at least 1 ms, and at most half of the store timeout,
     *     which {@link #build()} checks
     * @throws IllegalArgumentException outside those
     */
    public Builder waitForReplicas(int count, Duration timeout) {
      this.replicas = Replicas.of(count, timeout);
      return this;
    }

    /**
     * For {@link #build()}.
     *
     * @throws IllegalArgumentException the time for replicas is over half of the store timeout
     * @throws IllegalStateException the server is too old, or the Jedis on the class path is not
     *     supported
     */
    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      JedisProviders.checkVersion();
      if (replicas != null) {
        replicas.check(settings.storeTimeout());
      }
      return RedisStore.open(primaries.get(), prefix, numbersKept, replicas, settings);
    }
  }
}
