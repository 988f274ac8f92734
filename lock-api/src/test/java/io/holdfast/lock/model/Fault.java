package io.holdfast.lock.model;

/**
 * Something that goes wrong.
 *
 * @param kind what
 * @param machine where, if that matters
 * @param atNanos when
 * @param nanos for how long, or by how much
 */
record Fault(Kind kind, int machine, long atNanos, long nanos) {

  /** A thing that can go wrong. */
  enum Kind {
    LOSES_REQUESTS,
    LOSES_ANSWERS,
    CUT,
    SLOW,
    FLAKY,
    SERVER_AWAY,
    SERVER_STANDS_STILL,
    FREEZE,
    SUSPEND,
    DIE,
    WALL_FORWARD,
    WALL_BACK,
    STALLS,
    INTERRUPTS,
    CLOSE,
    FORCE
  }

  static Fault of(Dice dice, Setting setting, long overNanos) {
    Kind kind = Kind.values()[dice.below(Kind.values().length)];
    if (kind == Kind.SUSPEND && setting.setsBack()) {
      kind = Kind.WALL_BACK;
    } else if (kind == Kind.WALL_BACK && !setting.setsBack()) {
      kind = Kind.SUSPEND;
    }
    long nanos = switch (dice.below(4)) {
      case 0 -> dice.upTo(setting.timeoutNanos());
      case 1 -> dice.partOf(2 * setting.timeoutNanos());
      case 2 -> dice.partOf(setting.ttlNanosMax());
      default -> setting.ttlNanosMax() + dice.partOf(setting.ttlNanosMax());
    };
    return new Fault(kind, dice.below(setting.machines()), dice.partOf(overNanos), nanos);
  }

  Fault as(Kind other) {
    return new Fault(other, machine, atNanos, nanos);
  }

  @Override
  public String toString() {
    return kind + " on " + (char) ('A' + machine) + " for " + World.millis(nanos);
  }
}
