package io.holdfast.lock.redis;

import io.holdfast.lock.spi.StoreException;
import java.net.SocketTimeoutException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** The meaning of Jedis's exceptions for a lock. */
final class Failures {
  private Failures() {}

  /**
   * Converts an error that the server answered. The request changed nothing, unless the error came
   * from within a script: then this is certain only of errors that already stop a script's first
   * write.
   */
  static StoreException answered(JedisDataException e) {
    String error = String.valueOf(e.getMessage());
    String message = "Redis answered an error: " + error + remedy(error);
    return isFromWithinAScript(error) && !isOfTheFirstWrite(error)
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
    return String.valueOf(e.getMessage()).startsWith("READONLY");
  }

  /**
   * Whether the error says that a guarded script did not run, since its lease is not valid at the
   * server.
   */
  static boolean isOfALostLease(JedisDataException e) {
    return String.valueOf(e.getMessage()).startsWith("HOLDFASTLOST");
  }

  /**
   * Whether the error says that keys that are used together are on two servers at the moment;
   * nothing was done.
   */
  static boolean isToBeTriedAgain(JedisDataException e) {
    return String.valueOf(e.getMessage()).startsWith("TRYAGAIN");
  }

  static boolean isTimeout(JedisConnectionException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof SocketTimeoutException) {
        return true;
      }
    }
    return false;
  }

  private static String withCause(Throwable e) {
    Throwable cause = e.getCause();
    return cause == null ? e.toString() : e + " (" + cause + ")";
  }

  private static boolean isFromWithinAScript(String error) {
    return error.contains("script: ") || error.contains("@user_script");
  }

  private static boolean isOfTheFirstWrite(String error) {
    return startsWithAny(error, "READONLY", "OOM", "MISCONF", "NOREPLICAS") != null;
  }

  private static String remedy(String error) {
    String code = startsWithAny(
        error,
        "READONLY",
        "LOADING",
        "MISCONF",
        "NOREPLICAS",
        "NOPERM",
        "WRONGPASS",
        "NOAUTH",
        "TRYAGAIN");
    if (code == null) {
      return "";
    }
    return switch (code) {
      case "READONLY" -> ". This server is a replica: the client must be given the primary";
      case "LOADING" -> ". It has just been started and takes no commands yet";
      case "MISCONF" ->
        ". The server can't save its data to disk, and takes no writes: see its log";
      case "NOREPLICAS" ->
        ". It takes no writes, since fewer replicas follow than its min-replicas-to-write says";
      case "TRYAGAIN" ->
        ". The Cluster is moving the slot, and these keys are not all there: try again later";
      case "NOPERM" -> ". What the user must be allowed is listed in docs/backends/redis.md";
      default -> ". The client's user or password is wrong";
    };
  }

  private static @Nullable String startsWithAny(String error, String... codes) {
    for (String code : codes) {
      if (error.startsWith(code)) {
        return code;
      }
    }
    return null;
  }
}
