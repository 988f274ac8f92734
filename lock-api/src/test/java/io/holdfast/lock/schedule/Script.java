package io.holdfast.lock.schedule;

import org.jspecify.annotations.Nullable;

/** The numbers that a schedule is made of: its setting and its steps, all made of one seed. */
final class Script {
  private static final int STEPS_MIN = 20;
  private static final int STEPS_MAX = 100;

  private final Flaw flaw;
  private final Dice dice = new Dice();
  private final Counts counts = new Counts();

  Script(Flaw flaw) {
    this.flaw = flaw;
  }

  /** All that was seen so far. */
  Counts counts() {
    return counts;
  }

  /** Runs the schedule of a seed; the rule that it broke, or null. */
  @Nullable
  Broken run(long seed) {
    dice.of(dice.of(seed).next());
    long setting = dice.next();
    int steps = STEPS_MIN + dice.below(STEPS_MAX - STEPS_MIN);
    Schedule schedule = new Schedule(setting, flaw, counts, null);
    try {
      for (int i = 0; i < steps; i++) {
        schedule.step(dice.next());
      }
      schedule.end();
      return null;
    } catch (Broken e) {
      return e;
    }
  }

  /**
   * The schedule of a seed as a text; if it breaks a rule, then after all steps were left out that
   * it takes no part of.
   */
  String told(long seed) {
    dice.of(dice.of(seed).next());
    long setting = dice.next();
    long[] steps = new long[STEPS_MIN + dice.below(STEPS_MAX - STEPS_MIN)];
    for (int i = 0; i < steps.length; i++) {
      steps[i] = dice.next();
    }
    Broken broken = replay(setting, steps, null);
    if (broken != null) {
      steps = shrunk(setting, steps, broken.rule());
    }
    StringBuilder text = new StringBuilder("Seed " + seed + ", " + steps.length + " steps:\n");
    Broken last = replay(setting, steps, text);
    return text + (last == null ? "No rule is broken" : last.getMessage());
  }

  private long[] shrunk(long setting, long[] steps, Rule rule) {
    long[] shrunk = steps;
    boolean shorter = true;
    while (shorter) {
      shorter = false;
      for (int size = shrunk.length / 2; size >= 1; size /= 2) {
        for (int from = shrunk.length - size; from >= 0; from -= size) {
          long[] fewer = without(shrunk, from, size);
          Broken still = replay(setting, fewer, null);
          if (still != null && still.rule() == rule) {
            shrunk = fewer;
            shorter = true;
          }
        }
      }
    }
    return shrunk;
  }

  private @Nullable Broken replay(long setting, long[] numbers, @Nullable StringBuilder text) {
    Schedule schedule = new Schedule(setting, flaw, new Counts(), text);
    try {
      for (long number : numbers) {
        schedule.step(number);
      }
      return null;
    } catch (Broken e) {
      return e;
    }
  }

  private static long[] without(long[] numbers, int from, int size) {
    long[] fewer = new long[numbers.length - size];
    System.arraycopy(numbers, 0, fewer, 0, from);
    System.arraycopy(numbers, from + size, fewer, from, numbers.length - from - size);
    return fewer;
  }
}
