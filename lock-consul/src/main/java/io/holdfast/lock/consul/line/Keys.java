package io.holdfast.lock.consul.line;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The names of keys. That of an attempt is {@code PREFIX/KIND/NAME/OWNER-ID}, with the name of the
 * lock escaped. All are of ASCII letters, digits and {@code _ . - /}: newer servers, and proxies,
 * refuse others in a URL.
 */
public final class Keys {
  /**
   * The beginning of an escaped byte. It never stands for itself: an underscore after a dash is
   * escaped.
   */
  private static final String ESCAPE = "-_";

  /** A dot at the beginning or after a dot: a path has a meaning for "." and "..". */
  private static final Pattern DOT_OF_PATH = Pattern.compile("(?<=^|\\.)\\.");

  /** The end of the name of {@link #gate}. */
  static final String GATE = "/gate";

  /** The end of the name of {@link #witness}. */
  static final String WITNESS = "/witness";

  private final String prefix;

  public Keys(String prefix) {
    this.prefix = prefix;
  }

  /** Returns the folder of the keys of one lock. It ends with a slash; an escaped name has none. */
  public String line(LockKey key) {
    return lines(key.kind(), key.name()) + "/";
  }

  /**
   * Returns the beginning of the folders of all names that begin with a prefix. If the prefix ends
   * in a dash, folders of other names may begin so, too, since escapes begin with a dash.
   */
  public String lines(LockKind kind, String namePrefix) {
    // An escape depends on what is before the character, and never on what follows.
    return prefix + "/" + kind.code() + "/" + escape(namePrefix);
  }

  /** Returns the folder that a key is in. */
  public static String lineOf(String key) {
    return key.substring(0, key.lastIndexOf('/') + 1);
  }

  /** Returns the lock that has this folder; empty: no lock has, so the folder is not ours. */
  public Optional<LockKey> lock(LockKind kind, String line) {
    try {
      String escaped = line.substring(lines(kind, "").length(), line.length() - 1);
      String name = URLDecoder.decode(escaped.replace(ESCAPE, "%"), StandardCharsets.UTF_8);
      LockKey key = new LockKey(kind, name);
      // A name that is escaped otherwise than here is not one of ours.
      return line(key).equals(line) ? Optional.of(key) : Optional.empty();
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      // Too short, not an escape, or not a name.
      return Optional.empty();
    }
  }

  /**
   * Returns the key of a new attempt. No other attempt ever had it.
   *
   * @param again the number of earlier attempts of the claim
   */
  public String attempt(Claim claim, int again) {
    return line(claim.key()) + claim.ownerId() + (again == 0 ? "" : "-" + again);
  }

  /** Returns one of the two keys of a {@link Countdown} in a line. */
  String countdown(String line, int which) {
    return line + Countdown.KEY + which;
  }

  /**
   * Returns the watched key of a session, on which its client has a long poll: the end of the
   * session releases it, and a forced release of one of its locks writes to it.
   */
  public String watched(String sessionId) {
    return sessions() + sessionId;
  }

  /** Returns the watched key of the session that has this own key. */
  static String sessionOf(String key) {
    return key.endsWith(GATE) || key.endsWith(WITNESS)
        ? key.substring(0, key.lastIndexOf('/'))
        : key;
  }

  /** Returns the folder of the sessions' own keys. */
  public String sessions() {
    return prefix + "/session/";
  }

  /**
   * Returns the gate of a session: a key that its client alone writes to. A request that creates a
   * key of the session names the gate's index, so a write to the gate makes all such earlier
   * requests fail.
   */
  public String gate(String sessionId) {
    return watched(sessionId) + GATE;
  }

  /**
   * Returns the key of a session's witness, a second session of its client: see
   * {@link WitnessedEnds}.
   */
  public String witness(String sessionId) {
    return watched(sessionId) + WITNESS;
  }

  /** Escapes a name: each UTF-8 byte that could have a meaning in a path or URL becomes -_XX. */
  public static String escape(String name) {
    String encoded = URLEncoder.encode(name, StandardCharsets.UTF_8)
        .replace(ESCAPE, "-%5F")
        .replace("+", "%20")
        .replace("*", "%2A");
    return DOT_OF_PATH.matcher(encoded).replaceAll("%2E").replace("%", ESCAPE);
  }
}
