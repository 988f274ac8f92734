package io.holdfast.lock.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A property: whatever happens to two machines, their clocks, their requests and the store between
 * them, never two have the lock (L-2.1, L-4.2 to L-4.5, L-5.2, L-8.1, L-8.2, L-9.5).
 *
 * <p>A schedule is made from its seed alone. {@code -Dschedules=1000000} runs that many, and
 * {@code -Dschedule.seed=7} tells one as a text, shrunk if it breaks a rule.
 */
@Timeout(600)
class NeverTwoHoldersTest {
  private static final long SCHEDULES = Long.getLong("schedules", 20_000);

  /** A deliberate mistake is found in so many. */
  private static final int SCHEDULES_WITH_A_FLAW = 1_000;

  /** One schedule of so many, at least, has each of the things that can happen. */
  private static final long SEEN_IN_ONE_OF = 200;

  private static final @Nullable Long SEED = Long.getLong("schedule.seed");

  @Test
  void noScheduleHasTwoHolders() {
    Script script = new Script(Flaw.NONE);
    if (SEED != null) {
      System.out.println(script.told(SEED));
      assertThat(script.run(SEED)).isNull();
      return;
    }
    for (long seed = 0; seed < SCHEDULES; seed++) {
      if (script.run(seed) != null) {
        fail(script.told(seed));
      }
    }

    assertThat(script.counts().below(SCHEDULES / SEEN_IN_ONE_OF))
        .as("what the schedules hardly meet")
        .isEmpty();
    System.out.println(script.counts());
  }

  @ParameterizedTest
  @EnumSource(value = Flaw.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void aDeliberateMistakeIsFound(Flaw flaw) {
    Script script = new Script(flaw);
    long first = -1;
    for (long seed = 0; seed < SCHEDULES_WITH_A_FLAW && first < 0; seed++) {
      Broken broken = script.run(seed);
      if (broken != null && broken.rule() == flaw.broken()) {
        first = seed;
      }
    }

    assertThat(first)
        .as(
            "the first schedule of %s in which %s breaks %s",
            SCHEDULES_WITH_A_FLAW, flaw, flaw.broken())
        .isNotNegative();
  }

  @Test
  void aScheduleIsTheSameEachTimeAndIsShrunkAndTold() {
    Script script = new Script(Flaw.COUNTED_FROM_THE_REPLY);
    long seed = 0;
    Broken broken = script.run(seed);
    while (broken == null || broken.rule() != Rule.ONE_HOLDER) {
      seed++;
      broken = script.run(seed);
    }

    assertThat(script.told(seed))
        .isEqualTo(new Script(Flaw.COUNTED_FROM_THE_REPLY).told(seed))
        .contains(Rule.ONE_HOLDER.name());
  }
}
