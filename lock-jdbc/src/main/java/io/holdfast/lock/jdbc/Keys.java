package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How claims are written down. */
final class Keys {
  /** The code of a row that a {@link TransactionLock} locks; no lock kind's. */
  private static final char TRANSACTION = 't';

  private Keys() {}

  /** The kind's letter, a colon, and the name as it is. */
  static String of(LockKey key) {
    return prefix(key.kind(), key.name());
  }

  /** The row of a transaction lock; the name's rules are those of all locks. */
  static String ofTransaction(LockKey key) {
    return TRANSACTION + ":" + key.name();
  }

  /** The beginning of the stored names of all locks of a kind whose names begin so. */
  static String prefix(LockKind kind, String namePrefix) {
    return kind.code() + ":" + namePrefix;
  }

  /** The least text that is above all that begin with this prefix, byte by byte in UTF-8. */
  static String above(String prefix) {
    int last = prefix.codePointBefore(prefix.length());
    String before = prefix.substring(0, prefix.length() - Character.charCount(last));
    if (last == Character.MAX_CODE_POINT) {
      return above(before); // Ends at the kind's colon.
    }
    int next = last + 1 == Character.MIN_SURROGATE ? Character.MAX_SURROGATE + 1 : last + 1;
    return before + Character.toString(next);
  }

  /** The lock whose row has this stored name. */
  static LockKey parse(LockKind kind, String stored) {
    return new LockKey(kind, stored.substring(prefix(kind, "").length()));
  }

  static Attempt attempt(Claim claim) {
    return new Attempt(
        of(claim.key()), claim.ownerId(), micros(claim.ttl()), printable(claim.holder()));
  }

  static long micros(Duration duration) {
    return TimeUnit.NANOSECONDS.toMicros(duration.toNanos());
  }

  /** Rounded up: a name must not get free early. */
  static long microsUp(Duration duration) {
    return micros(duration.plusNanos(999));
  }

  static Duration duration(long micros) {
    return Duration.ofNanos(TimeUnit.MICROSECONDS.toNanos(micros));
  }

  /** A thread's name can hold what a database can't. */
  private static String printable(String holder) {
    for (int i = 0; i < holder.length(); i++) {
      char c = holder.charAt(i);
      if (Character.isISOControl(c) || Character.isSurrogate(c)) {
        return replaceUnprintable(holder);
      }
    }
    return holder;
  }

  private static String replaceUnprintable(String holder) {
    StringBuilder text = new StringBuilder(holder.length());
    holder
        .codePoints()
        .map(c -> Character.isISOControl(c) || isHalf(c) ? '?' : c)
        .forEach(text::appendCodePoint);
    return text.toString();
  }

  private static boolean isHalf(int codePoint) {
    return codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
  }
}
