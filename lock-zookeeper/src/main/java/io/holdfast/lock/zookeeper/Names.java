package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.LockKey;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** How locks, attempts and marks are called in ZooKeeper. */
final class Names {
  /** What a mark's name begins with; no hexadecimal digit, so no attempt's does. */
  static final String MARK_PREFIX = "hold-";

  private static final String UNESCAPED = "-._~";

  private Names() {}

  /**
   * A lock's node: its kind, and its name with everything but letters, digits and a few signs of
   * ASCII as the hexadecimal bytes of its UTF-8. Injective, never {@code .} or {@code ..}, and
   * without what ZooKeeper refuses in a path (emoji, for one).
   */
  static String of(LockKey key) {
    byte[] bytes = key.name().getBytes(StandardCharsets.UTF_8);
    StringBuilder name = new StringBuilder(bytes.length + 16);
    name.append(key.kind().code()).append('-');
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

  /** What an attempt's node is called before ZooKeeper appends the sequence number. */
  static String ofAttempt(String ownerId) {
    return ownerId + "-";
  }

  /** The mark that a grant with a minimum hold leaves. */
  static String ofMark(long number) {
    return String.format(Locale.ROOT, MARK_PREFIX + "%016x", number);
  }
}
