package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Where locks are: {@code PREFIX/KIND/NAME/OWNER-ID}, the name escaped. Keys are of ASCII letters,
 * digits and {@code _ . - /}: newer servers, and proxies, refuse others in a URL.
 */
final class Keys {
  /** What an escaped byte begins with. No name has it as it is: there the second is escaped. */
  private static final String ESCAPE = "-_";

  private static final int ESCAPED_LENGTH = ESCAPE.length() + 2;

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
    // How a character is written depends on what was before it and never on what follows.
    return prefix + "/" + kind.code() + "/" + escape(namePrefix);
  }

  /** The folder that a key is in. */
  String lineOf(String key) {
    return key.substring(0, key.lastIndexOf('/') + 1);
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

  /**
   * Written to by its own client alone, to make sure that no request of before can make a key of
   * that session any more.
   */
  String gate(String sessionId) {
    return session(sessionId) + "/gate";
  }

  String prefix() {
    return prefix;
  }

  /** The lock whose name is written so; empty: none is, so that others made the key. */
  static Optional<LockKey> named(LockKind kind, String escaped, UnaryOperator<String> escape) {
    try {
      LockKey key = new LockKey(kind, unescape(escaped));
      return escape.apply(key.name()).equals(escaped) ? Optional.of(key) : Optional.empty();
    } catch (IllegalArgumentException e) {
      // No escape, or no name.
      return Optional.empty();
    }
  }

  /** Every byte of UTF-8 that could mean something in a path or URL as -_XX. */
  static String escape(String name) {
    StringBuilder escaped = new StringBuilder(name.length() + 8);
    // Dots in a row, or alone, are parents and selves in a path.
    char before = '.';
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      char c = (char) (b & 0xff);
      if (isPlain(c, before)) {
        escaped.append(c);
      } else {
        escaped
            .append(ESCAPE)
            .append(Character.toUpperCase(Character.forDigit(c >> 4, 16)))
            .append(Character.toUpperCase(Character.forDigit(c & 0xf, 16)));
      }
      before = c;
    }
    return escaped.toString();
  }

  private static boolean isPlain(char c, char before) {
    return switch (c) {
      case '-' -> true;
      case '_' -> before != '-';
      case '.' -> before != '.';
      default -> c < 0x80 && Character.isLetterOrDigit(c);
    };
  }

  private static String unescape(String escaped) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(escaped.length());
    for (int at = 0; at < escaped.length(); ) {
      if (escaped.startsWith(ESCAPE, at)) {
        int end = Math.min(escaped.length(), at + ESCAPED_LENGTH);
        bytes.write(Integer.parseInt(escaped.substring(at + ESCAPE.length(), end), 16));
        at = end;
      } else {
        bytes.write(escaped.charAt(at));
        at++;
      }
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
