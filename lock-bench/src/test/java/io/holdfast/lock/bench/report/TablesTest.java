package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class TablesTest {
  private static final Path FOLDER = Path.of("").toAbsolutePath().resolveSibling("docs/benchmarks");

  @Test
  void thePageSaysWhatTheFiguresBesideItSay() throws Exception {
    List<Kept> stores = Kept.read(FOLDER);
    String page = Files.readString(FOLDER.resolve("tables.md"));

    assertThat(stores).hasSameSizeAs(Store.values());
    assertThat(page)
        .as("run dev/bench --page, or undo the change of the figures")
        .isEqualTo(Tables.render(page, stores));
  }

  @Test
  void aTableHasWhatWasMeasured() {
    Kept kept = kept(result(Scenario.HAND_OFF, 0.5, null), result(Scenario.LEASES, null, null));

    assertThat(Table.of(kept, List.of(Scenario.HAND_OFF)).markdown())
        .containsExactly(
            "| | p50 µs | of floor |", "|---|---:|---:|", "| Holdfast | 1,200 | 0.50 |");
    assertThat(Table.of(kept, List.of(Scenario.HAND_OFF)).text())
        .containsExactly(
            " ".repeat(36) + "     p50 µs   of floor",
            "Holdfast" + " ".repeat(28) + "      1,200       0.50");
  }

  @Test
  void aSeriesHasARowForEachScenario() {
    Kept kept =
        kept(result(Scenario.NAMES_10, null, null), result(Scenario.NAMES_1000, null, "it broke"));

    assertThat(Table.of(kept, List.of(Scenario.NAMES_10, Scenario.NAMES_1000)).rows())
        .containsExactly(
            List.of("", "p50 µs"),
            List.of("Holdfast, names-10", "1,200"),
            List.of("Holdfast, names-1000 (failed: it broke)", "1,200"));
  }

  private static Kept kept(Result... results) {
    Report.Contestant holdfast =
        new Report.Contestant("holdfast", "Holdfast", Candidate.Role.HOLDFAST, "this source");
    return new Kept(
        Store.REDIS,
        List.of(new Report(
            "2026-01-01", Store.REDIS, 0, null, null, null, List.of(holdfast), List.of(results))));
  }

  private static Result result(
      Scenario scenario, @Nullable Double ofFloor, @Nullable String fault) {
    Map<Figure, Double> figures = Map.of(Figure.P50_MICROS, 1200.0);
    return new Result(
        scenario.id(), "holdfast", figures, ofFloor, null, null, null, fault, List.of());
  }
}
