package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/** The interpretation of scripts' replies. */
public final class Reply {
  private static final int HELD_PARTS = 7;

  private Reply() {}

  /** Whether an acquire was answered with a grant: its number, or a permit and its number. */
  static boolean isGrant(@Nullable Object reply) {
    return reply instanceof Long
        || (reply instanceof List<?> both && both.size() == 2 && both.get(1) instanceof Long);
  }

  /** Whether a script answered 1: it did something. */
  public static boolean isOne(@Nullable Object reply) {
    return reply instanceof Long number && number == 1;
  }

  /** Whether a script answered 0: there is no such grant. */
  public static boolean isZero(@Nullable Object reply) {
    return reply instanceof Long number && number == 0;
  }

  /**
   * Whether a reply must be checked on a new connection: it says that there is no such grant, or
   * that the server takes no writes. An old connection can say so of a grant that stands, since the
   * address may lead to another server by now. Either way nothing was changed.
   */
  static boolean isDoubtful(@Nullable Object reply) {
    return reply == null
        || isZero(reply)
        || (reply instanceof JedisDataException e
            && (Failures.isOfAFormerPrimary(e) || Failures.isOfALostLease(e)));
  }

  /** Whether a reply refuses what was asked for: it is doubtful, or another owner has the lock. */
  static boolean isNo(@Nullable Object reply) {
    return isDoubtful(reply)
        || (reply instanceof List<?> busy
            && busy.size() == 2
            && busy.get(0) instanceof Long
            && !isGrant(reply));
  }

  /** Returns the text of a reply; empty if it is none. */
  public static String text(@Nullable Object reply) {
    return reply instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : "";
  }

  static Duration millis(@Nullable Object reply) {
    return Duration.ofMillis(reply instanceof Long millis ? Math.max(0, millis) : 0);
  }

  /** Makes the exception for a reply that has none of the forms that the script answers. */
  public static StoreException noAnswer(@Nullable Object reply) {
    return StoreException.unanswered("Redis answered what is no answer: " + reply, null);
  }

  /** The answer to an acquire. */
  public sealed interface Acquired {
    /**
     * The lock was granted.
     *
     * @param permit the permit that was granted; 0 of a mutex
     */
    record Granted(long number, int permit) implements Acquired {}

    /**
     * Another owner has the lock.
     *
     * @param leftMillis the time that its grant has left
     * @param repeated as in {@link Server.Answer}: the first request may yet get the lock
     */
    record Busy(long leftMillis, String holder, boolean repeated) implements Acquired {}

    /**
     * Parses a reply of acquire.lua.
     *
     * @throws StoreException the semaphore has another number of permits, or the reply has another
     *     form
     */
    static Acquired of(Server.Answer answer, Claim claim) throws StoreException {
      Object reply = answer.reply();
      if (reply instanceof Long number) {
        return new Granted(number, 0);
      }
      List<?> parts = reply instanceof List<?> list ? list : List.of();
      if (parts.size() == 1
          && parts.get(0) instanceof Long stored
          && claim.mode() instanceof Claim.Permit asked) {
        throw permitsDiffer(claim.key(), asked.of(), stored.intValue(), answer.repeated());
      } else if (parts.size() == 2 && parts.get(0) instanceof Long permitOrLeft) {
        return parts.get(1) instanceof Long number
            ? new Granted(number, permitOrLeft.intValue())
            : new Busy(permitOrLeft, text(parts.get(1)), answer.repeated());
      }
      throw noAnswer(reply);
    }

    private static StoreException permitsDiffer(
        LockKey key, int asked, int stored, boolean repeated) {
      StoreException differ = new PermitsDifferException(key, asked, stored);
      // The first request may have got through, to another server.
      return repeated
          ? StoreException.unanswered("The connection broke; then: " + differ.getMessage(), differ)
          : differ;
    }
  }

  /**
   * One who has a lock, as its server shows it.
   *
   * @param permit 0 unless it is a permit that it has
   * @param owner the owner id of the grant
   * @param mode the mode in which it shares the lock; empty: it has that alone
   * @param waiting the number of waiters in line
   */
  public record Held(int permit, StoredHolder holder, String owner, String mode, int waiting) {
    static final String READER = "r";

    /** Parses a reply of look.lua; empty if the lock is free. */
    public static List<Held> all(@Nullable Object reply) throws StoreException {
      if (reply == null) {
        return List.of();
      }
      if (!(reply instanceof List<?> rows
          && rows.size() > 1
          && rows.get(rows.size() - 1) instanceof Long waiting)) {
        throw noAnswer(reply);
      }
      List<Held> held = new ArrayList<>();
      for (Object row : rows.subList(0, rows.size() - 1)) {
        held.add(of(row, waiting.intValue()));
      }
      return held;
    }

    /** Returns one of those who have the lock; empty if it is free. */
    public static Optional<Held> any(@Nullable Object reply) throws StoreException {
      return all(reply).stream().findFirst();
    }

    private static Held of(Object row, int waiting) throws StoreException {
      if (!(row instanceof List<?> parts
          && parts.size() == HELD_PARTS
          && parts.get(0) instanceof Long permit
          && parts.get(2) instanceof Long number)) {
        throw noAnswer(row);
      }
      // The number of a grant is its time in microseconds, unless the clock was set back.
      StoredHolder holder = new StoredHolder(
          number,
          text(parts.get(3)),
          Instant.EPOCH.plus(number, ChronoUnit.MICROS),
          millis(parts.get(4)),
          text(parts.get(1)).equals("r"));
      return new Held(permit.intValue(), holder, text(parts.get(5)), text(parts.get(6)), waiting);
    }

    /** Whether it is a reader. */
    public boolean isReader() {
      return mode.equals(READER);
    }
  }
}
