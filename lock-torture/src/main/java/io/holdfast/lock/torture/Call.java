package io.holdfast.lock.torture;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;

/**
 * A way to ask for a lock.
 *
 * @param maxWait the longest wait; zero for ways without one
 */
@SuppressWarnings("EnumOrdinal") // One build reads the codes that it wrote.
record Call(Way way, Kind kind, Ownership ownership, Duration maxWait) {
  /** Longer than {@link Kind#BOUNDED} leases last. */
  private static final Duration MAX_HOLD = Duration.ofSeconds(3);

  private static final int WAIT_MILLIS_MAX = 2_500;

  /** Which method is called. */
  enum Way {
    TRY_ONCE,
    TRY_FOR,
    LOCK_WITHIN,
    LOCK
  }

  /** What kind of lease is wanted. */
  enum Kind {
    RENEWED,
    FIXED,
    /** Renewed, with a longest time. */
    BOUNDED
  }

  static Call any(Random random) {
    Way way = Way.values()[random.nextInt(Way.values().length)];
    int kind = random.nextInt(10);
    return new Call(
        way,
        kind < 6 ? Kind.RENEWED : kind < 9 ? Kind.FIXED : Kind.BOUNDED,
        random.nextInt(3) == 0 ? Ownership.LEASE : Ownership.THREAD,
        way == Way.TRY_FOR || way == Way.LOCK_WITHIN
            ? Duration.ofMillis(random.nextInt(WAIT_MILLIS_MAX))
            : Duration.ZERO);
  }

  /** Empty: taken. Or it throws what the API throws. */
  Optional<Lease> on(LockClient client, String name) throws InterruptedException {
    DistributedLock lock = client.get(name, options());
    return switch (way) {
      case TRY_ONCE -> lock.tryLock();
      case TRY_FOR -> lock.tryLock(maxWait);
      case LOCK_WITHIN -> Optional.of(lock.lockWithin(maxWait));
      case LOCK -> Optional.of(lock.lock());
    };
  }

  private LockOptions options() {
    LockOptions options = switch (kind) {
      case RENEWED -> LockOptions.renewed(StoreKind.TTL);
      case FIXED -> LockOptions.fixed(StoreKind.FIXED_TTL);
      case BOUNDED -> LockOptions.renewed(StoreKind.TTL).withMaxHold(MAX_HOLD);
    };
    return options.withOwnership(ownership);
  }

  /** As a number, for a file. */
  int code() {
    return (way.ordinal() * 10 + kind.ordinal()) * 10 + ownership.ordinal();
  }

  /** For humans, from the number. */
  static String text(int code) {
    return (Way.values()[code / 100]
            + " "
            + Kind.values()[code / 10 % 10]
            + " by "
            + Ownership.values()[code % 10])
        .toLowerCase(Locale.ROOT);
  }
}
