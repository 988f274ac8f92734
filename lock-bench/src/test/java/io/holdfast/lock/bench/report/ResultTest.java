package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultTest {
  private final Candidate floor = candidate("floor", Candidate.Role.FLOOR);
  private final Candidate holdfast = candidate("holdfast", Candidate.Role.HOLDFAST);
  private final Candidate slow = candidate("slow", Candidate.Role.PEER);
  private final Candidate fast = candidate("fast", Candidate.Role.PEER);
  private final List<Candidate> candidates = List.of(floor, holdfast, slow, fast);
  private final List<Round> rounds = new ArrayList<>();

  @Test
  void aRatioIsTakenWithinEachRound() {
    // The machine was ten times slower in the second round, for all of them.
    rates(1, 1000, 900, 100, 450);
    rates(2, 100, 90, 10, 45);
    rates(3, 1000, 900, 100, 450);

    Result result = result(Scenario.UNCONTENDED_1, "holdfast");

    assertThat(result.ofFloor()).isEqualTo(0.9);
    assertThat(result.ofBestPeer()).isEqualTo(2);
    assertThat(result.bestPeer()).isEqualTo("fast");
    assertThat(result.figures()).containsEntry(Figure.RATE, 900.0);
  }

  @Test
  void ofLatenciesTheLowerIsTheBetter() {
    rounds.add(new Round("floor", 1, Map.of(Figure.P50_MICROS, 100.0), 0, null));
    rounds.add(new Round("holdfast", 1, Map.of(Figure.P50_MICROS, 200.0), 0, null));

    assertThat(result(Scenario.HAND_OFF, "holdfast").ofFloor()).isEqualTo(0.5);
  }

  @Test
  void theLongestLatencyIsThatOfAllRounds() {
    rounds.add(new Round("floor", 1, Map.of(Figure.MAX_MICROS, 10.0), 0, null));
    rounds.add(new Round("floor", 2, Map.of(Figure.MAX_MICROS, 900.0), 0, null));
    rounds.add(new Round("floor", 3, Map.of(Figure.MAX_MICROS, 11.0), 0, null));

    assertThat(result(Scenario.FOUR_JVMS, "floor").figures())
        .containsEntry(Figure.MAX_MICROS, 900.0);
  }

  @Test
  void whoLetsTwoInIsMarkedAndIsNobodysMeasure() {
    rates(1, 1000, 900, 100, 450);
    rounds.add(new Round("fast", 2, Map.of(Figure.RATE, 450.0), 1, null));

    Result guilty = result(Scenario.UNCONTENDED_1, "fast");

    assertThat(guilty.fault()).contains("two holders");
    assertThat(guilty.ofFloor()).isNull();
    assertThat(result(Scenario.UNCONTENDED_1, "holdfast").bestPeer()).isEqualTo("slow");
  }

  @Test
  void whoFailsIsMarked() {
    rates(1, 1000, 900, 100, 450);
    rounds.add(Round.failed("slow", 2, "the server is gone"));

    assertThat(result(Scenario.UNCONTENDED_1, "slow").fault()).isEqualTo("the server is gone");
  }

  private void rates(int number, double... rates) {
    for (int i = 0; i < rates.length; i++) {
      rounds.add(new Round(candidates.get(i).id(), number, Map.of(Figure.RATE, rates[i]), 0, null));
    }
  }

  private Result result(Scenario scenario, String candidate) {
    return Result.of(scenario, candidates, rounds).stream()
        .filter(result -> result.candidate().equals(candidate))
        .findFirst()
        .orElseThrow();
  }

  private static Candidate candidate(String id, Candidate.Role role) {
    return Candidate.of(id, id, role, ResultTest.class, Scenario.ALL, url -> {
      throw new IllegalStateException("not opened");
    });
  }
}
