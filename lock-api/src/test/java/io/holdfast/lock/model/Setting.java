package io.holdfast.lock.model;

import io.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The set-up that an episode is played with. */
final class Setting {
  private static final long[] TIMEOUT_NANOS = {500_000_000L, 1_000_000_000L, 3_000_000_000L};

  private final int machines;
  private final int users;
  private final int names;
  private final long timeoutNanos;
  private final long ttlNanosMax;
  private final List<LockOptions> options = new ArrayList<>();
  private final Server.Make make;
  private final boolean handOff;
  private final boolean reads;
  private final boolean gentle;
  private final boolean calm;
  private final boolean interruptsOnly;
  private final boolean ratesDiffer;
  private final boolean farAway;

  /** Two kinds of faults that may not come close together. */
  private final boolean setsBack;

  Setting(Dice dice) {
    this.machines = 2 + dice.below(2);
    this.users = 1 + dice.below(3);
    this.names = 1 + dice.below(3) / 2 + dice.below(2);
    this.timeoutNanos = TIMEOUT_NANOS[dice.below(TIMEOUT_NANOS.length)];
    long longest = 0;
    for (int i = 1 + dice.below(3); i > 0; i--) {
      boolean renewed = dice.below(3) > 0;
      long ttl = renewed
          ? timeoutNanos * (3 + dice.below(4))
          : timeoutNanos + 1_000_000 + dice.partOf(4 * timeoutNanos) / 1_000 * 1_000;
      Duration ttlTime = Duration.ofNanos(ttl);
      LockOptions one = renewed ? LockOptions.renewed(ttlTime) : LockOptions.fixed(ttlTime);
      if (dice.oneIn(4)) {
        one = one.withMinHold(ttlTime.dividedBy(2));
      }
      if (renewed && dice.oneIn(6)) {
        one = one.withMaxHold(ttlTime.plus(ttlTime.dividedBy(2)));
      }
      options.add(one);
      longest = Math.max(longest, ttl);
    }
    this.ttlNanosMax = longest;
    boolean line = dice.oneIn(2);
    boolean handsOver = line && dice.oneIn(2);
    long sessionNanos = !handsOver && dice.oneIn(4) ? 4 * timeoutNanos : 0;
    this.make = new Server.Make(
        line,
        handsOver,
        Math.max(2_000_000_000L, 2 * timeoutNanos),
        sessionNanos,
        line ? 2 * timeoutNanos : timeoutNanos / 5,
        6 * timeoutNanos);
    this.handOff = dice.below(4) > 0;
    int quiet = dice.below(16);
    this.calm = quiet == 0;
    this.gentle = quiet == 1 && sessionNanos == 0 && !handsOver;
    this.interruptsOnly = quiet == 2;
    this.ratesDiffer = dice.oneIn(3);
    this.farAway = interruptsOnly || (quiet > 2 && dice.oneIn(3));
    this.setsBack = dice.oneIn(2);
    this.reads = dice.oneIn(3);
  }

  /** One for two clients and what a test has them do: nothing goes wrong by itself. */
  Setting(boolean handsOver) {
    this.machines = 2;
    this.users = 0;
    this.names = 3;
    this.timeoutNanos = 5_000_000_000L;
    this.ttlNanosMax = Scene.TTL.toNanos();
    this.make =
        new Server.Make(true, handsOver, 4_000_000_000L, 0, 2 * timeoutNanos, 6 * timeoutNanos);
    this.handOff = true;
    this.gentle = false;
    this.calm = false;
    this.interruptsOnly = false;
    this.ratesDiffer = false;
    this.farAway = false;
    this.setsBack = false;
    this.reads = false;
  }

  int machines() {
    return machines;
  }

  /** On each machine. */
  int users() {
    return users;
  }

  int names() {
    return names;
  }

  String name(int i) {
    return String.valueOf((char) ('x' + i));
  }

  long timeoutNanos() {
    return timeoutNanos;
  }

  long ttlNanosMax() {
    return ttlNanosMax;
  }

  /** The longest that a call takes beyond its wait. */
  long callNanosMax() {
    return 4 * timeoutNanos;
  }

  LockOptions options(Dice dice) {
    return options.get(dice.below(options.size()));
  }

  Server.Make make() {
    return make;
  }

  boolean handOff() {
    return handOff;
  }

  /** Whether some users only read. */
  boolean reads() {
    return reads;
  }

  /** Nothing goes wrong but a message that is lost now and then. */
  boolean isGentle() {
    return gentle;
  }

  /** Nothing goes wrong. */
  boolean isCalm() {
    return calm;
  }

  boolean ratesDiffer() {
    return ratesDiffer;
  }

  /** Nothing goes wrong but that threads are interrupted. */
  boolean interruptsOnly() {
    return interruptsOnly;
  }

  /** Messages take up to most of a store timeout. */
  boolean isFarAway() {
    return farAway;
  }

  /** Wall clocks are set back, and no machine is suspended. */
  boolean setsBack() {
    return setsBack;
  }

  @Override
  public String toString() {
    return machines + " machines with " + users + " users, " + names + " names, timeout "
        + World.millis(timeoutNanos) + ", " + options + ", " + make + ", hand-off " + handOff
        + (reads ? ", readers" : "")
        + (calm ? ", calm" : gentle ? ", gentle" : interruptsOnly ? ", interrupts" : "")
        + (farAway ? ", far away" : "");
  }
}
