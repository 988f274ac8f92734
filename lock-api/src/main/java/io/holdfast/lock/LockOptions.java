package io.holdfast.lock;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Options for the leases of a lock: how long they last, whether they are renewed, and to whom they
 * belong. Immutable and compared by value. Values that contradict each other are refused when they
 * are set.
 *
 * <p>The TTL (time to live) is the time for which the store keeps a lease without a renewal. It
 * must be 1 ms to 365 days; a client also refuses one that is too short for its
 * {@linkplain LockClientBuilder#storeTimeout store timeout}. The TTL and the minimum hold are
 * rounded down to the microsecond.
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

  /**
   * Returns the default options: renewed, a TTL of 30 s, no minHold, no maxHold, owned by the
   * thread.
   */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns options for leases that are renewed while their process lives. After a crash the name
   * is free within about {@code ttl} (see {@link Lease#crashBound()}).
   *
   * @throws IllegalArgumentException the TTL is out of range
   */
  public static LockOptions renewed(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), true, Duration.ZERO, null, Ownership.THREAD);
  }

  /**
   * Returns options for leases that are not renewed: they end {@code ttl} after they began, unless
   * they are closed before or {@linkplain Lease#extend extended}.
   *
   * @throws IllegalArgumentException the TTL is out of range
   */
  public static LockOptions fixed(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), false, Duration.ZERO, null, Ownership.THREAD);
  }

  /**
   * Returns these options with another TTL.
   *
   * @throws IllegalArgumentException the TTL is out of range, or below minHold on a fixed lease
   */
  public LockOptions withTtl(Duration ttl) {
    return new LockOptions(checkedTtl(ttl), renewed, minHold, maxHold, ownership);
  }

  /**
   * Returns these options with a minimum hold: the name stays taken for this long, counted from the
   * acquisition, even if the lease is closed earlier and the process exits. With it, a nightly job
   * that takes 1 s does not run twice on machines whose clocks are 5 s apart. With zero (the
   * default) the name is free at the close. If a process dies without closing its lease, or its
   * release does not reach the store, the name is free after {@link Lease#crashBound()} as usual,
   * even before the minimum hold is over.
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
   * Returns these options with a maximum hold: renewal stops and the lease is lost this long after
   * it began. This limits how long a holder that hangs can keep the lock.
   *
   * @throws IllegalArgumentException not positive, below minHold, or the leases are fixed (they end
   *     with their TTL)
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

  /** Returns these options with another kind of owner. */
  public LockOptions withOwnership(Ownership ownership) {
    return new LockOptions(ttl, renewed, minHold, maxHold, Objects.requireNonNull(ownership));
  }

  /** Returns the time for which the store keeps a lease without a renewal. */
  public Duration ttl() {
    return ttl;
  }

  /** Whether leases are renewed while their process lives. */
  public boolean isRenewed() {
    return renewed;
  }

  /** Returns the least time for which the name stays taken after an acquisition. */
  public Duration minHold() {
    return minHold;
  }

  /** Returns the longest time that a renewed lease can last; empty if there is no limit. */
  public Optional<Duration> maxHold() {
    return Optional.ofNullable(maxHold);
  }

  /** Returns the kind of owner of an acquisition. */
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
