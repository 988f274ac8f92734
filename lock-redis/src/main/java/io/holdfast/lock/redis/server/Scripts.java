package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.LockKind;

/**
 * The scripts of one step of the protocol, one for each kind of lock. That of a semaphore has the
 * same arguments and answers as that of a mutex, unless its text says otherwise.
 */
public record Scripts(Script mutex, Script permit) {
  static final Scripts ACQUIRE =
      new Scripts(Script.of("key", "acquire-free", "line", "acquire"), permits("acquire"));
  static final Scripts RELEASE =
      new Scripts(Script.of("release-alone", "key", "line", "release"), permits("release"));
  static final Scripts WITHDRAW =
      new Scripts(Script.of("key", "line", "withdraw"), permits("withdraw"));
  static final Scripts FORCE_RELEASE =
      new Scripts(Script.of("key", "line", "force-release"), permits("force-release"));
  static final Scripts RENEW = new Scripts(Script.of("renew"), permits("renew"));
  static final Scripts EXTEND = new Scripts(Script.of("extend"), permits("extend"));
  static final Scripts LOOK = new Scripts(Script.of("look"), permits("look"));

  private static final String GUARD = Script.resource("guard");
  private static final String PERMIT_GUARD = Script.resource("permit-guard");

  private static Script permits(String step) {
    return Script.of("permits", "permit-" + step);
  }

  /** Makes scripts of a caller's that run only while a lease is valid. */
  public static Scripts guarded(String callers) {
    return new Scripts(new Script(GUARD + callers), new Script(PERMIT_GUARD + callers));
  }

  Script of(LockKind kind) {
    return switch (kind) {
      case MUTEX -> mutex;
      case PERMIT -> permit;
    };
  }
}
