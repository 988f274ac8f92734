package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The page with all tables. Its beginning, up to a mark, is written by hand. */
public final class Tables {
  private static final String MARK =
      "<!-- From here on dev/bench writes this page from the JSON beside it. -->\n";

  private Tables() {}

  /** Returns the page with the figures of today below the mark. */
  public static String render(String page, List<Kept> stores) {
    List<String> lines = new ArrayList<>(List.of("", "## Machine and servers", ""));
    lines.add("| | Scenarios | Server | What it does before it confirms | Client's machine |"
        + " Load before | Measured |");
    lines.add("|---|---|---|---|---|---|---|");
    stores.forEach(kept -> kept.runs().forEach(run -> lines.add(machine(run))));
    lines.addAll(List.of("", "Versions: " + versions(stores) + "."));
    for (Kept kept : stores) {
      lines.addAll(List.of("", "## " + kept.store().title(), ""));
      lines.add("Commands are " + kept.runs().get(0).server().counted() + ".");
      kept.roundTrips().forEach(rttMillis -> lines.addAll(tables(kept, rttMillis)));
    }
    if (!page.contains(MARK)) {
      throw new IllegalArgumentException("The page has no line '" + MARK + "' before its tables");
    }
    return page.substring(0, page.indexOf(MARK) + MARK.length()) + String.join("\n", lines) + "\n";
  }

  private static List<String> tables(Kept kept, int rttMillis) {
    List<String> lines = new ArrayList<>();
    for (List<Scenario> group : Scenario.groups()) {
      List<String> table = Table.of(kept.at(rttMillis), group).markdown();
      if (table.size() > 2) {
        String title = Report.named(Scenario.title(group), rttMillis);
        lines.addAll(List.of("", "### " + kept.store().title() + ": " + title, ""));
        lines.addAll(table);
      }
    }
    return lines;
  }

  /** Writes the page of a folder again. */
  public static void write(Path folder) throws IOException {
    Path page = folder.resolve("tables.md");
    Files.writeString(page, render(Files.readString(page), Kept.read(folder)));
  }

  private static String machine(Report run) {
    Report.Machine machine = run.machine();
    Report.Effort effort = run.effort();
    Stream<String> scenarios =
        run.results().stream().map(Result::scenario).distinct().map(run::named);
    return String.format(
        Locale.ROOT,
        "| %s | %s | %s | %s | %s, %d cores, %d GiB, %s, %s | %.1f | %s, %d rounds of %d ms%s |",
        run.store().title(),
        scenarios.collect(Collectors.joining(", ")),
        run.server().version(),
        run.server().durability(),
        machine.cpu(),
        machine.cores(),
        machine.memoryGibibytes(),
        machine.system(),
        machine.jdk(),
        machine.loadBefore(),
        run.date(),
        effort.rounds(),
        effort.roundMillis(),
        effort.quick() ? ", quick: compiled by C1 only" : "");
  }

  private static String versions(List<Kept> stores) {
    return stores.stream()
        .flatMap(kept -> kept.runs().stream())
        .flatMap(run -> run.contestants().stream())
        .filter(contestant -> contestant.role() != Candidate.Role.HOLDFAST)
        .map(Report.Contestant::version)
        .distinct()
        .sorted()
        .collect(Collectors.joining(", "));
  }
}
