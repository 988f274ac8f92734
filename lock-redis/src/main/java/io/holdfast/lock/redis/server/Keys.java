package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The keys of locks, one for each lock: {@code prefix:kind:{name}}. The name is the hash tag, so
 * that the caller's keys with the same tag are in the same slot.
 */
public final class Keys {
  private static final Pattern PREFIX = Pattern.compile("[A-Za-z0-9_.:/-]{1,64}");

  /** The special characters of a glob. */
  private static final Pattern GLOB = Pattern.compile("[*?\\[\\]\\\\]");

  private Keys() {}

  /** Returns the key of a lock. */
  public static String of(String prefix, LockKey key) {
    return head(prefix, key.kind()) + escaped(key.name()) + '}';
  }

  /** Returns the lock with this key; empty if it is not the key of a lock. */
  static Optional<LockKey> parse(String prefix, LockKind kind, String lock) {
    String head = head(prefix, kind);
    if (!lock.startsWith(head) || !lock.endsWith("}")) {
      return Optional.empty();
    }
    // Percent signs last, so that an unescaped one is not taken for the start of another escape.
    String name = lock.substring(head.length(), lock.length() - 1)
        .replace("%7B", "{")
        .replace("%7D", "}")
        .replace("%25", "%");
    try {
      return Optional.of(new LockKey(kind, name)).filter(key -> of(prefix, key).equals(lock));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // Not a name that a lock can have.
    }
  }

  /**
   * Returns the glob that the keys of these locks match. No escape is a prefix of another, so an
   * escaped prefix of a name is a prefix of the escaped name.
   */
  static String glob(String prefix, LockKind kind, String namePrefix) {
    return head(prefix, kind) + GLOB.matcher(escaped(namePrefix)).replaceAll("\\\\$0") + "*}";
  }

  private static String head(String prefix, LockKind kind) {
    return prefix + ':' + kind.code() + ":{";
  }

  /** Checks a prefix: it must not contain characters that are special in a key or in a glob. */
  public static String checkPrefix(String prefix) {
    if (!PREFIX.matcher(prefix).matches()) {
      throw new IllegalArgumentException(
          "A prefix is 1 to 64 ASCII letters, digits and characters of _ . : / -, this is '%s'"
              .formatted(prefix));
    }
    return prefix;
  }

  /**
   * Escapes a name: different names stay different, and no brace is left that could end the hash
   * tag.
   */
  static String escaped(String name) {
    return name.replace("%", "%25").replace("{", "%7B").replace("}", "%7D");
  }

  /**
   * Returns a duration in milliseconds, rounded up: the store may keep a grant longer than asked,
   * but never shorter.
   */
  public static long millisUp(Duration duration) {
    return duration.plusNanos(999_999).toMillis();
  }
}
