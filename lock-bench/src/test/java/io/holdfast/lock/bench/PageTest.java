package io.holdfast.lock.bench;

import static org.assertj.core.api.Assertions.assertThat;

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
  }

  @Test
  void everyChartOnThePageIsThere() throws Exception {
    assertThat(ROOT.resolve(Main.KEPT).resolve(Charts.file(Scenario.Series.NAMES)))
        .isNotEmptyFile();
    for (Scenario scenario : Charts.scenarios()) {
      assertThat(ROOT.resolve(Main.KEPT).resolve(Charts.file(scenario))).isNotEmptyFile();
    }
  }
}
