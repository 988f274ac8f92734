package io.holdfast.lock.torture;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import java.time.Duration;
import java.util.Locale;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A call for a lock: its method, and the kind of lease.
 *
 * @param maxWait the longest wait; zero for methods without one
 */
@SuppressWarnings("EnumOrdinal") // One build reads the codes that it wrote.
record Call(Way way, Kind kind, Ownership ownership, Duration maxWait) {
  /** The maximum hold of {@link Kind#BOUNDED} leases. */
  private static final Duration MAX_HOLD = Duration.ofSeconds(3);

  private static final Duration MIN_HOLD = Duration.ofMillis(500);

  private static final int WAIT_MILLIS_MAX = 2_500;

  /** The permits of a semaphore. */
  static final int PERMITS = 2;

  /** The method. */
  enum Way {
    TRY_ONCE,
    TRY_FOR,
    LOCK_WITHIN,
    LOCK
  }

  /** The kind of lease. */
  enum Kind {
    RENEWED,
    FIXED,
    /** Renewed, with a maximum hold. */
    BOUNDED,
    /** Renewed, with a minimum hold. */
    KEPT,
    /** Renewed, and shared with others that read. */
    READ,
    /** Renewed, of one permit of a semaphore. */
    PERMIT
  }

  /** Returns a call of a kind that this client has. */
  static Call any(Random random, LockClient client) {
    Way way = Way.values()[random.nextInt(Way.values().length)];
    int kinds =
        client instanceof SemaphoreClient ? 65 : client instanceof ReadWriteClient ? 40 : 20;
    return new Call(
        way,
        kind(random.nextInt(kinds)),
        random.nextInt(3) == 0 ? Ownership.LEASE : Ownership.THREAD,
        way == Way.TRY_FOR || way == Way.LOCK_WITHIN
            ? Duration.ofMillis(random.nextInt(WAIT_MILLIS_MAX))
            : Duration.ZERO);
  }

  private static Kind kind(int dice) {
    if (dice < 11) {
      return Kind.RENEWED;
    } else if (dice < 17) {
      return Kind.FIXED;
    } else if (dice < 19) {
      return Kind.BOUNDED;
    } else if (dice < 20) {
      return Kind.KEPT;
    }
    return dice < 40 ? Kind.READ : Kind.PERMIT;
  }

  /**
   * Makes the call; returns null if the lock is taken. Allocates nothing once the lease is there: a
   * full heap must not lose it.
   */
  @Nullable
  AnyLease on(LockClient client, String name) throws InterruptedException {
    Acquirable<? extends AnyLease> lock = lock(client, name);
    return switch (way) {
      case TRY_ONCE -> lock.tryLock().orElse(null);
      case TRY_FOR -> lock.tryLock(maxWait).orElse(null);
      case LOCK_WITHIN -> lock.lockWithin(maxWait);
      case LOCK -> lock.lock();
    };
  }

  /** Returns what it asks for: a lock, or the semaphore of that name. */
  Acquirable<? extends AnyLease> lock(LockClient client, String name) {
    return switch (kind) {
      case READ -> ((ReadWriteClient) client).readWrite(name, options()).read();
      case PERMIT -> ((SemaphoreClient) client).semaphore(name, PERMITS, options());
      case RENEWED, FIXED, BOUNDED, KEPT -> client.get(name, options());
    };
  }

  long maxWaitMillis() {
    return way == Way.LOCK ? -1 : maxWait.toMillis();
  }

  long minHoldMillis() {
    return kind == Kind.KEPT ? MIN_HOLD.toMillis() : 0;
  }

  LockOptions options() {
    LockOptions options = switch (kind) {
      case RENEWED, READ, PERMIT -> LockOptions.renewed(StoreKind.TTL);
      case FIXED -> LockOptions.fixed(StoreKind.FIXED_TTL);
      case BOUNDED -> LockOptions.renewed(StoreKind.TTL).withMaxHold(MAX_HOLD);
      case KEPT -> LockOptions.renewed(StoreKind.TTL).withMinHold(MIN_HOLD);
    };
    return options.withOwnership(ownership);
  }

  /** Returns the call as a number, for a file. */
  int code() {
    return (way.ordinal() * 10 + kind.ordinal()) * 10 + ownership.ordinal();
  }

  /** Returns the text of such a number. */
  static String text(int code) {
    return (Way.values()[code / 100]
            + text(Kind.values()[code / 10 % 10])
            + Ownership.values()[code % 10])
        .toLowerCase(Locale.ROOT);
  }

  /** Returns what the text of a call says of its kind, and of no other. */
  static String text(Kind kind) {
    return (" " + kind + " by ").toLowerCase(Locale.ROOT);
  }
}
