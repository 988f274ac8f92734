package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.scenario.Scenario;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A table of the figures of one scenario, or of a series of scenarios.
 *
 * @param rows the titles, and a row for each result
 */
record Table(List<List<String>> rows) {
  private record Column(String title, Function<Result, String> text) {}

  /** Makes the table of a store; it leaves out what was not measured. */
  static Table of(Kept kept, List<Scenario> group) {
    List<Result> results = group.stream()
        .flatMap(scenario -> kept.results(scenario).stream())
        .collect(Collectors.groupingBy(Result::candidate, LinkedHashMap::new, Collectors.toList()))
        .values()
        .stream()
        .flatMap(List::stream)
        .toList();
    List<Column> columns = Stream.concat(
            Arrays.stream(Figure.values())
                .map(figure -> new Column(figure.title(), result -> figure.text(result.figures()))),
            Stream.of(
                new Column("of floor", result -> Figure.ratio(result.ofFloor())),
                new Column("of best", result -> Figure.ratio(result.ofBestPeer())),
                new Column("of session", result -> Figure.ratio(result.ofSession()))))
        .filter(column ->
            results.stream().anyMatch(result -> !column.text().apply(result).equals(Figure.NONE)))
        .toList();
    List<List<String>> rows = new ArrayList<>();
    rows.add(row("", columns.stream().map(Column::title)));
    for (Result result : results) {
      String label = kept.label(result.candidate())
          + (group.size() == 1 ? "" : ", " + result.scenario())
          + (result.fault() == null ? "" : " (failed: " + result.fault() + ")");
      rows.add(row(label, columns.stream().map(column -> column.text().apply(result))));
    }
    return new Table(rows);
  }

  private static List<String> row(String label, Stream<String> cells) {
    return Stream.concat(Stream.of(label), cells).toList();
  }

  /** Returns the lines for a terminal. */
  List<String> text() {
    return rows.stream()
        .map(row -> "%-36s".formatted(row.get(0))
            + row.stream().skip(1).map(" %10s"::formatted).collect(Collectors.joining()))
        .toList();
  }

  /** Returns the lines for a page. */
  List<String> markdown() {
    List<String> lines = new ArrayList<>();
    rows.forEach(
        row -> lines.add("|" + (row.get(0).isEmpty() ? "" : " ") + String.join(" | ", row) + " |"));
    lines.add(1, "|---|" + "---:|".repeat(rows.get(0).size() - 1));
    return lines;
  }
}
