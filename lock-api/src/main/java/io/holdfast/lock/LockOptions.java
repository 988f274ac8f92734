package io.holdfast.lock;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The ways in which the leases of a lock behave. Immutable, compared by value; relations between
 * the values are checked when they are set.
 *
 * <p>Durations are kept to the microsecond, rounded down. A TTL is 1 ms to 365 days here; a client
 * also refuses one that is too short for its {@linkplain LockClientBuilder#storeTimeout store
 * timeout}.
 */
@CheckReturnValue
public final class LockOptions {
  private static final Duration TTL_MIN = Duration.ofMillis(1);
  private static final Duration TTL_MAX = Duration.ofDays(365);
  private static final LockOptions DEFAULTS =
      new LockOptions(Duration.ofSeconds(30), true, Duration.ZERO, null, Ownership.THREAD);

  private final Duration ttl;
  private final boolean renewed;
  private final Duration minHold;
  private final @Nullable Duration maxHold;
  private final Ownership ownership;

  private LockOptions(
      Duration ttl,
      boolean renewed,
      Duration minHold,
      @Nullable Duration maxHold,
      Ownership ownership) {
    this.ttl = ttl;
    this.renewed = renewed;
    this.minHold = minHold;
    this.maxHold = maxHold;
    this.ownership = ownership;
    if (!renewed && minHold.compareTo(ttl) > 0) {
      throw new IllegalArgumentException("minHold " + minHold + " is longer than the TTL " + ttl
          + " of a fixed lease: raise the TTL");
    }
    if (maxHold != null && maxHold.compareTo(minHold) < 0) {
      throw new IllegalArgumentException(
          "maxHold " + maxHold + " is shorter than minHold " + minHold + ": raise maxHold");
    }
  }

  /** Renewed, TTL 30 s, no minHold, no maxHold, owned by the thread. */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Leases that are renewed while their process lives; after a crash the name is free within about
   * {@code ttl} (see {@link Lease#crashBound()}).
   *
   * @throws IllegalArgumentException the TTL is out of range
   */
  public static LockOptions renewed(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), true, Duration.ZERO, null, Ownership.THREAD);
  }

  /**
   * Leases that end {@code ttl} after they began, unless closed before.
   *
   * @throws IllegalArgumentException the TTL is out of range
   */
  public static LockOptions fixed(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), false, Duration.ZERO, null, Ownership.THREAD);
  }

  /**
   * With another TTL; stays renewed or fixed.
   *
   * @throws IllegalArgumentException the TTL is out of range, or below minHold on a fixed lease
   */
  public LockOptions withTtl(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), renewed, minHold, maxHold, ownership);
  }

  /**
   * The name stays taken for this long after each acquisition, even if the lease is closed earlier
   * and the process exits: a nightly job that takes 1 s must not run twice on machines whose clocks
   * are 5 s apart. Zero (the default) frees at close. A process that dies without closing is
   * bounded by {@link Lease#crashBound()}, as ever.
   *
   * @throws IllegalArgumentException negative, over 365 days, above maxHold, or above the TTL of a
   *     fixed lease
   */
  public LockOptions withMinHold(Duration minHold) {
    if (minHold.isNegative() || minHold.compareTo(TTL_MAX) > 0) {
      throw new IllegalArgumentException("minHold must be zero to " + TTL_MAX + ", was " + minHold);
    }
    return new LockOptions(ttl, renewed, toMicros(minHold), maxHold, ownership);
  }

  /**
   * Renewal stops and the lease is lost this long after it began: a bound on a holder that hangs.
   *
   * @throws IllegalArgumentException not positive, below minHold, or the leases are fixed (those
   *     have their TTL)
   */
  public LockOptions withMaxHold(Duration maxHold) {
    if (maxHold.isNegative() || maxHold.isZero()) {
      throw new IllegalArgumentException("maxHold must be positive, was " + maxHold);
    }
    if (!renewed) {
      throw new IllegalArgumentException(
          "maxHold " + maxHold + " is for renewed leases: a fixed lease ends with its TTL");
    }
    return new LockOptions(ttl, true, minHold, maxHold, ownership);
  }

  /** With another kind of owner. */
  public LockOptions withOwnership(Ownership ownership) {
    return new LockOptions(ttl, renewed, minHold, maxHold, Objects.requireNonNull(ownership));
  }

  /** The time for which the store keeps a lease that nothing renews. */
  public Duration ttl() {
    return ttl;
  }

  /** Whether leases are renewed while their process lives. */
  public boolean isRenewed() {
    return renewed;
  }

  /** The least time for which the name stays taken. */
  public Duration minHold() {
    return minHold;
  }

  /** The longest time that a lease can last; empty: no limit besides the TTL of a fixed one. */
  public Optional<Duration> maxHold() {
    return Optional.ofNullable(maxHold);
  }

  /** The owner of an acquisition. */
  public Ownership ownership() {
    return ownership;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LockOptions that
        && ttl.equals(that.ttl)
        && renewed == that.renewed
        && minHold.equals(that.minHold)
        && Objects.equals(maxHold, that.maxHold)
        && ownership == that.ownership;
  }

  @Override
  public int hashCode() {
    return Objects.hash(ttl, renewed, minHold, maxHold, ownership);
  }

  @Override
  public String toString() {
    return (renewed ? "renewed(" : "fixed(")
        + ttl
        + ")"
        + (minHold.isZero() ? "" : " minHold " + minHold)
        + (maxHold == null ? "" : " maxHold " + maxHold)
        + (ownership == Ownership.THREAD ? "" : " owned by " + ownership);
  }

  private static Duration checkedTtl(Duration ttl) {
    if (ttl.compareTo(TTL_MIN) < 0 || ttl.compareTo(TTL_MAX) > 0) {
      throw new IllegalArgumentException(
          "A TTL must be " + TTL_MIN + " to " + TTL_MAX + ", was " + ttl);
    }
    return toMicros(ttl);
  }

  private static Duration toMicros(Duration duration) {
    return duration.truncatedTo(ChronoUnit.MICROS);
  }
}
