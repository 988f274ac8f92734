package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.StoreException;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.exceptions.JedisDataException;

/** The meaning of Jedis's exceptions for a lock. */
public final class Failures {
  /** Errors that already stop a script's first write. */
  private static final Set<String> OF_THE_FIRST_WRITE =
      Set.of("READONLY", "OOM", "MISCONF", "NOREPLICAS");

  private static final String WRONG_USER = ". The client's user or password is wrong";

  /** The meaning of errors whose text does not say what to do. */
  private static final Map<String, String> REMEDIES = Map.of(
      "READONLY",
      ". This server is a replica: the client must be given the primary",
      "LOADING",
      ". It has just been started and takes no commands yet",
      "MISCONF",
      ". The server can't save its data to disk, and takes no writes: see its log",
      "NOREPLICAS",
      ". It takes no writes, since fewer replicas follow than its min-replicas-to-write says",
      "TRYAGAIN",
      ". The Cluster is moving the slot, and these keys are not all there: try again later",
      "NOPERM",
      ". What the user must be allowed is listed in docs/backends/redis.md",
      "WRONGPASS",
      WRONG_USER,
      "NOAUTH",
      WRONG_USER);

  private Failures() {}

  /**
   * Converts an error that the server answered. The request changed nothing, unless the error came
   * from within a script, which may have written before; but some errors stop a script's first
   * write already.
   */
  static StoreException answered(JedisDataException e) {
    String error = String.valueOf(e.getMessage());
    String message = "Redis answered an error: " + error + REMEDIES.getOrDefault(code(e), "");
    return isFromWithinAScript(error) && !OF_THE_FIRST_WRITE.contains(code(e))
        ? StoreException.unanswered(message, e)
        : StoreException.refused(message, e);
  }

  /** Converts the failure of a request that may have arrived, but was not answered. */
  static StoreException unanswered(RuntimeException e) {
    return StoreException.unanswered("Redis did not answer: " + e.getMessage(), e);
  }

  /** Converts the failure to get a connection, after which nothing was sent. */
  static StoreException unconnected(Throwable e) {
    return StoreException.refused("There is no connection to Redis: " + withCause(e), e);
  }

  /** Whether the error says that the server no longer takes writes. */
  static boolean isOfAFormerPrimary(JedisDataException e) {
    return code(e).equals("READONLY");
  }

  /**
   * Whether the error says that a guarded script did not run, since its lease is not valid at the
   * server.
   */
  public static boolean isOfALostLease(JedisDataException e) {
    return code(e).equals("HOLDFASTLOST");
  }

  /**
   * Whether the error says that keys that are used together are on two servers at the moment, and
   * so nothing was done.
   */
  static boolean isToBeTriedAgain(JedisDataException e) {
    return code(e).equals("TRYAGAIN");
  }

  private static String withCause(Throwable e) {
    Throwable cause = e.getCause();
    return cause == null ? e.toString() : e + " (" + cause + ")";
  }

  private static boolean isFromWithinAScript(String error) {
    return error.contains("script: ") || error.contains("@user_script");
  }

  /** Returns the error's first word, by which Redis tells errors apart. */
  private static String code(JedisDataException e) {
    return String.valueOf(e.getMessage()).split(" ", 2)[0];
  }
}
