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
      Script.of("permits", "permit-acquire"),
      Script.of("permits", "permit-release"),
      Script.of("permits", "permit-withdraw"),
      Script.of("permits", "permit-force-release"),
      Script.of("permits", "permit-renew"),
      Script.of("permits", "permit-extend"));

  static Scripts of(LockKind kind) {
    return switch (kind) {
      case MUTEX -> MUTEX;
      case PERMIT -> PERMIT;
    };
  }
}
