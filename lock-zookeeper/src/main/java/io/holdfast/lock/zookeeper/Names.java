package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The names of the nodes of locks, attempts and marks. */
final class Names {
  /**
   * The prefix of a mark's name; it does not begin with a hexadecimal digit, so no owner id begins
   * with it.
   */
  static final String MARK_PREFIX = "hold-";

  /** The name of the node that is written to get the leader's time; no lock's node has it. */
  static final String CLOCK = "clock";

  private static final String UNESCAPED = "-._~";

  private Names() {}

  /**
   * Returns the name of a lock's node: its kind, then its name, in which all characters except
   * ASCII letters, digits and a few signs are written as hexadecimal UTF-8 bytes. Different locks
   * have different names; none is {@code .} or {@code ..}, or has characters that ZooKeeper refuses
   * in a path (such as emoji).
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
    name.append(kind.code()).append('-');
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

  /** Returns the name of the mark that a grant with a minimum hold leaves. */
  static String ofMark(long number) {
    return String.format(Locale.ROOT, MARK_PREFIX + "%016x", number);
  }
}
