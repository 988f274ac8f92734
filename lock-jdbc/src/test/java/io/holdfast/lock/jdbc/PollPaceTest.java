package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The time between two polls. */
class PollPaceTest {
  /** A sixteenth of the time for which the lock has been held, less up to an eighth of that. */
  private static final Duration LONGEST_PAUSE = Duration.ofMillis(200);

  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(175);

  @Test
  void theFirstInLinePollsAfterASixteenthOfTheTimeForWhichTheLockHasBeenHeld() {
    Duration pause = pauseAfterAPollThatTook(Duration.ofMillis(1), false);

    assertThat(pause).isBetween(SHORTEST_PAUSE, LONGEST_PAUSE);
  }

  @Test
  void onASlowNetworkThePollIsAPartOfThePause() {
    Duration poll = Duration.ofMillis(102);
    Duration less = Duration.ofMillis(100);

    assertThat(pauseAfterAPollThatTook(poll, false))
        .isBetween(SHORTEST_PAUSE.minus(less), LONGEST_PAUSE.minus(less));
    assertThat(pauseAfterAPollThatTook(poll, true))
        .isEqualTo(pauseAfterAPollThatTook(Duration.ofMillis(2), true).minus(less));
    assertThat(pauseAfterAPollThatTook(Duration.ofSeconds(1), false))
        .isEqualTo(Duration.ofNanos(PollPace.POLL_NANOS_MIN));
  }

  private static Duration pauseAfterAPollThatTook(Duration took, boolean notified) {
    long heldMicros = LONGEST_PAUSE.multipliedBy(16).toNanos() / 1_000;
    long leftMicros = 3_600_000_000L;
    Row row = new Row("name", "owner", 1, heldMicros, 0, leftMicros, 0, 0, "holder", List.of());
    Standing first = new Standing(row, "waiter", 0, true);
    return Duration.ofNanos(new PollPace().nextPauseNanos(first, 0, took.toNanos(), notified));
  }
}
