package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.nio.charset.StandardCharsets;

/** Where locks are: {@code PREFIX/KIND:NAME/ATTEMPT}, the name escaped. */
final class Keys {
  private static final String PLAIN = "-._~";

  private final String prefix;

  Keys(String prefix) {
    this.prefix = prefix;
  }

  /** The folder of all attempts at one lock. Ends with the only slash that a name can't have. */
  String line(LockKey key) {
    return prefix + "/" + key.kind().code() + ":" + escape(key.name()) + "/";
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
