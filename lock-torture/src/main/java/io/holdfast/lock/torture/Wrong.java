package io.holdfast.lock.torture;

import java.util.Arrays;
import java.util.Locale;

/** A deliberate mistake of the workers, which the judge has to find. */
enum Wrong {
  NOTHING,
  /** They never check that they still hold a lock, and take a lost lease for a good one. */
  IGNORE_LOSSES,
  /** Their tokens are numbers that each process counts by itself. */
  FALLING_TOKENS,
  /** Their release is followed by one by name alone, which frees the lock of any holder. */
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
