package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Claim;

/**
 * The scripts of one step of the protocol: one for claims that want the lock alone, and one with
 * the same arguments and answers, unless its text says otherwise, for those that share it. Steps
 * that are one script for both are in {@link Script}.
 */
public record Scripts(Script alone, Script shared) {
  static final Scripts ACQUIRE = new Scripts(
      Script.of("key", "acquire-free", "grants", "line", "acquire"),
      Script.of("key", "grants", "line", "acquire"));
  static final Scripts RENEW = new Scripts(Script.of("renew"), Script.of("grants", "shared-renew"));
  static final Scripts EXTEND =
      new Scripts(Script.of("extend"), Script.of("grants", "shared-extend"));

  private static final String GUARD = Script.resource("guard");
  private static final String SHARED_GUARD =
      "do\n" + Script.resource("grants") + Script.resource("shared-guard");

  /** Makes scripts of a caller's that run only while a lease is valid. */
  public static Scripts guarded(String callers) {
    return new Scripts(new Script(GUARD + callers), new Script(SHARED_GUARD + callers));
  }

  Script of(Claim.Mode mode) {
    return mode instanceof Claim.Exclusive ? alone : shared;
  }
}
