package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Where locks are: {@code PREFIX/KIND:NAME/OWNER-ID}, the name escaped. */
final class Keys {
  private static final String PLAIN = "-._~";

  private final String prefix;

  Keys(String prefix) {
    this.prefix = prefix;
  }

  /** The folder of all attempts at one lock. Ends with the only slash that a name can't have. */
  String line(LockKey key) {
    return lines(key.kind(), key.name()) + "/";
  }

  /** What the folders of all names begin with that begin so. */
  String lines(LockKind kind, String namePrefix) {
    // Each byte is escaped by itself, and no escape begins another.
    return prefix + "/" + kind.code() + ":" + escape(namePrefix);
  }

  /** The folder that a key is in. */
  String lineOf(String key) {
    return key.substring(0, key.indexOf('/', prefix.length() + 1) + 1);
  }

  /** The lock that has this folder; empty: it is no lock's. */
  Optional<LockKey> lock(LockKind kind, String line) {
    int from = lines(kind, "").length();
    return line.endsWith("/") && line.length() > from
        ? named(kind, line.substring(from, line.length() - 1), Keys::escape)
        : Optional.empty();
  }

  /** A key that no attempt ever had. */
  String attempt(Claim claim) {
    return line(claim.key()) + claim.ownerId();
  }

  /**
   * Ends with the session, and changes whenever somebody takes a lock from it by force: what a
   * client watches to hear of both.
   */
  String session(String sessionId) {
    return prefix + "/session/" + sessionId;
  }

  String prefix() {
    return prefix;
  }

  /** The lock whose name is written so; empty: none is, so that others made the key. */
  static Optional<LockKey> named(LockKind kind, String escaped, UnaryOperator<String> escape) {
    try {
      LockKey key = new LockKey(kind, URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      return escape.apply(key.name()).equals(escaped) ? Optional.of(key) : Optional.empty();
    } catch (IllegalArgumentException e) {
      // No escape, or no name.
      return Optional.empty();
    }
  }

  /**
   * Every byte of UTF-8 that could mean something in a path or URL as %XX, so none is ambiguous.
   */
  static String escape(String name) {
    StringBuilder escaped = new StringBuilder(name.length() + 8);
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      char c = (char) (b & 0xff);
      if (c < 0x80 && (Character.isLetterOrDigit(c) || PLAIN.indexOf(c) >= 0)) {
        escaped.append(c);
      } else {
        escaped
            .append('%')
            .append(Character.toUpperCase(Character.forDigit(c >> 4, 16)))
            .append(Character.toUpperCase(Character.forDigit(c & 0xf, 16)));
      }
    }
    return escaped.toString();
  }
}
