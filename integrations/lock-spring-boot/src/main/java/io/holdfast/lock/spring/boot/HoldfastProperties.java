package io.holdfast.lock.spring.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the lock client.
 *
 * @param enabled Whether a lock client is configured.
 * @param store Store of the locks; by default the only one on the class path.
 * @param clientName Name of the client in threads, in the store and in messages; by default the
 *     application's name, or the host's if it has none.
 * @param ttl Time for which the store keeps a lease without a renewal. At least three times the
 *     store timeout.
 * @param maxHold Time after which a lease is lost even if it is in use; by default there is no
 *     limit.
 * @param storeTimeout Longest time that one call to the store may take.
 * @param localHandOff Whether a lease may pass from one thread of this application to the next
 *     without a round trip.
 */
@ConfigurationProperties("holdfast")
record HoldfastProperties(
    @DefaultValue("true") boolean enabled,
    @Nullable StoreKind store,
    @Nullable String clientName,
    @DefaultValue("30s") Duration ttl,
    @Nullable Duration maxHold,
    @DefaultValue("5s") Duration storeTimeout,
    @DefaultValue("true") boolean localHandOff,
    @DefaultValue Jdbc jdbc,
    @DefaultValue Redis redis,
    @DefaultValue Zookeeper zookeeper,
    @DefaultValue Consul consul,
    @DefaultValue Actuator actuator) {

  /**
   * Locks in a SQL database.
   *
   * @param dataSource Name of the data source's bean, if there are several; by default the only
   *     one, or the primary one.
   * @param poolSize Number of connections of a pool that only the locks use, made with the settings
   *     of spring.datasource; by default the application's pool is used.
   * @param table Name of the lock table, with or without a schema before it.
   * @param schema What to do about the tables at the start. With "create", missing ones are made.
   * @param rawPoolWithoutAutoCommit Confirms that the data source is the pool itself, and hands out
   *     connections without autocommit because it is configured to.
   * @param notifications Whether PostgreSQL's notifications wake waiting threads; by default yes,
   *     unless a pooler is in between.
   */
  record Jdbc(
      @Nullable String dataSource,
      @Nullable Integer poolSize,
      @DefaultValue("holdfast_lock") String table,
      @DefaultValue("create") TableMode schema,
      @DefaultValue("false") boolean rawPoolWithoutAutoCommit,
      @Nullable Boolean notifications) {}

  /**
   * Locks in Redis or Valkey.
   *
   * @param uri Address of the server (redis:// or rediss://), for an application without Spring
   *     Data Redis; wins over spring.data.redis.
   * @param prefix Prefix of every key and channel.
   * @param keepNumbersFor Time for which the number of a name's last grant is kept after its end.
   */
  record Redis(
      @Nullable String uri,
      @DefaultValue("holdfast") String prefix,
      @DefaultValue("1h") Duration keepNumbersFor) {
    /** Leaves out the address, which may have a password in it. */
    @Override
    public String toString() {
      return "Redis[uri=" + hidden(uri) + ", prefix=" + prefix + ", keepNumbersFor="
          + keepNumbersFor + "]";
    }
  }

  /**
   * Locks in ZooKeeper.
   *
   * @param connectString Servers, as ZooKeeper's connect string; by default the application's
   *     CuratorFramework bean is used.
   * @param sessionTimeout Session timeout of a client made from the connect string.
   * @param path Path of the locks.
   */
  record Zookeeper(
      @Nullable String connectString,
      @DefaultValue("60s") Duration sessionTimeout,
      @DefaultValue("/holdfast") String path) {}

  /**
   * Locks in Consul.
   *
   * @param address Scheme, host and port of the agent.
   * @param prefix Folder of all keys.
   * @param token ACL token.
   */
  record Consul(
      @DefaultValue("http://localhost:8500") String address,
      @DefaultValue("holdfast") String prefix,
      @Nullable String token) {
    /** Leaves out the token. */
    @Override
    public String toString() {
      return "Consul[address=" + address + ", prefix=" + prefix + ", token=" + hidden(token) + "]";
    }
  }

  /**
   * The Actuator endpoint of the locks.
   *
   * @param forceRelease Whether the endpoint may take a lock from its holder. It also needs the
   *     endpoint's access to be unrestricted.
   * @param page Whether the endpoint has a page for humans, at "locks/page".
   */
  record Actuator(
      @DefaultValue("false") boolean forceRelease,
      @DefaultValue("false") boolean page) {}

  private static String hidden(@Nullable String secret) {
    return secret == null ? "none" : "******";
  }

  /** The ways to deal with the tables when the application starts. */
  enum TableMode {
    /** Make those that are missing, then check them. */
    CREATE,
    /** Check them, and fail if they are missing or wrong. */
    VALIDATE,
    /** Neither. */
    NONE
  }
}
