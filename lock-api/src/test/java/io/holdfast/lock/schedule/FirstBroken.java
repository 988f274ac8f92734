package io.holdfast.lock.schedule;

import org.jspecify.annotations.Nullable;

/** Plays schedules until one breaks a rule. */
public final class FirstBroken {
  private FirstBroken() {}

  /** How many it took, and which rule; null: none of so many. */
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
