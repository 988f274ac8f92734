package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The names of a lock's, an attempt's and a mark's node. */
final class Names {
  /** The beginning of a mark's name; no hexadecimal digit, so no owner id has it. */
  static final String MARK_PREFIX = "hold-";

  /** The node that is written to ask for the leader's time; no kind of lock begins so. */
  static final String CLOCK = "clock";

  private static final String UNESCAPED = "-._~";

  private Names() {}

  /**
   * A lock's node: its kind, and its name with everything but letters, digits and a few signs of
   * ASCII as the hexadecimal bytes of its UTF-8. Injective, never {@code .} or {@code ..}, and
   * without what ZooKeeper refuses in a path (emoji, for one).
   */
  static String of(LockKey key) {
    return prefix(key.kind(), key.name());
  }

  /**
   * The beginning of the nodes of all locks whose names begin so: each byte is written on its own.
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

  /** The lock whose node is called so; null: it is no lock's. */
  static @Nullable LockKey key(LockKind kind, String node) {
    try {
      String escaped = node.substring(prefix(kind, "").length());
      LockKey key = new LockKey(kind, URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      return of(key).equals(node) ? key : null;
    } catch (IllegalArgumentException e) {
      // Not escaped as ours, or no lock may be called so: the node is somebody else's.
      return null;
    }
  }

  /** An attempt's node, by its owner id, before ZooKeeper appends the sequence number. */
  static String ofOwner(String ownerId) {
    return ownerId + "-";
  }

  /** The mark that a grant with a minimum hold leaves. */
  static String ofMark(long number) {
    return String.format(Locale.ROOT, MARK_PREFIX + "%016x", number);
  }
}
