package io.holdfast.lock.torture;

import java.util.Arrays;
import java.util.Locale;

/** A deliberate mistake of the workers, by which the judge is judged. */
enum Wrong {
  NOTHING,
  /** They never look whether they still hold, and take a lost lease for a good one. */
  IGNORE_LOSSES,
  /** Their tokens are numbers that each process counts by itself. */
  FALLING_TOKENS,
  /** Their release is sent twice and frees whoever has the name, as one by name alone does. */
  FREE_BY_NAME;

  String option() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Wrong byOption(String option) {
    return Arrays.stream(values())
        .filter(wrong -> wrong.option().equals(option))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such mistake: " + option));
  }
}
