package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeptTest {
  @TempDir
  private Path folder;

  @Test
  void aNewRunTakesThePlaceOfItsScenariosAndLeavesTheOthers() throws Exception {
    new Kept(Store.REDIS, List.of())
        .with(run("old", Scenario.UNCONTENDED_1, Scenario.HAND_OFF))
        .with(run("new", Scenario.HAND_OFF, Scenario.LEASES))
        .write(folder);

    Kept kept = Kept.read(folder, Store.REDIS);

    assertThat(kept.runs()).extracting(Report::date).containsExactly("old", "new");
    assertThat(kept.runs().get(0).results())
        .extracting(Result::scenario)
        .containsExactly("uncontended-1");
    assertThat(kept.runs().get(1).results())
        .extracting(Result::scenario)
        .containsExactly("hand-off", "leases");
  }

  @Test
  void aRunOfWhichNothingIsLeftIsForgotten() {
    Kept kept = new Kept(Store.REDIS, List.of())
        .with(run("old", Scenario.LEASES))
        .with(run("new", Scenario.LEASES));

    assertThat(kept.runs()).extracting(Report::date).containsExactly("new");
  }

  @Test
  void figuresOfAnotherRoundTripStandBesideEachOther() {
    Kept kept = new Kept(Store.REDIS, List.of())
        .with(run("near", Scenario.UNCONTENDED_1))
        .with(run("far", 100, Scenario.UNCONTENDED_1))
        .with(run("less far", 20, Scenario.UNCONTENDED_1))
        .with(run("far again", 100, Scenario.UNCONTENDED_1));

    assertThat(kept.roundTrips()).containsExactly(0, 20, 100);
    assertThat(kept.at(0).runs()).extracting(Report::date).containsExactly("near");
    assertThat(kept.at(100).runs()).extracting(Report::date).containsExactly("far again");
  }

  private static Report run(String date, Scenario... scenarios) {
    return run(date, 0, scenarios);
  }

  private static Report run(String date, int rttMillis, Scenario... scenarios) {
    return new Report(
        date,
        Store.REDIS,
        rttMillis,
        new Report.Machine("cpu", 2, 8, "Linux", "JDK", 0.5),
        Report.Effort.QUICK,
        new Report.Server("version", "in memory", "commands"),
        List.of(new Report.Contestant("floor", "floor", Candidate.Role.FLOOR, "driver")),
        Arrays.stream(scenarios)
            .map(scenario -> new Result(
                scenario.id(), "floor", Map.of(), null, null, null, null, null, List.of()))
            .toList());
  }
}
