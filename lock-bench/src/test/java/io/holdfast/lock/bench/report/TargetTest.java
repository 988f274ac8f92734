package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TargetTest {
  private static final Scenario SCENARIO = Scenario.UNCONTENDED_1;

  @Test
  void aRatioIsReachedFromTheWantedOneOn() {
    Kept kept = kept(result("floor", Figure.RATE, 1000), result("holdfast", Figure.RATE, 850));

    assertThat(speed(0.85).reached(kept)).isEqualTo("0.85");
    assertThat(speed(0.85).isMet(kept)).isTrue();
    assertThat(speed(0.86).isMet(kept)).isFalse();
  }

  @Test
  void aFigureIsReachedUpToItsBound() {
    Kept kept = kept(result("holdfast", Figure.MAX_MICROS, 250_000));

    assertThat(limit(250_000).reached(kept)).isEqualTo("250,000");
    assertThat(limit(250_000).isMet(kept)).isTrue();
    assertThat(limit(249_999).isMet(kept)).isFalse();
  }

  @Test
  void whatWasNotMeasuredIsNotReached() {
    Kept kept = kept(result("floor", Figure.RATE, 1000));

    assertThat(speed(0.85).reached(kept)).isNull();
    assertThat(speed(0.85).isMet(kept)).isFalse();
    assertThat(limit(1).reached(kept)).isNull();
    assertThat(limit(1).isMet(kept)).isFalse();
  }

  @Test
  void everyTargetIsOfCandidatesThatTakePart() {
    for (Target target : Target.ALL) {
      assertThat(target.store().candidate(target.candidate()).scenarios())
          .contains(target.scenario());
      if (target instanceof Target.Speed speed) {
        assertThat(speed.store().candidate(speed.base()).scenarios()).contains(speed.scenario());
      }
    }
  }

  private static Target speed(double min) {
    return new Target.Speed(Store.REDIS, SCENARIO, "holdfast", "floor", min);
  }

  private static Target limit(double max) {
    return new Target.Limit(Store.REDIS, SCENARIO, "holdfast", Figure.MAX_MICROS, max);
  }

  private static Kept kept(Result... results) {
    return new Kept(
        Store.REDIS,
        List.of(
            new Report("2026-01-01", Store.REDIS, null, null, null, List.of(), List.of(results))));
  }

  private static Result result(String candidate, Figure figure, double value) {
    Round round = new Round(candidate, 1, Map.of(figure, value), 0, null);
    return new Result(
        SCENARIO.id(), candidate, round.figures(), null, null, null, null, null, List.of(round));
  }
}
