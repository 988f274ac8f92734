package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One chart for each scenario: what Holdfast and the best peer reach of the floor, on each store.
 * And one of what Holdfast's cycle costs with more and more names.
 */
public final class Charts {
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

  public static void write(List<Kept> stores, Path folder) throws IOException {
    for (Scenario scenario : scenarios()) {
      write(chart(scenario, stores), folder.resolve(file(scenario)));
    }
    write(growth(Scenario.Series.NAMES, stores), folder.resolve(file(Scenario.Series.NAMES)));
  }

  private static void write(Optional<BarChart> chart, Path file) throws IOException {
    if (chart.isPresent()) {
      Files.writeString(file, chart.get().svg());
    }
  }

  /** The CPU of a cycle as a multiple of what it is at the smallest size. */
  private static Optional<BarChart> growth(Scenario.Series series, List<Kept> stores) {
    List<Scenario> scenarios = series.scenarios();
    List<String> sizes = scenarios.stream().map(Scenario::title).toList();
    BarChart chart = new BarChart(
        series.title() + ": CPU of Holdfast's cycle, server and client",
        "1 = with " + sizes.get(0),
        sizes);
    for (Kept kept : stores) {
      @Nullable Double smallest = cpu(kept, scenarios.get(0));
      if (smallest != null) {
        List<@Nullable Double> multiples = new ArrayList<>();
        for (Scenario scenario : scenarios) {
          @Nullable Double cpu = cpu(kept, scenario);
          multiples.add(cpu == null ? null : cpu / smallest);
        }
        chart.with(kept.store().title(), multiples);
      }
    }
    return chart.isEmpty() ? Optional.empty() : Optional.of(chart);
  }

  private static @Nullable Double cpu(Kept kept, Scenario scenario) {
    @Nullable Result result = kept.result(scenario, "holdfast");
    return result == null || result.fault() != null
        ? null
        : result.figures().getOrDefault(Figure.SERVER_CPU, 0.0)
            + result.figures().getOrDefault(Figure.CLIENT_CPU, 0.0);
  }

  private static Optional<BarChart> chart(Scenario scenario, List<Kept> stores) {
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
    return Optional.of(new BarChart(
            scenario.title()
                + (scenario.kind() == Scenario.Kind.HAND_OFF
                    ? ": how fast, of the bare driver"
                    : ": cycles per second, of the bare driver"),
            "1 = the bare driver; higher is better",
            titles)
        .with("Holdfast", holdfast)
        .with("best peer, if one can do it", peer));
  }
}
