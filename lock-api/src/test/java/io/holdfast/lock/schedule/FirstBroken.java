package io.holdfast.lock.schedule;

import org.jspecify.annotations.Nullable;

/** Plays schedules until one breaks a rule. */
public final class FirstBroken {
  private FirstBroken() {}

  /** The number of schedules until one broke a rule, and which; null: none of so many did. */
  public static @Nullable String schedule(long count) {
    Script script = new Script(Flaw.NONE);
    for (long seed = 0; seed < count; seed++) {
      Broken broken = script.run(seed);
      if (broken != null) {
        return (seed + 1) + "\t" + broken.getMessage();
      }
    }
    return null;
  }
}
