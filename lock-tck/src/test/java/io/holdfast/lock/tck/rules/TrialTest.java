package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** The cases in which a test of a rule is asked again. */
class TrialTest {
  private static final Duration STOOD_STILL = StallWatch.WORTH_TELLING.plusMillis(1);
  private static final Duration RAN = StallWatch.WORTH_TELLING.minusMillis(1);

  private final AtomicInteger runs = new AtomicInteger();

  @Test
  void aFailureWhileTheMachineRanIsTheVerdict() {
    AssertionError broken = new AssertionError("broken rule");
    assertThatThrownBy(() -> ask(new Trial(broken, RAN))).isSameAs(broken);
    assertThat(runs).hasValue(1);
  }

  @Test
  void aFailureWhileTheMachineStoodStillIsAskedAgain() throws Throwable {
    ask(new Trial(new AssertionError("too late"), STOOD_STILL), new Trial(null, RAN));
    assertThat(runs).hasValue(2);
  }

  @Test
  void whoeverFailsEveryTimeFailed() {
    Trial late = new Trial(new AssertionError("too late"), STOOD_STILL);
    assertThatThrownBy(() -> ask(late, late, late))
        .hasMessage("too late")
        .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
    assertThat(runs).hasValue(3);
  }

  @Test
  void aSuccessNeedsNoSecondOpinion() throws Throwable {
    ask(new Trial(null, STOOD_STILL));
    assertThat(runs).hasValue(1);
  }

  @Test
  void whatIsSkippedStaysSkipped() {
    assertThatThrownBy(() -> ask(new Trial(new TestAbortedException("skipped"), STOOD_STILL)))
        .isInstanceOf(TestAbortedException.class);
    assertThat(runs).hasValue(1);
  }

  @Test
  void aTestWithArgumentsIsAskedAgainWithThem() throws Throwable {
    RuleRunner.again(this, TrialTest.class.getDeclaredMethod("add", int.class), List.of(3));
    assertThat(runs).hasValue(3);
  }

  void add(int more) {
    runs.addAndGet(more);
  }

  private void ask(Trial... trials) throws Throwable {
    Trial.untilConclusive(number -> {
      assertThat(number).isEqualTo(runs.incrementAndGet());
      return trials[number - 1];
    });
  }
}
