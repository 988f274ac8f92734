package io.holdfast.lock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.bench.Main;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** {@code dev/bench --page} writes the page and the charts again. */
class PageTest {
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  @Test
  void thePageSaysWhatTheFiguresBesideItSay() throws Exception {
    Path kept = ROOT.resolve(Main.KEPT);
    assertThat(Kept.read(kept)).isNotEmpty();
    assertThat(Files.readString(ROOT.resolve(Main.PAGE)))
        .as("run dev/bench --page, or undo the change of docs/benchmarks.md")
        .isEqualTo(Page.render(kept));
    assertThat(Files.readString(ROOT.resolve(Main.TABLES)))
        .as("run dev/bench --page, or undo the change of docs/benchmarks/tables.md")
        .isEqualTo(Tables.render(kept));
  }

  @Test
  void everyChartOnThePageIsThere() throws Exception {
    assertSmall(Charts.file(Scenario.Series.NAMES));
    for (Scenario scenario : Charts.scenarios()) {
      assertSmall(Charts.file(scenario));
    }
  }

  /** A page with pictures must not be slow to open. */
  private static void assertSmall(String chart) {
    assertThat(ROOT.resolve(Main.KEPT).resolve(chart))
        .isNotEmptyFile()
        .satisfies(file -> assertThat(Files.size(file)).isLessThan(30_000));
  }
}
