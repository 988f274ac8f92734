package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Reader;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The conversion of keys, times and descriptions to what is stored. */
final class Keys {
  /** The code of rows that a {@link TransactionLock} locks; no lock kind has it. */
  private static final char TRANSACTION = 't';

  /** Control characters, and halves of surrogate pairs. */
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cs}]");

  private Keys() {}

  /** Returns the stored name: the kind's letter, a colon, and the name unchanged. */
  static String of(LockKey key) {
    return prefix(key.kind(), key.name());
  }

  /** Returns the stored name of a transaction lock. */
  static String ofTransaction(LockKey key) {
    return TRANSACTION + ":" + key.name();
  }

  /** Returns the prefix of the stored names of all locks of a kind whose names have this prefix. */
  static String prefix(LockKind kind, String namePrefix) {
    return kind.code() + ":" + namePrefix;
  }

  /** Returns the least text that is above all texts with this prefix, compared by UTF-8 bytes. */
  static String above(String prefix) {
    int last = prefix.codePointBefore(prefix.length());
    String before = prefix.substring(0, prefix.length() - Character.charCount(last));
    if (last == Character.MAX_CODE_POINT) {
      return above(before); // Ends at the kind's colon at the latest.
    }
    int next = last + 1 == Character.MIN_SURROGATE ? Character.MAX_SURROGATE + 1 : last + 1;
    return before + Character.toString(next);
  }

  /** Returns the lock with this stored name. */
  static LockKey parse(LockKind kind, String stored) {
    return new LockKey(kind, stored.substring(prefix(kind, "").length()));
  }

  static StoredClaim stored(Claim claim) {
    boolean shared = !(claim.mode() instanceof Claim.Exclusive);
    int permits = claim.mode() instanceof Claim.Permit permit ? permit.of() : 0;
    String holder = printable(claim.holder());
    return new StoredClaim(
        of(claim.key()),
        claim.ownerId(),
        shared,
        micros(claim.ttl()),
        shared ? Reader.printable(holder) : holder,
        permits);
  }

  static long micros(Duration duration) {
    return TimeUnit.NANOSECONDS.toMicros(duration.toNanos());
  }

  /** Returns a duration in microseconds, rounded up: a name must not become free early. */
  static long microsUp(Duration duration) {
    return micros(duration.plusNanos(999));
  }

  static Duration duration(long micros) {
    return Duration.ofNanos(TimeUnit.MICROSECONDS.toNanos(micros));
  }

  /** Removes characters that a database cannot store; a thread's name can contain them. */
  private static String printable(String holder) {
    return UNPRINTABLE.matcher(holder).replaceAll("?");
  }
}
