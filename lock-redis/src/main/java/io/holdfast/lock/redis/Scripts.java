package io.holdfast.lock.redis;

import io.holdfast.lock.spi.LockKind;

/**
 * The scripts for locks of one kind. Each has the same arguments and answers as those of a mutex,
 * unless its text says otherwise.
 */
record Scripts(
    Script acquire,
    Script release,
    Script withdraw,
    Script forceRelease,
    Script renew,
    Script extend) {

  private static final Scripts MUTEX = new Scripts(
      Script.ACQUIRE,
      Script.RELEASE,
      Script.WITHDRAW,
      Script.FORCE_RELEASE,
      Script.RENEW,
      Script.EXTEND);

  private static final Scripts PERMIT = new Scripts(
      Script.ofPermits("permit-acquire"),
      Script.ofPermits("permit-release"),
      Script.ofPermits("permit-withdraw"),
      Script.ofPermits("permit-force-release"),
      Script.ofPermits("permit-renew"),
      Script.ofPermits("permit-extend"));

  private static final Scripts READ = new Scripts(
      Script.of("grant", "read-free", "line", "grants", "turns", "read-acquire"),
      Script.ofTurns("read-release"),
      Script.ofTurns("read-withdraw"),
      Script.FORCE_RELEASE,
      Script.ofTurns("read-renew"),
      Script.ofTurns("read-extend"));

  static Scripts of(LockKind kind) {
    return switch (kind) {
      case MUTEX -> MUTEX;
      case PERMIT -> PERMIT;
      case READ -> READ;
    };
  }
}
