package io.holdfast.lock.spring.integration;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.lock.spi.LockKey;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The names of a registry's locks. Two keys have the same name only if they are equal, as far as
 * SHA-256 can tell them apart.
 */
record LockNames(String prefix) {
  private static final String HASHED = "sha-256:";
  private static final int HASH_DIGITS = 64;
  private static final int PREFIX_CODE_POINTS_MAX =
      LockKey.NAME_CODE_POINTS_MAX - HASHED.length() - HASH_DIGITS;

  LockNames {
    if (prefix.codePointCount(0, prefix.length()) > PREFIX_CODE_POINTS_MAX) {
      throw new IllegalArgumentException("A registry's prefix has at most " + PREFIX_CODE_POINTS_MAX
          + " code points: shorten '" + prefix + "'");
    }
    LockKey.checkName(prefix + HASHED);
  }

  String of(@Nullable Object lockKey) {
    if (!(lockKey instanceof String key)) {
      throw new IllegalArgumentException("A lock key must be a string, so that all JVMs name the"
          + " same lock; this one is "
          + (lockKey == null ? "null" : "a " + lockKey.getClass().getName())
          + ": pass text that is the same everywhere");
    }
    String name = prefix + key;
    return isAllowed(name) ? name : prefix + HASHED + hash(key);
  }

  private static boolean isAllowed(String name) {
    try {
      LockKey.checkName(name);
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static String hash(String key) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("Every JVM has SHA-256", e);
    }
  }
}
