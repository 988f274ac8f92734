package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The conversion of keys, times and descriptions to what is stored. */
final class Keys {
  /** The code of rows that a {@link TransactionLock} locks; no lock kind has it. */
  private static final char TRANSACTION = 't';

  /** Control characters, and halves of surrogate pairs. */
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cs}]");

  /** The most bytes of a name in a stored name that has a number, too. */
  private static final int BYTES_FIT = 790;

  /** The length up to which a name has no more bytes than that: a character has three at most. */
  private static final int CHARS_SURELY_FIT = BYTES_FIT / 3;

  private Keys() {}

  /**
   * Returns the stored name: the kind's letter, a colon, and the name unchanged; of a read lock
   * that of its mutex.
   */
  static String of(LockKey key) {
    return prefix(key.kind() == LockKind.READ ? LockKind.MUTEX : key.kind(), key.name());
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

  static Attempt attempt(Claim claim) {
    return new Attempt(
        of(claim.key()), ownerInLine(claim), micros(claim.ttl()), printable(claim.holder()));
  }

  /**
   * Returns the owner id that a claim has in the line, and in the row of a lock that was handed
   * over to it: a reader's has another first character, by which others know that it reads.
   */
  static String ownerInLine(Claim claim) {
    return claim.key().kind() == LockKind.READ
        ? Dialect.READER + claim.ownerId().substring(Dialect.READER.length())
        : claim.ownerId();
  }

  /** Returns the values for taking one permit of a semaphore. */
  static Attempt permitAttempt(Claim claim, int permit) {
    return new Attempt(
        ofPermit(claim.key(), permit),
        claim.ownerId(),
        micros(claim.ttl()),
        printable(claim.holder()));
  }

  /**
   * Returns the stored name of a permit: the kind's letter, the permit, a colon, and the name; or a
   * hash of the name if that would be longer than the longest stored name of a lock. (No name has a
   * control character, so no name is taken for a hash.)
   */
  static String ofPermit(LockKey key, int permit) {
    return key.kind().code() + Integer.toString(permit) + ":" + nameOrHash(key);
  }

  /** Returns the values for taking one place of a reader. */
  static Attempt placeAttempt(Claim claim, int place) {
    return new Attempt(
        ofPlace(claim.key(), place),
        claim.ownerId(),
        micros(claim.ttl()),
        printable(claim.holder()));
  }

  /** Returns the stored name of a reader's place: their prefix, and the number of the place. */
  static String ofPlace(LockKey key, int place) {
    return prefixOfPlaces(key) + place;
  }

  /**
   * Returns the prefix of the stored names of all places of readers of a lock: the kind's letter, a
   * colon, the name or a hash of it, and a character that no name has.
   */
  static String prefixOfPlaces(LockKey key) {
    return LockKind.READ.code() + ":" + nameOrHash(key) + '\u0001';
  }

  /** Returns the number of the place with this stored name. */
  static int parsePlace(String stored) {
    return Integer.parseInt(stored.substring(stored.lastIndexOf('\u0001') + 1));
  }

  private static String nameOrHash(LockKey key) {
    String name = key.name();
    boolean fits = name.length() <= CHARS_SURELY_FIT
        || name.getBytes(StandardCharsets.UTF_8).length <= BYTES_FIT;
    return fits ? name : '\u0001' + hash(name);
  }

  private static String hash(String name) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }

  /** Returns the stored names of this many permits. */
  static List<String> ofPermits(LockKey key, int permits) {
    return IntStream.range(0, permits).mapToObj(permit -> ofPermit(key, permit)).toList();
  }

  /** Splits a list into parts that one statement can work on. */
  static List<List<String>> batches(List<String> all) {
    List<List<String>> batches = new ArrayList<>();
    for (int from = 0; from < all.size(); from += Dialect.BATCH_MAX) {
      batches.add(all.subList(from, Math.min(all.size(), from + Dialect.BATCH_MAX)));
    }
    return batches;
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
    for (int i = 0; i < holder.length(); i++) {
      char c = holder.charAt(i);
      if (Character.isISOControl(c) || Character.isSurrogate(c)) {
        return UNPRINTABLE.matcher(holder).replaceAll("?");
      }
    }
    return holder;
  }
}
