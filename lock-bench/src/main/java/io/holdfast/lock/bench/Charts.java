package io.holdfast.lock.bench;

import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.style.CategoryStyler;
import org.knowm.xchart.style.Styler;

/**
 * One chart for each scenario: what Holdfast and the best peer reach of the floor, on each store.
 * And one of what Holdfast's cycle costs with more and more names.
 */
final class Charts {
  private static final int WIDTH = 760;
  private static final int HEIGHT = 380;

  private Charts() {}

  /** The scenarios that have a chart. */
  static List<Scenario> scenarios() {
    return List.of(
        Scenario.UNCONTENDED_1, Scenario.UNCONTENDED_8, Scenario.FOUR_JVMS, Scenario.HAND_OFF);
  }

  static String file(Scenario scenario) {
    return scenario.id() + ".svg";
  }

  static String file(Scenario.Series series) {
    return series.id() + ".svg";
  }

  static void write(List<Kept> stores, Path folder) throws IOException {
    for (Scenario scenario : scenarios()) {
      Optional<CategoryChart> chart = chart(scenario, stores);
      if (chart.isPresent()) {
        write(chart.get(), folder.resolve(file(scenario)));
      }
    }
    Optional<CategoryChart> growth = growth(Scenario.Series.NAMES, stores);
    if (growth.isPresent()) {
      write(growth.get(), folder.resolve(file(Scenario.Series.NAMES)));
    }
  }

  private static void write(CategoryChart chart, Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file)) {
      ChartEncoder.saveChart(chart, out, "svg");
    }
  }

  /** The CPU of a cycle as a multiple of what it is at the smallest size. */
  private static Optional<CategoryChart> growth(Scenario.Series series, List<Kept> stores) {
    List<Scenario> scenarios = series.scenarios();
    List<String> sizes = scenarios.stream().map(Scenario::title).toList();
    CategoryChart chart = chart(
        series.title() + ": CPU of Holdfast's cycle, server and client",
        "1 = with " + sizes.get(0));
    boolean empty = true;
    for (Kept kept : stores) {
      @Nullable Double smallest = cpu(kept, scenarios.get(0));
      if (smallest != null) {
        List<@Nullable Double> multiples = new ArrayList<>();
        for (Scenario scenario : scenarios) {
          @Nullable Double cpu = cpu(kept, scenario);
          multiples.add(cpu == null ? null : cpu / smallest);
        }
        chart.addSeries(kept.store().title(), sizes, multiples);
        empty = false;
      }
    }
    return empty ? Optional.empty() : Optional.of(chart);
  }

  private static @Nullable Double cpu(Kept kept, Scenario scenario) {
    @Nullable Result result = kept.result(scenario, "holdfast");
    return result == null || result.fault() != null
        ? null
        : result.figures().getOrDefault(Figure.SERVER_CPU, 0.0)
            + result.figures().getOrDefault(Figure.CLIENT_CPU, 0.0);
  }

  private static Optional<CategoryChart> chart(Scenario scenario, List<Kept> stores) {
    List<String> titles = new ArrayList<>();
    List<@Nullable Double> holdfast = new ArrayList<>();
    List<@Nullable Double> peer = new ArrayList<>();
    for (Kept kept : stores) {
      @Nullable Result ours = kept.result(scenario, "holdfast");
      if (ours == null || ours.ofFloor() == null) {
        continue;
      }
      @Nullable
      Result best = ours.bestPeer() == null ? null : kept.result(scenario, ours.bestPeer());
      titles.add(kept.store().title());
      holdfast.add(ours.ofFloor());
      peer.add(best == null ? null : best.ofFloor());
    }
    if (titles.isEmpty()) {
      return Optional.empty();
    }
    CategoryChart chart = chart(
        scenario.title()
            + (scenario.kind() == Scenario.Kind.HAND_OFF
                ? ": how fast, of the bare driver"
                : ": cycles per second, of the bare driver"),
        "1 = bare driver; higher is better");
    add(chart, "Holdfast", titles, holdfast, new Color(0x1f6f4a));
    add(chart, "best peer, if one can do it", titles, peer, new Color(0xc9ccd1));
    return Optional.of(chart);
  }

  private static CategoryChart chart(String title, String yAxis) {
    CategoryChart chart = new CategoryChartBuilder()
        .width(WIDTH)
        .height(HEIGHT)
        .title(title)
        .yAxisTitle(yAxis)
        .build();
    CategoryStyler styler = chart.getStyler();
    styler.setLegendPosition(Styler.LegendPosition.OutsideS);
    styler.setLegendLayout(Styler.LegendLayout.Horizontal);
    styler.setChartBackgroundColor(Color.WHITE);
    styler.setPlotBorderVisible(false);
    styler.setPlotGridVerticalLinesVisible(false);
    styler.setAvailableSpaceFill(0.7);
    styler.setYAxisMin(0.0);
    styler.setLocale(Locale.ROOT);
    styler.setChartTitleFont(new Font(Font.SANS_SERIF, Font.BOLD, 15));
    styler.setLabelsVisible(true);
    styler.setYAxisDecimalPattern("0.0");
    return chart;
  }

  private static void add(
      CategoryChart chart,
      String name,
      List<String> stores,
      List<@Nullable Double> values,
      Color color) {
    CategorySeries series = chart.addSeries(name, stores, values);
    series.setFillColor(color);
  }
}
