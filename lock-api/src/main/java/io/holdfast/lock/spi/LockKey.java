package io.holdfast.lock.spi;

import java.util.Objects;

/**
 * The kind and name of a lock, which together identify it in a store. Names are equal only if every
 * character is.
 *
 * @param kind the sort of lock
 * @param name 1 to {@value #NAME_CODE_POINTS_MAX} code points of well-formed Unicode without
 *     control characters (at most 800 bytes of UTF-8); a store that cannot hold such text as it is
 *     must escape it so that different names stay different
 */
public record LockKey(LockKind kind, String name) {
  /** The greatest length of a name, in code points. */
  public static final int NAME_CODE_POINTS_MAX = 200;

  /**
   * Checks the name.
   *
   * @throws IllegalArgumentException the name breaks a rule; the message says which and what to do
   */
  public LockKey {
    Objects.requireNonNull(kind, "kind");
    checkName(name);
  }

  /**
   * Checks a name alone.
   *
   * @throws IllegalArgumentException the name breaks a rule; the message says which and what to do
   */
  public static void checkName(String name) {
    Objects.requireNonNull(name, "name");
    if (name.isEmpty()) {
      throw new IllegalArgumentException("A lock name must not be empty");
    }
    // Check the length in chars first, so that a huge string is not scanned.
    if (name.length() > 2 * NAME_CODE_POINTS_MAX
        || name.codePointCount(0, name.length()) > NAME_CODE_POINTS_MAX) {
      throw new IllegalArgumentException(("A lock name has at most %s code points, this one has %s"
              + " (use a hash of it, or a shorter id): '%s...'")
          .formatted(
              NAME_CODE_POINTS_MAX,
              name.codePointCount(0, name.length()),
              name.substring(0, name.offsetByCodePoints(0, 40))));
    }
    for (int i = 0; i < name.length(); ) {
      int codePoint = name.codePointAt(i);
      if (Character.isISOControl(codePoint)) {
        throw illegal(name, i, codePoint, "is a control character");
      }
      if (codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE) {
        throw illegal(name, i, codePoint, "is half of a surrogate pair, so the text is no Unicode");
      }
      i += Character.charCount(codePoint);
    }
  }

  private static IllegalArgumentException illegal(
      String name, int index, int codePoint, String problem) {
    return new IllegalArgumentException(String.format(
        java.util.Locale.ROOT,
        "The lock name of %d characters is not allowed: U+%04X at index %d %s; remove it",
        name.length(),
        codePoint,
        index,
        problem));
  }
}
