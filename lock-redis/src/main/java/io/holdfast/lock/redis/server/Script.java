package io.holdfast.lock.redis.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.stream.Collectors;

/** A Lua script, and the name under which a server caches it. */
final class Script {
  static final Script RELEASE = of("release-alone", "key", "grants", "line", "release");
  static final Script WITHDRAW = of("key", "grants", "line", "withdraw");
  static final Script FORCE_RELEASE = of("key", "grants", "line", "force-release");
  static final Script LOOK = of("grants", "look");
  static final Script COMMIT_NUMBER = of("commit-number");
  static final Script CHECK_DISTINCT = of("check-distinct");
  static final Script CHECK = of("check");
  static final Script SCAN = of("scan");

  final String text;

  /** The SHA-1 name in ASCII; the array must not be changed. */
  final byte[] sha;

  Script(String text) {
    this.text = text;
    this.sha = HexFormat.of()
        .formatHex(sha1().digest(text.getBytes(StandardCharsets.UTF_8)))
        .getBytes(StandardCharsets.US_ASCII);
  }

  static Script of(String... parts) {
    return new Script(Arrays.stream(parts).map(Script::resource).collect(Collectors.joining()));
  }

  static String resource(String name) {
    try (InputStream in =
        Objects.requireNonNull(Script.class.getResourceAsStream(name + ".lua"), name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns a SHA-1 digest, by which Redis names scripts; no security depends on it. */
  private static MessageDigest sha1() {
    try {
      return MessageDigest.getInstance("SHA-1");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-1", e);
    }
  }
}
