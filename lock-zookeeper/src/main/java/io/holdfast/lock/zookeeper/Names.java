package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The names of the nodes of locks, attempts and marks. */
final class Names {
  /**
   * The prefix of a mark's name; it does not begin with a hexadecimal digit, so no owner id begins
   * so.
   */
  static final String MARK_PREFIX = "hold-";

  /** The name of the node that is written to get the leader's time; no lock's node has it. */
  static final String CLOCK = "clock";

  /**
   * The sign before the number of a reader, of a sequence or a grant. Clients that know of no read
   * locks parse a number with it as they do without it, and so wait for the reader as for anybody
   * before them.
   */
  static final char SHARED = '+';

  private static final String UNESCAPED = "-._~";

  private Names() {}

  /**
   * Returns the name of a lock's node: its kind (a read lock's is that of the mutex, whose other
   * side it is), then its name, in which all characters except ASCII letters, digits and a few
   * signs are written as hexadecimal UTF-8 bytes. Different locks have different names; none is
   * {@code .} or {@code ..}, or has characters that ZooKeeper refuses in a path (such as emoji).
   */
  static String of(LockKey key) {
    return prefix(key.kind(), key.name());
  }

  /**
   * Returns the prefix of the nodes of all locks whose names have this prefix; this works since
   * each byte is escaped on its own.
   */
  static String prefix(LockKind kind, String namePrefix) {
    byte[] bytes = namePrefix.getBytes(StandardCharsets.UTF_8);
    StringBuilder name = new StringBuilder(bytes.length + 16);
    LockKind stored = kind == LockKind.READ ? LockKind.MUTEX : kind;
    name.append(stored.code()).append('-');
    for (byte one : bytes) {
      char c = (char) (one & 0xff);
      if ((c >= 'a' && c <= 'z')
          || (c >= 'A' && c <= 'Z')
          || (c >= '0' && c <= '9')
          || UNESCAPED.indexOf(c) >= 0) {
        name.append(c);
      } else {
        name.append('%')
            .append(Character.forDigit(c >> 4, 16))
            .append(Character.forDigit(c & 0xf, 16));
      }
    }
    return name.toString();
  }

  /**
   * Returns the path, below the root, of the node in which a claim stands in line. A semaphore has
   * one node for its number of permits within its own, and never two of them, so that claims that
   * say different numbers can't both stand.
   */
  static String of(Claim claim) {
    String node = of(claim.key());
    return claim.key().kind() == LockKind.PERMIT ? node + "/" + claim.permits() : node;
  }

  /** Returns the lock whose node has this name, or null if it is not a lock's. */
  static @Nullable LockKey key(LockKind kind, String node) {
    try {
      String escaped = node.substring(prefix(kind, "").length());
      LockKey key = new LockKey(kind, URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      return of(key).equals(node) ? key : null;
    } catch (IllegalArgumentException e) {
      // Not escaped as we do, or not a valid name of a lock: the node is not ours.
      return null;
    }
  }

  /** Returns the name of an attempt's node, to which ZooKeeper appends the sequence number. */
  static String ofOwner(String ownerId) {
    return ownerId + "-";
  }

  /** Returns the name of a reader's node; see {@link #ofOwner}. */
  static String ofReader(String ownerId) {
    return ofOwner(ownerId) + SHARED;
  }

  /** Returns the name of the node of a claim that waits for any permit; see {@link #ofOwner}. */
  static String ofWaiting(String ownerId) {
    return ownerId + "-w-";
  }

  /**
   * Returns the name of the node of a claim that wants one permit; see {@link #ofOwner}.
   *
   * @param bid the number of this claim's bids before this one. So no two of them have the same
   *     name, and cleaning up after one can't delete another
   */
  static String ofBid(String ownerId, int permit, int bid) {
    return ownerId + "-p" + permit + "." + bid + "-";
  }

  /** Returns the name of the mark that a grant with a minimum hold leaves. */
  static String ofMark(long number) {
    return String.format(Locale.ROOT, MARK_PREFIX + "%016x", number);
  }

  /** Returns the name of the mark that a reader's grant leaves. */
  static String ofReadersMark(long number) {
    return String.format(Locale.ROOT, MARK_PREFIX + SHARED + "%016x", number);
  }

  /** Whether a mark keeps writers out only. */
  static boolean isReadersMark(String mark) {
    return mark.charAt(MARK_PREFIX.length()) == SHARED;
  }

  /** Returns the name of the mark that the grant of a permit leaves. */
  static String ofMark(long number, int permit) {
    return ofMark(number) + "-" + permit;
  }

  /** Returns the number of the grant that left a mark. */
  static long numberOfMark(String name) throws StoreException {
    String digits = name.substring(MARK_PREFIX.length());
    int end = digits.indexOf('-');
    try {
      return Long.parseLong(end < 0 ? digits : digits.substring(0, end), 16);
    } catch (NumberFormatException e) {
      throw StoreException.refused("There is a node that is not a lock's: " + name, e);
    }
  }
}
