package io.holdfast.lock.model;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Episodes, each made from a seed alone. */
final class Script {
  private static final int FAULTS_MAX = 8;

  private long steps;

  /** Of all episodes so far. */
  long steps() {
    return steps;
  }

  /** Plays the episode of a seed; what it broke, or null. */
  @Nullable
  Broken run(long seed) {
    return play(seed, faults(seed), null);
  }

  /**
   * The episode of a seed as a text; if it breaks a rule, without the faults that it does not need.
   */
  String told(long seed) {
    List<Fault> faults = faults(seed);
    Broken broken = play(seed, faults, null);
    if (broken != null) {
      for (int i = faults.size() - 1; i >= 0; i--) {
        List<Fault> fewer = new ArrayList<>(faults);
        Fault unused = fewer.remove(i);
        Broken still = play(seed, fewer, null);
        if (still != null && still.rule() == broken.rule()) {
          faults = fewer;
        }
      }
    }
    StringBuilder text = new StringBuilder("Seed " + seed + ": " + setting(seed) + "\n");
    Broken last = play(seed, faults, text);
    return text + (last == null ? "No rule is broken" : last.getMessage());
  }

  private static Dice dice(long seed) {
    return new Dice().of(new Dice().of(seed).next());
  }

  private static Setting setting(long seed) {
    return new Setting(dice(seed));
  }

  private static List<Fault> faults(long seed) {
    Setting setting = setting(seed);
    List<Fault> faults = new ArrayList<>();
    if (!setting.isCalm() && !setting.isGentle()) {
      Dice dice = dice(~seed);
      for (int i = 1 + dice.below(FAULTS_MAX); i > 0; i--) {
        Fault fault = Fault.of(dice, setting, faultNanos(setting));
        faults.add(setting.interruptsOnly() ? fault.as(Fault.Kind.INTERRUPTS) : fault);
      }
    }
    return faults;
  }

  private static long faultNanos(Setting setting) {
    return 3 * setting.ttlNanosMax();
  }

  private @Nullable Broken play(long seed, List<Fault> faults, @Nullable StringBuilder text) {
    Setting setting = setting(seed);
    Episode episode = new Episode(seed, setting, faults, faultNanos(setting), text, null, null);
    try {
      episode.play();
      return null;
    } catch (Broken e) {
      return e;
    } finally {
      steps += episode.steps();
    }
  }
}
