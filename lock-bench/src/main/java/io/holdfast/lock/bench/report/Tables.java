package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The page with all figures, and how they were made; nothing that is not in the JSON beside it. */
public final class Tables {
  private final List<Kept> stores;
  private final List<String> lines = new ArrayList<>();

  private Tables(List<Kept> stores) {
    this.stores = stores;
  }

  public static String render(Path folder) throws IOException {
    return new Tables(Kept.read(folder)).render();
  }

  private String render() {
    add("# Benchmarks: all figures", "");
    paragraph(
        "<!-- Written by dev/bench --page from the JSON beside it. Change that, or Tables.java, and not"
            + " this. -->");
    paragraph(
        "What they say, and where Holdfast is behind, is in [benchmarks.md](../benchmarks.md).");
    machines();
    method();
    growth();
    stores.forEach(this::tables);
    return String.join("\n", lines) + "\n";
  }

  private void add(String... more) {
    lines.addAll(List.of(more));
  }

  private void paragraph(String text) {
    add(text, "");
  }

  private Stream<Report> runs() {
    return stores.stream().flatMap(kept -> kept.runs().stream());
  }

  private void machines() {
    add("## Machine and servers", "");
    add(
        "| | Scenarios | Server | What it does before it confirms | Client's machine | Load before |"
            + " Measured |");
    add("|---|---|---|---|---|---|---|");
    for (Report report : (Iterable<Report>) runs()::iterator) {
      Report.Machine machine = report.machine();
      Report.Effort effort = report.effort();
      add("| " + report.store().title() + " | " + scenarios(report) + " | "
          + report.server().version() + " | "
          + report.server().durability() + " | " + machine.cpu() + ", " + machine.cores()
          + " cores, " + machine.memoryGibibytes() + " GiB, " + machine.system() + ", "
          + machine.jdk() + " | " + String.format(Locale.ROOT, "%.1f", machine.loadBefore())
          + " | " + report.date() + ", " + effort.rounds() + " rounds of " + effort.roundMillis()
          + " ms" + (effort.quick() ? ", quick: compiled by C1 only" : "") + " |");
    }
    add("");
    paragraph(
        "Server and clients share these cores, over the loopback interface: the server runs in a"
            + " container on the host's network.");
    paragraph("Versions: " + String.join(", ", versions()) + ".");
  }

  private static String scenarios(Report run) {
    return run.results().stream()
        .map(Result::scenario)
        .distinct()
        .collect(Collectors.joining(", "));
  }

  private Set<String> versions() {
    Set<String> versions = new TreeSet<>();
    runs()
        .flatMap(run -> run.contestants().stream())
        .filter(contestant -> contestant.role() != Candidate.Role.HOLDFAST)
        .forEach(contestant -> versions.add(contestant.version()));
    return versions;
  }

  private void method() {
    add("## Method", "");
    add("- A candidate has JVMs of its own, which live as long as the store's run: neither what the"
        + " JIT compiler learned from one, nor its threads, nor its garbage is taken for another's,"
        + " and four clients are four processes, as in production.");
    add(
        "- Each JVM first warms up on free locks with eight threads, until the JIT compiler has hardly"
            + " anything left to do (at most 48 s), and then in each scenario; for hand-offs first with"
            + " as many as there are if each lock is held for 1 ms. Then the"
            + " candidates take turns: a round is one candidate after the other, in"
            + " an order that shifts. A figure is the median of the rounds. A ratio is taken within each"
            + " round, and then the median.");
    add(
        "- In *Free lock, 1 thread* Redis, which has one thread, is kept on one core and the client's"
            + " JVM on the other. Else the kernel has them share a core in some rounds and not in others,"
            + " which tells more than the candidate does.");
    add(
        "- Along runs a check of what all this is for: memory that all JVMs of a candidate share"
            + " notices when two threads are inside at once. A candidate that fails it is marked, and has no ratio.");
    add(
        "- Each peer is used as its documentation says, with its defaults, but for one: Spring's JDBC"
            + " locks last 60 s instead of 10, since they are not renewed. Those that cannot wait for a lock"
            + " (ShedLock, consul-client) take no part where one has to, and those that do not renew (Spring,"
            + " ShedLock) none in held leases.");
    add(
        "- Redisson's fair lock takes no part with 1,000 waiters: the last of them had not had its turn"
            + " after four minutes.");
    add("- Databases allow 1,500 connections: their session locks, and the floor that waits in the"
        + " server, keep one for each waiter.");
    add("- *fairness* is Jain's index of the threads' turns: 1 if all had as many. *commands* and"
        + " *CPU* are for each cycle of taking and giving back (CPU in microseconds), and where there"
        + " are no cycles for each second (CPU in milliseconds). *allocated* is bytes, by all threads"
        + " of the client; *threads* is what a client keeps beside those that take locks.");
    add("- Where nobody does anything, and the question is what that costs (waiters, leases), the"
        + " candidates come one after the other, and the JVMs of all others are ended first: the server"
        + " counts for all, and even an idle pool talks to it.");
    add("- *heap* is what is left in it after a collection, handles of the benchmark included: the"
        + " floor's row shows how much those are. *drain* is the time from the release until all that"
        + " waited have had the lock in turn, *a turn* that divided by their number.");
    for (Scenario scenario : Scenario.values()) {
      add("- *" + scenario.title() + "*: " + scenario.description());
    }
    add("");
  }

  /** Holdfast only; the tables of each store have the others. */
  private void growth() {
    add("## What happens to Holdfast's cost as it grows", "");
    paragraph(
        "Each cell has a figure for each size, in the order of the title: what stays the same does"
            + " not grow.");
    for (Scenario.Series series : Scenario.Series.values()) {
      List<Scenario> group = series.scenarios();
      List<Figure> columns = Terminal.columns(group.get(0)).stream()
          .filter(column -> column != Figure.P999_MICROS && column != Figure.FAIRNESS)
          .toList();
      add("### " + title(group), "");
      add(head(columns, false));
      add(rule(columns.size()));
      for (Kept kept : stores) {
        if (group.stream().anyMatch(scenario -> kept.result(scenario, Target.HOLDFAST) != null)) {
          add("| " + kept.store().title() + " |" + cells(kept, group, Target.HOLDFAST, columns));
        }
      }
      add("");
    }
    paragraph("![What a cycle costs with more and more names, on each store]("
        + Charts.file(Scenario.Series.NAMES) + ")");
  }

  private void tables(Kept kept) {
    add("## " + kept.store().title(), "");
    add("Commands are " + kept.runs().get(0).server().counted() + ".");
    Scenario.groups().forEach(group -> table(kept, group));
    add("");
  }

  /** A series has one table, with a figure of each scenario in each cell. */
  private void table(Kept kept, List<Scenario> group) {
    List<String> candidates = group.stream()
        .flatMap(scenario -> kept.results(scenario).stream())
        .map(Result::candidate)
        .distinct()
        .toList();
    if (candidates.isEmpty()) {
      return;
    }
    List<Figure> columns = Terminal.columns(group.get(0));
    boolean ratios = Terminal.hasRatios(group.get(0));
    add("", "### " + kept.store().title() + ": " + title(group), "");
    add(head(columns, ratios));
    add(rule(columns.size() + (ratios ? 3 : 0)));
    for (String candidate : candidates) {
      String row = "| " + kept.label(candidate) + faults(kept, group, candidate) + " |"
          + cells(kept, group, candidate, columns);
      if (ratios) {
        row += cell(kept, group, candidate, result -> Terminal.ratio(result.ofFloor()))
            + cell(kept, group, candidate, result -> Terminal.ratio(result.ofBestPeer()))
            + cell(kept, group, candidate, result -> Terminal.ratio(result.ofSession()));
      }
      add(row);
    }
  }

  private static String title(List<Scenario> group) {
    return group.size() == 1
        ? Scenario.title(group)
        : Scenario.title(group) + ": "
            + group.stream().map(Scenario::title).collect(Collectors.joining(" / "));
  }

  private static String head(List<Figure> columns, boolean ratios) {
    return "| | " + columns.stream().map(Figure::title).collect(Collectors.joining(" | "))
        + (ratios ? " | of floor | of best peer | of session lock |" : " |");
  }

  private static String rule(int columns) {
    return "|---|" + "---:|".repeat(columns);
  }

  private static String cells(
      Kept kept, List<Scenario> group, String candidate, List<Figure> columns) {
    return columns.stream()
        .map(column ->
            cell(kept, group, candidate, result -> Terminal.text(result.figures(), column)))
        .collect(Collectors.joining());
  }

  private static String cell(
      Kept kept, List<Scenario> group, String candidate, Function<Result, String> text) {
    return group.stream()
        .map(scenario -> Optional.ofNullable(kept.result(scenario, candidate)))
        .map(result -> result.map(text).orElse("-"))
        .collect(Collectors.joining(" / ", " ", " |"));
  }

  private static String faults(Kept kept, List<Scenario> group, String candidate) {
    return group.stream()
        .map(scenario -> kept.result(scenario, candidate))
        .filter(result -> result != null && result.fault() != null)
        .map(result -> " (" + (group.size() == 1 ? "" : result.scenario() + " ") + "failed: "
            + result.fault() + ")")
        .collect(Collectors.joining());
  }
}
