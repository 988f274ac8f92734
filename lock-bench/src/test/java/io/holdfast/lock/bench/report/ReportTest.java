package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Candidate.Role;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.report.Report.Contestant;
import io.holdfast.lock.bench.report.Report.Effort;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
  @TempDir
  private Path folder;

  private final Report report = new Report(
      "2026-01-01",
      new Report.Machine(2, "JDK 17"),
      Effort.QUICK,
      0,
      List.of(
          run(
              Store.REDIS,
              round(Scenario.UNCONTENDED_1, "floor", 2000, null),
              round(Scenario.UNCONTENDED_1, "holdfast", 1800, null),
              round(Scenario.UNCONTENDED_1, "peer", 900, null),
              round(Scenario.ONE_CLIENT, "holdfast", 12.3, "it broke")),
          run(Store.CONSUL, round(Scenario.UNCONTENDED_1, "holdfast", 10, null))));

  @Test
  void theFileHasAllThatWasMeasured() throws Exception {
    Path file = folder.resolve("new").resolve("bench.json");

    report.write(file);

    assertThat(Report.read(file)).isEqualTo(report);
  }

  @Test
  void aTerminalHasALineForEachCandidate() {
    assertThat(Summary.of(report.stores().get(0), Scenario.UNCONTENDED_1))
        .containsExactly(
            "",
            "Redis: Free lock, 1 thread                     cycles/s   of floor    of best",
            "floor: bare                                       2,000       1.00       2.22",
            "Holdfast                                          1,800       0.90       2.00",
            "Peer                                                900       0.45       1.00");
    assertThat(Summary.of(report.stores().get(0), Scenario.ONE_CLIENT))
        .containsExactly(
            "",
            "Redis: One lock, 8 threads of one client       cycles/s",
            "Holdfast                                           12.3",
            "    FAILED: it broke");
  }

  @Test
  void aPageHasTheRatiosOfEachScenario() {
    assertThat(Summary.table(report))
        .containsExactly(
            "|  | Redis | Consul |",
            "|---|---|---|",
            "| Free lock, 1 thread | 0.90 floor; 2.00 Peer |  |",
            "| One lock, 8 threads of one client | failed |  |",
            "",
            "Measured on 2026-01-01 with `--quick`, in 3 rounds of 500 ms, on 2 cores: JDK 17,"
                + " server 1, server 1, driver-2, peer-3.");
  }

  private static Report.OnStore run(Store store, Round... rounds) {
    return new Report.OnStore(
        store,
        new Report.Server("server 1", "in memory", "commands"),
        List.of(
            new Contestant("floor", "floor: bare", Role.FLOOR, "driver-2"),
            new Contestant("holdfast", "Holdfast", Role.HOLDFAST, "this source"),
            new Contestant("peer", "Peer", Role.PEER, "peer-3")),
        List.of(rounds));
  }

  private static Round round(
      Scenario scenario, String candidate, double rate, @Nullable String error) {
    return new Round(scenario, candidate, 1, Map.of(Figure.RATE, rate), 0, error);
  }
}
