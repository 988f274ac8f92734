package io.holdfast.lock.redis;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The keys of locks, one each: {@code prefix:kind:{name}}. The name is the hash tag, so that
 * whatever keys of the caller's have that tag live in the same slot.
 */
final class Keys {
  private static final Pattern PREFIX = Pattern.compile("[A-Za-z0-9_.:/-]{1,64}");

  /** What means something in a glob. */
  private static final Pattern GLOB = Pattern.compile("[*?\\[\\]\\\\]");

  private Keys() {}

  static String of(String prefix, LockKey key) {
    return head(prefix, key.kind()) + escaped(key.name()) + '}';
  }

  /** The lock whose key this is; null: it is none. */
  static @Nullable LockKey parse(String prefix, LockKind kind, String lock) {
    String head = head(prefix, kind);
    if (!lock.startsWith(head) || !lock.endsWith("}")) {
      return null;
    }
    // The percent signs last: one that is written %25 begins nothing.
    String name = lock.substring(head.length(), lock.length() - 1)
        .replace("%7B", "{")
        .replace("%7D", "}")
        .replace("%25", "%");
    try {
      LockKey key = new LockKey(kind, name);
      return of(prefix, key).equals(lock) ? key : null;
    } catch (IllegalArgumentException e) {
      return null; // no name that a lock has
    }
  }

  /**
   * The glob that the keys of these locks match. No escape of a name begins with another one's, so
   * the escaped beginning of a name is the beginning of the escaped name.
   */
  static String glob(String prefix, LockKind kind, String namePrefix) {
    return head(prefix, kind) + GLOB.matcher(escaped(namePrefix)).replaceAll("\\\\$0") + "*}";
  }

  private static String head(String prefix, LockKind kind) {
    return prefix + ':' + kind.code() + ":{";
  }

  /** Of what a prefix may consist: nothing that means something in a key or in a pattern. */
  static String checkPrefix(String prefix) {
    if (!PREFIX.matcher(prefix).matches()) {
      throw new IllegalArgumentException(
          "A prefix is 1 to 64 ASCII letters, digits and characters of _ . : / -, this is '"
              + prefix
              + "'");
    }
    return prefix;
  }

  /** The same text for no two names, without the braces that end a hash tag. */
  static String escaped(String name) {
    if (name.indexOf('{') < 0 && name.indexOf('}') < 0 && name.indexOf('%') < 0) {
      return name;
    }
    return name.replace("%", "%25").replace("{", "%7B").replace("}", "%7D");
  }

  /** Redis counts in milliseconds; the store may keep a grant longer than asked, never shorter. */
  static long millisUp(Duration duration) {
    long millis = duration.toMillis();
    return duration.minusMillis(millis).isZero() ? millis : millis + 1;
  }
}
