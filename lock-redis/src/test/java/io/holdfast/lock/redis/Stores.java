package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/** Helpers that tests of the store share. */
public final class Stores {
  public static final String PREFIX = RedisLocks.DEFAULT_PREFIX;
  public static final Duration NUMBERS_KEPT = RedisLocks.NUMBERS_KEPT;
  public static final Duration STORE_TIMEOUT = Duration.ofSeconds(10);

  /** A TTL for tests that take so many locks that the first would end before the last is taken. */
  public static final Duration LONG_TTL = Duration.ofMinutes(10);

  private Stores() {}

  /** A server for the tests of one class after the other, without persistence. */
  private static final class Shared {
    static final ServerContainer SERVER =
        ServerContainer.start(Image.REDIS, "--save", "", "--appendonly", "no");

    private Shared() {}
  }

  public static HostAndPort sharedServer() {
    ServerContainer.assumeDocker();
    return address(Shared.SERVER);
  }

  @SuppressWarnings("exports")
  public static HostAndPort address(ServerContainer server) {
    return new HostAndPort(server.host(), server.port());
  }

  public static RedisClient client() {
    return RedisAccess.client(sharedServer(), 8);
  }

  public static RedisClient client(HostAndPort address, int poolSize) {
    return RedisAccess.client(address, poolSize);
  }

  public static PermitStore open(RedisClient client) throws StoreException {
    return RedisLocks.builder(client).openStore(settings());
  }

  /** Opens the store that a builder builds on, from packages that may not. */
  public static PermitStore open(RedisLocks.Builder builder, StoreSettings settings)
      throws StoreException {
    return builder.openStore(settings);
  }

  /** As for one server. */
  public static LockStore open(RedisLocks.QuorumBuilder builder, StoreSettings settings)
      throws StoreException {
    return builder.openStore(settings);
  }

  public static StoreSettings settings() {
    return Claims.settings(STORE_TIMEOUT);
  }

  /** A claim that stands in line, and what woke it. */
  public record Waiter(Claim claim, Ticket ticket, Semaphore woken) {
    public static Waiter join(LockStore store, LockKey key) throws StoreException {
      return join(store, Claims.claim(key));
    }

    public static Waiter join(LockStore store, Claim claim) throws StoreException {
      Semaphore woken = new Semaphore(0);
      Acquisition.Queued queued = (Acquisition.Queued) store.acquireOrQueue(claim, woken::release);
      return new Waiter(claim, queued.ticket(), woken);
    }

    /**
     * Waits until it hears: a waiter that begins to hear is woken once, polls, and keeps its place.
     */
    public void awaitHearing() throws Exception {
      Await.until("hears", () -> woken.drainPermits() > 0);
      if (!(ticket.poll() instanceof Ticket.Waiting)) {
        throw new AssertionError("It waits no longer");
      }
    }

    /** Waits until it is told of its turn, or to poll. */
    public void awaitCall() throws InterruptedException {
      if (!woken.tryAcquire(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("It was not told within " + Await.PATIENCE);
      }
    }

    /** Waits for its turn, and takes what it was told of, without a request. */
    public Grant handedOver() throws InterruptedException {
      awaitCall();
      return ticket.handedOver().orElseThrow();
    }

    /** Polls as the engine does, until it is granted. */
    public Grant awaitGrant() throws Exception {
      Grant[] grant = new Grant[1];
      Await.until("granted", () -> {
        if (ticket.poll() instanceof Ticket.Granted granted) {
          grant[0] = granted.grant();
        }
        return grant[0] != null;
      });
      return grant[0];
    }
  }

  /**
   * A user with the password "secret" who may do what locks need, as in docs/backends/redis.md, and
   * no more.
   */
  public static void allow(UnifiedJedis redis, String user, String besides) {
    String rights = "SETUSER " + user + " on >secret resetkeys resetchannels -@all"
        + " ~holdfast:* &holdfast:*"
        + " +evalsha +eval +lindex +lrange +lset +lpush +rpush +lpop +lrem"
        + " +pexpire +pexpireat +pexpiretime +pttl +time +scan"
        + " +publish +subscribe +ping +hello +client|setinfo "
        + besides;
    send(redis, Protocol.Command.ACL, rights.strip().split(" "));
  }

  /** A command for which Jedis has no method. */
  public static void send(UnifiedJedis redis, Protocol.Command command, String... arguments) {
    CommandArguments all = new CommandArguments(command);
    for (String argument : arguments) {
      all.add(argument);
    }
    Object unused = redis.executeCommand(all);
  }

  /** The number of times that the server ran a command. */
  public static long calls(UnifiedJedis redis, String command) {
    for (String line : redis.info("commandstats").lines().toList()) {
      if (line.startsWith("cmdstat_" + command + ":calls=")) {
        return Long.parseLong(line.substring(line.indexOf('=') + 1, line.indexOf(',')));
      }
    }
    return 0;
  }

  /** The number of all commands that the server ran. */
  public static long calls(UnifiedJedis redis) {
    return redis
        .info("commandstats")
        .lines()
        .filter(line -> line.startsWith("cmdstat_"))
        .mapToLong(line -> Long.parseLong(
            line.substring(line.indexOf("calls=") + "calls=".length(), line.indexOf(','))))
        .sum();
  }
}
