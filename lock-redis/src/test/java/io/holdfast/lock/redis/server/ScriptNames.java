package io.holdfast.lock.redis.server;

import java.nio.charset.StandardCharsets;

/** The names of scripts, for tests elsewhere that look for them on the wire. */
public final class ScriptNames {
  private ScriptNames() {}

  public static String withdraw() {
    return new String(Script.WITHDRAW.sha, StandardCharsets.US_ASCII);
  }
}
