package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Candidate.Role;
import io.holdfast.lock.bench.report.Report.Contestant;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultTest {
  private final Contestant floor = contestant("floor", Role.FLOOR);
  private final Contestant holdfast = contestant("holdfast", Role.HOLDFAST);
  private final Contestant slow = contestant("slow", Role.PEER);
  private final Contestant fast = contestant("fast", Role.PEER);
  private final List<Contestant> contestants = List.of(floor, holdfast, slow, fast);
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
    assertThat(result.bestPeer()).isEqualTo(fast);
    assertThat(result.figures()).containsEntry(Figure.RATE, 900.0);
  }

  @Test
  void ofLatenciesTheLowerIsTheBetter() {
    rounds.add(new Round(Scenario.HAND_OFF, "floor", 1, Map.of(Figure.P50_MICROS, 100.0), 0, null));
    rounds.add(
        new Round(Scenario.HAND_OFF, "holdfast", 1, Map.of(Figure.P50_MICROS, 200.0), 0, null));

    assertThat(result(Scenario.HAND_OFF, "holdfast").ofFloor()).isEqualTo(0.5);
  }

  @Test
  void theLongestLatencyIsThatOfAllRounds() {
    rounds.add(new Round(Scenario.FOUR_JVMS, "floor", 1, Map.of(Figure.MAX_MICROS, 10.0), 0, null));
    rounds.add(
        new Round(Scenario.FOUR_JVMS, "floor", 2, Map.of(Figure.MAX_MICROS, 900.0), 0, null));
    rounds.add(new Round(Scenario.FOUR_JVMS, "floor", 3, Map.of(Figure.MAX_MICROS, 11.0), 0, null));

    assertThat(result(Scenario.FOUR_JVMS, "floor").figures())
        .containsEntry(Figure.MAX_MICROS, 900.0);
  }

  @Test
  void whoLetsTooManyInIsMarkedAndIsNobodysMeasure() {
    rates(1, 1000, 900, 100, 450);
    rounds.add(new Round(Scenario.UNCONTENDED_1, "fast", 2, Map.of(Figure.RATE, 450.0), 1, null));

    Result guilty = result(Scenario.UNCONTENDED_1, "fast");

    assertThat(guilty.fault()).contains("too many holders");
    assertThat(guilty.ofFloor()).isNull();
    assertThat(result(Scenario.UNCONTENDED_1, "holdfast").bestPeer()).isEqualTo(slow);
  }

  @Test
  void whoFailsIsMarked() {
    rates(1, 1000, 900, 100, 450);
    rounds.add(Round.failed(Scenario.UNCONTENDED_1, "slow", 2, "the server is gone"));

    assertThat(result(Scenario.UNCONTENDED_1, "slow").fault()).isEqualTo("the server is gone");
  }

  private void rates(int number, double... rates) {
    for (int i = 0; i < rates.length; i++) {
      rounds.add(new Round(
          Scenario.UNCONTENDED_1,
          contestants.get(i).id(),
          number,
          Map.of(Figure.RATE, rates[i]),
          0,
          null));
    }
  }

  private Result result(Scenario scenario, String candidate) {
    return Result.of(scenario, contestants, rounds).stream()
        .filter(result -> result.contestant().id().equals(candidate))
        .findFirst()
        .orElseThrow();
  }

  private static Contestant contestant(String id, Role role) {
    return new Contestant(id, id, role, "1.0");
  }
}
