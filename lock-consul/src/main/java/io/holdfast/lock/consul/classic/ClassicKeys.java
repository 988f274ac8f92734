package io.holdfast.lock.consul.classic;

import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.Optional;

/** The one key of each lock: {@code PREFIX/NAME/.lock}, as {@code consul lock PREFIX/NAME} has. */
public final class ClassicKeys {
  private static final String SUFFIX = "/.lock";

  private final String prefix;

  ClassicKeys(String prefix) {
    this.prefix = prefix;
  }

  String key(LockKey key) {
    return prefix + "/" + escape(key.name()) + SUFFIX;
  }

  /**
   * A prefix of the keys of all names that begin so; other keys may have it as well. How the last
   * slashes are written depends on what follows.
   */
  String all(String namePrefix) {
    int end = namePrefix.length();
    while (end > 0 && namePrefix.charAt(end - 1) == '/') {
      end--;
    }
    return prefix + "/" + escape(namePrefix.substring(0, end));
  }

  /** The lock that has this key; empty: it is no lock's, or its name can't be had here. */
  Optional<LockKey> lock(LockKind kind, String key) {
    int from = prefix.length() + 1;
    int to = key.length() - SUFFIX.length();
    return key.endsWith(SUFFIX) && to > from
        ? Keys.named(kind, key.substring(from, to), ClassicKeys::escape)
        : Optional.empty();
  }

  /**
   * Keeps the slashes of a path that is the same in a URL, so that it reads as it is written on a
   * command line, and writes the rest as {@link Keys#escape} does. Names that differ stay
   * different: each escape stands for one byte, and what could be taken for one is escaped.
   */
  public static String escape(String name) {
    StringBuilder escaped = new StringBuilder(name.length() + 8);
    String[] segments = name.split("/", -1);
    for (int i = 0; i < segments.length; i++) {
      if (i > 0) {
        boolean plain = !segments[i].isEmpty() && !segments[i - 1].isEmpty();
        escaped.append(plain ? "/" : "-_2F");
      }
      escaped.append(Keys.escape(segments[i]));
    }
    return escaped.toString();
  }
}
