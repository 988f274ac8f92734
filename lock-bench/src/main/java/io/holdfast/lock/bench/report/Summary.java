package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate.Role;
import io.holdfast.lock.bench.report.Report.OnStore;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The results as text: one scenario for a terminal, or the ratios of a whole run for a page. */
public final class Summary {
  /** The figures for a terminal, as far as they were measured; the file has the others. */
  private static final List<Figure> SHOWN = List.of(
      Figure.RATE,
      Figure.TRIPS,
      Figure.P50_MICROS,
      Figure.P99_MICROS,
      Figure.COMMANDS,
      Figure.OWN_CPU,
      Figure.HEAP_MEBIBYTES,
      Figure.TURN_MICROS);

  private record Column(String title, Function<Result, @Nullable String> text) {}

  private Summary() {}

  /** Returns the lines for a terminal: a title, and a line for each candidate. */
  public static List<String> of(OnStore run, Scenario scenario) {
    List<Result> results = run.results(scenario);
    List<Column> columns = Stream.concat(
            SHOWN.stream()
                .map(figure -> new Column(
                    figure.title(), result -> Figure.text(result.figures().get(figure)))),
            Stream.of(
                new Column("of floor", result -> Figure.ratio(result.ofFloor())),
                new Column("of best", result -> Figure.ratio(result.ofBestPeer())),
                new Column("of session", result -> Figure.ratio(result.ofSession()))))
        .filter(column -> results.stream().anyMatch(result -> column.text().apply(result) != null))
        .toList();
    List<String> lines = new ArrayList<>();
    lines.add("");
    lines.add(line(run.store().title() + ": " + scenario.title(), columns, Column::title));
    for (Result result : results) {
      lines.add(
          line(result.contestant().label(), columns, column -> column.text().apply(result)));
      if (result.fault() != null) {
        lines.add("    FAILED: " + result.fault());
      }
    }
    return lines;
  }

  private static String line(
      String label, List<Column> columns, Function<Column, @Nullable String> text) {
    return "%-44s".formatted(label)
        + columns.stream()
            .map(column -> " %10s".formatted(Objects.requireNonNullElse(text.apply(column), "-")))
            .collect(Collectors.joining());
  }

  /** Returns a table in Markdown: Holdfast's ratios in each scenario, on each store. */
  public static List<String> table(Report report) {
    List<String> lines = new ArrayList<>();
    lines.add(row("", report.stores().stream().map(run -> run.store().title())));
    lines.add("|" + "---|".repeat(1 + report.stores().size()));
    for (Scenario scenario : Scenario.values()) {
      List<String> cells =
          report.stores().stream().map(run -> ratios(run.results(scenario))).toList();
      if (cells.stream().anyMatch(cell -> !cell.isEmpty())) {
        String title =
            scenario.title() + (report.rttMillis() == 0 ? "" : " at " + report.rttMillis() + " ms");
        lines.add(row(title, cells.stream()));
      }
    }
    lines.add("");
    lines.add(origin(report));
    return lines;
  }

  private static String row(String label, Stream<String> cells) {
    return Stream.concat(Stream.of(label), cells).collect(Collectors.joining(" | ", "| ", " |"));
  }

  private static String ratios(List<Result> results) {
    Optional<Result> holdfast = results.stream()
        .filter(result -> result.contestant().role() == Role.HOLDFAST)
        .findFirst();
    return holdfast
        .map(result -> Stream.of(
                result.fault() == null ? null : "failed",
                ratio(result.ofFloor(), "floor"),
                ratio(
                    result.ofBestPeer(),
                    result.bestPeer() == null ? "" : result.bestPeer().label()),
                ratio(result.ofSession(), "session lock"))
            .filter(Objects::nonNull)
            .collect(Collectors.joining("; ")))
        .orElse("");
  }

  private static @Nullable String ratio(@Nullable Double ratio, String base) {
    return ratio == null ? null : Figure.ratio(ratio) + " " + base;
  }

  /** Returns a sentence that tells when, on what and of what the figures are. */
  private static String origin(Report report) {
    Stream<String> servers = report.stores().stream().map(run -> run.server().version());
    Stream<String> libraries = report.stores().stream()
        .flatMap(run -> run.contestants().stream())
        .filter(one -> one.role() != Role.HOLDFAST)
        .map(Report.Contestant::version)
        .distinct()
        .sorted();
    return "Measured on " + report.date()
        + (report.effort().quick() ? " with `--quick`, in " : " in ")
        + report.effort().rounds()
        + " rounds of " + report.effort().roundMillis() + " ms, on "
        + report.machine().cores()
        + " cores: " + report.machine().jdk() + ", "
        + Stream.concat(servers, libraries).collect(Collectors.joining(", ")) + ".";
  }
}
