package io.holdfast.lock.redis;

import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The keys of one lock, {@code prefix:kind:{name}} and more after it: all in the hash tag of the
 * name, so that they live in one slot, together with whatever keys of the caller's have that tag.
 *
 * @param lock who has it
 * @param number the number of the last grant
 * @param line the attempts that wait, by when they joined
 * @param places what is known of each attempt that waits
 */
record Keys(String lock, String number, String line, String places) {
  private static final Pattern PREFIX = Pattern.compile("[A-Za-z0-9_.:/-]{1,64}");

  static Keys of(String prefix, LockKey key) {
    String lock = prefix + ':' + key.kind().code() + ":{" + escaped(key.name()) + '}';
    return new Keys(lock, lock + ":number", lock + ":line", lock + ":places");
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

  List<String> all() {
    return List.of(lock, number, line, places);
  }

  /** Redis counts in milliseconds; the store may keep a grant longer than asked, never shorter. */
  static long millisUp(Duration duration) {
    long millis = duration.toMillis();
    return duration.minusMillis(millis).isZero() ? millis : millis + 1;
  }
}
