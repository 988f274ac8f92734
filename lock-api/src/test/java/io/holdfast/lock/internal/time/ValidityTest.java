package io.holdfast.lock.internal.time;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ValidityTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final long LIMIT = 1_000 * SECOND;

  private static Validity granted() {
    return Validity.of(new ClockReading(0, 0), 10 * SECOND, LIMIT, SECOND);
  }

  /** Asked after three seconds, and answered after five. */
  private static Validity extendedByAMinute() {
    return granted().extended(new ClockReading(3 * SECOND, 0), 60 * SECOND, LIMIT, 5 * SECOND);
  }

  /** L-5.8: two threads extend one lease, and the answers are taken in in the other order. */
  @Test
  void anAnswerThatIsTakenInLateShortensNoLongerExtension() {
    Validity longer = extendedByAMinute();
    Validity both =
        longer.extended(new ClockReading(2 * SECOND, 0), 10 * SECOND, LIMIT, 6 * SECOND);

    assertThat(both.deadlineNanos()).isEqualTo(longer.deadlineNanos());
  }

  @Test
  void theNewestAnswerShortensWhatTheStoreNoLongerConfirms() {
    Validity longer = extendedByAMinute();
    Validity after =
        longer.extended(new ClockReading(6 * SECOND, 0), 10 * SECOND, LIMIT, 7 * SECOND);

    assertThat(after.deadlineNanos()).isLessThanOrEqualTo(16 * SECOND);
  }
}
