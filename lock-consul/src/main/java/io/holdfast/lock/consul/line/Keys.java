package io.holdfast.lock.consul.line;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The keys of locks: {@code PREFIX/KIND/NAME/OWNER-ID}, the name escaped. They are of ASCII
 * letters, digits and {@code _ . - /}: newer servers, and proxies, refuse others in a URL.
 */
public final class Keys {
  /**
   * The beginning of an escaped byte. No name has it as it is: there the second character is
   * escaped.
   */
  private static final String ESCAPE = "-_";

  private static final int ESCAPED_LENGTH = ESCAPE.length() + 2;

  private final String prefix;

  public Keys(String prefix) {
    this.prefix = prefix;
  }

  /** The folder of all attempts at one lock. Ends with the only slash that a name can't have. */
  public String line(LockKey key) {
    return lines(key.kind(), key.name()) + "/";
  }

  /**
   * Returns a prefix of the folders of all names that begin so; if it ends in a dash, others may
   * have it as well, since escapes begin so.
   */
  public String lines(LockKind kind, String namePrefix) {
    // An escape depends on what is before the character, and never on what follows.
    return prefix + "/" + kind.code() + "/" + escape(namePrefix);
  }

  /** The folder that a key is in. */
  public static String lineOf(String key) {
    return key.substring(0, key.lastIndexOf('/') + 1);
  }

  /** The lock that has this folder; empty: it is no lock's. */
  public Optional<LockKey> lock(LockKind kind, String line) {
    int from = lines(kind, "").length();
    return line.endsWith("/") && line.length() > from
        ? named(kind, line.substring(from, line.length() - 1))
        : Optional.empty();
  }

  /**
   * A key that no attempt ever had.
   *
   * @param again how many attempts of the claim had one before: their sessions ended at once
   */
  public String attempt(Claim claim, int again) {
    return line(claim.key()) + claim.ownerId() + (again == 0 ? "" : "-" + again);
  }

  /** One of the two keys of a line's {@link Countdown}. */
  String countdown(String line, int which) {
    return line + Countdown.KEY + which;
  }

  /**
   * The key that a client watches to hear of the end of its session, which takes the key from it,
   * and of a lock that was taken from it by force, which changes it.
   */
  public String session(String sessionId) {
    return sessions() + sessionId;
  }

  /** The folder of what sessions have for themselves. */
  public String sessions() {
    return prefix + "/session/";
  }

  /**
   * The key that a session's client writes to, and nobody else, to make sure that no request of
   * before can make a key of that session any more.
   */
  public String gate(String sessionId) {
    return session(sessionId) + "/gate";
  }

  /** The lock whose name is written so; empty: none is, so that others made the key. */
  private static Optional<LockKey> named(LockKind kind, String escaped) {
    try {
      LockKey key = new LockKey(kind, unescape(escaped));
      return escape(key.name()).equals(escaped) ? Optional.of(key) : Optional.empty();
    } catch (IllegalArgumentException e) {
      // No escape, or no name.
      return Optional.empty();
    }
  }

  /** Every byte of UTF-8 that could mean something in a path or URL as -_XX. */
  public static String escape(String name) {
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
