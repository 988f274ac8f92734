package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The output on the terminal during a run. */
public final class Terminal {
  private static final int LABEL_WIDTH = 36;
  private static final int WIDTH = 11;

  private final PrintStream out;
  private final boolean live;
  private int progressLength;

  /**
   * Makes the output of a run.
   *
   * @param live whether progress may be overwritten in place
   */
  public Terminal(PrintStream out, boolean live) {
    this.out = out;
    this.live = live;
  }

  public void progress(String what) {
    if (live) {
      String text = "  " + what;
      out.print("\r" + text + " ".repeat(Math.max(0, progressLength - text.length())) + "\r");
      out.flush();
      progressLength = text.length();
    }
  }

  public void line(String text) {
    progress("");
    out.println(text);
  }

  public void store(Store store, Report.Server server) {
    line("");
    line("== " + store.title() + ": " + server.version() + ", " + server.durability());
    line("   commands are " + server.counted());
  }

  public void results(Scenario scenario, List<Candidate> candidates, List<Result> results) {
    line("");
    line(scenario.title() + ". " + scenario.description());
    List<Figure> columns = columns(scenario);
    StringBuilder head = new StringBuilder(padRight("", LABEL_WIDTH));
    columns.forEach(column -> head.append(padLeft(column.title())));
    if (hasRatios(scenario)) {
      head.append(padLeft("of floor")).append(padLeft("of best"));
      head.append(padLeft("of session"));
    }
    line(head.toString());
    for (int i = 0; i < candidates.size(); i++) {
      Result result = results.get(i);
      StringBuilder row = new StringBuilder(padRight(candidates.get(i).label(), LABEL_WIDTH));
      columns.forEach(column -> row.append(padLeft(text(result.figures(), column))));
      if (hasRatios(scenario)) {
        row.append(padLeft(ratio(result.ofFloor()))).append(padLeft(ratio(result.ofBestPeer())));
        row.append(padLeft(ratio(result.ofSession())));
      }
      line(row + (result.fault() == null ? "" : "  FAILED: " + result.fault()));
    }
    results.stream()
        .map(Result::bestPeer)
        .filter(peer -> peer != null)
        .findFirst()
        .ifPresent(peer -> line("   (best: the best peer, " + peer + ")"));
  }

  static boolean hasRatios(Scenario scenario) {
    return !scenario.kind().isWatched();
  }

  static List<Figure> columns(Scenario scenario) {
    List<Figure> columns = new ArrayList<>();
    switch (scenario.kind()) {
      case CYCLES, WALK -> {
        columns.addAll(
            List.of(Figure.RATE, Figure.P50_MICROS, Figure.P99_MICROS, Figure.P999_MICROS));
        if (scenario.isContended()) {
          columns.add(Figure.MAX_MICROS);
        }
        if (scenario.threads() > 1) {
          columns.add(Figure.FAIRNESS);
        }
      }
      case HAND_OFF ->
        columns.addAll(List.of(
            Figure.P50_MICROS,
            Figure.P99_MICROS,
            Figure.P999_MICROS,
            Figure.MAX_MICROS,
            Figure.SAMPLES));
      case WAITERS -> columns.addAll(List.of(Figure.DRAIN_MILLIS, Figure.TURN_MICROS));
      case LEASES -> columns.add(Figure.RATE);
    }
    columns.addAll(List.of(Figure.COMMANDS, Figure.SERVER_CPU, Figure.CLIENT_CPU));
    if (scenario.kind() == Scenario.Kind.LEASES) {
      columns.add(Figure.OWN_CPU);
    }
    columns.addAll(List.of(Figure.ALLOCATED, Figure.THREADS));
    if (scenario.kind().isWatched() || scenario.kind() == Scenario.Kind.WALK) {
      columns.add(Figure.HEAP_MEBIBYTES);
    }
    return columns;
  }

  static String text(Map<Figure, Double> figures, Figure figure) {
    @Nullable Double value = figures.get(figure);
    if (value == null) {
      return "-";
    }
    if (figure == Figure.FAIRNESS) {
      return String.format(Locale.ROOT, "%.2f", value);
    }
    if (figure == Figure.SAMPLES || figure == Figure.THREADS) {
      return String.format(Locale.ROOT, "%.0f", value);
    }
    return value >= 100
        ? String.format(Locale.ROOT, "%,.0f", value)
        : String.format(Locale.ROOT, "%.1f", value);
  }

  static String ratio(@Nullable Double ratio) {
    return ratio == null ? "-" : String.format(Locale.ROOT, "%.2f", ratio);
  }

  private static String padRight(String text, int width) {
    return text + " ".repeat(Math.max(1, width - text.length()));
  }

  private static String padLeft(String text) {
    return " ".repeat(Math.max(1, WIDTH - text.length())) + text;
  }
}
