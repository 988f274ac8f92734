package io.holdfast.lock.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The results of all schedules that are kept: a file for each store, and the page made of them. */
final class Results {
  private static final String HEAD =
      "seed\tseconds\tfaults\tleases\twrites\tviolations\tdocumented\trecovery_ms\n";

  private Results() {}

  /** One schedule's, as a line of a file. */
  record Row(
      long seed,
      int seconds,
      long faults,
      long leases,
      long writes,
      long violations,
      long documented,
      long recoveryMillis) {
    static Row of(Outcome outcome) {
      return new Row(
          outcome.plan().seed(),
          outcome.plan().seconds(),
          outcome.evidence().faults().size(),
          outcome.sections(),
          outcome.writes(),
          outcome.violations().size(),
          outcome.documented(),
          outcome.recoveryNanos() / 1_000_000);
    }

    static Row parse(String line) {
      String[] cells = line.split("\t", -1);
      return new Row(
          Long.parseLong(cells[0]),
          Integer.parseInt(cells[1]),
          Long.parseLong(cells[2]),
          Long.parseLong(cells[3]),
          Long.parseLong(cells[4]),
          Long.parseLong(cells[5]),
          Long.parseLong(cells[6]),
          Long.parseLong(cells[7]));
    }

    String text() {
      return String.join(
              "\t",
              List.of(seed, seconds, faults, leases, writes, violations, documented, recoveryMillis)
                  .stream()
                  .map(Object::toString)
                  .toList())
          + "\n";
    }
  }

  /** Adds a schedule's to its store's file. */
  static void append(Path folder, Outcome outcome) throws IOException {
    Files.createDirectories(folder);
    Path file = file(folder, outcome.plan().store());
    if (!Files.exists(file)) {
      Files.writeString(file, HEAD);
    }
    Files.writeString(file, Row.of(outcome).text(), StandardOpenOption.APPEND);
  }

  /** Adds after how many schedules the judge saw what wrong workers do. */
  static void appendCaught(Path folder, StoreKind store, Wrong wrong, int schedules)
      throws IOException {
    Files.createDirectories(folder);
    Files.writeString(
        caught(folder),
        store.option() + "\t" + wrong.option() + "\t" + schedules + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  private static Path caught(Path folder) {
    return folder.resolve("caught.tsv");
  }

  private static Path file(Path folder, StoreKind store) {
    return folder.resolve(store.option() + ".tsv");
  }

  private static List<Row> read(Path folder, StoreKind store) throws IOException {
    Path file = file(folder, store);
    return Files.exists(file)
        ? Files.readAllLines(file).stream().skip(1).map(Row::parse).toList()
        : List.of();
  }

  /** The page. */
  static String page(Path folder) throws IOException {
    StringBuilder page = new StringBuilder(HEADING);
    for (StoreKind store : StoreKind.values()) {
      List<Row> rows = read(folder, store);
      if (!rows.isEmpty()) {
        page.append(String.format(
            Locale.ROOT,
            "| %s | %d x %s s | %,d | %,d | %,d | %d | %d | %.1f s |%n",
            store.option(),
            rows.size(),
            rows.stream()
                .map(Row::seconds)
                .distinct()
                .sorted()
                .map(Object::toString)
                .collect(Collectors.joining(", ")),
            rows.stream().mapToLong(Row::faults).sum(),
            rows.stream().mapToLong(Row::leases).sum(),
            rows.stream().mapToLong(Row::writes).sum(),
            rows.stream().mapToLong(Row::violations).sum(),
            rows.stream().mapToLong(Row::documented).sum(),
            rows.stream().mapToLong(Row::recoveryMillis).max().orElse(0) / 1e3));
      }
    }
    if (Files.exists(caught(folder))) {
      page.append(CAUGHT_HEADING);
      Files.readAllLines(caught(folder)).stream()
          .distinct()
          .sorted()
          .forEach(line -> page.append("| ").append(line.replace("\t", " | ")).append(" |\n"));
    }
    page.append("\n## Seeds\n\n");
    for (StoreKind store : StoreKind.values()) {
      List<Row> rows = read(folder, store);
      if (!rows.isEmpty()) {
        page.append("- ").append(store.option()).append(": ").append(seeds(rows, false));
        if (rows.stream().anyMatch(row -> row.violations > 0)) {
          page.append("; with violations: ").append(seeds(rows, true));
        }
        page.append('\n');
      }
    }
    return page.toString();
  }

  /** Those that follow one another as "1 to 9", with the length where it is needed to repeat it. */
  private static String seeds(List<Row> rows, boolean failed) {
    List<String> parts = new ArrayList<>();
    for (int seconds : rows.stream().map(Row::seconds).distinct().sorted().toList()) {
      List<Long> seeds = new ArrayList<>(rows.stream()
          .filter(row -> row.seconds == seconds && (!failed || row.violations > 0))
          .map(Row::seed)
          .distinct()
          .toList());
      Collections.sort(seeds);
      List<String> runs = new ArrayList<>();
      for (int i = 0; i < seeds.size(); ) {
        int j = i;
        while (j + 1 < seeds.size() && seeds.get(j + 1) == seeds.get(j) + 1) {
          j++;
        }
        runs.add(i == j ? "" + seeds.get(i) : seeds.get(i) + " to " + seeds.get(j));
        i = j + 1;
      }
      if (!runs.isEmpty()) {
        parts.add(String.join(", ", runs) + " of " + seconds + " s");
      }
    }
    return String.join("; ", parts);
  }

  private static final String HEADING = """
      # Torture

      Written by `dev/torture --keep`. Each schedule: three JVMs with three threads each, every JVM with a client and a
      way (a proxy) of its own, take three names in all the ways that there are, with renewed, fixed and bounded leases,
      owned by threads and by leases, and write under guard where the store has guards, while processes, ways and servers
      are broken, one or two at a time: killed, frozen, suspended, their wall clocks set; cut, delayed, silenced, delivered
      late, lost; killed, paused, stopped. The faults are a function of the store, the seed and the length:

          dev/torture --store postgres --seconds 30 --replay 7

      prints the same plan as it did for whoever ran it before, and runs it. What the threads do in between depends on
      the machine.

      What is looked for: two leases of a name that stood at one time, tokens that do not rise in the order of time, older
      tokens behind newer ones in what was written under guard, writes that were refused and are there or were confirmed
      and are not, exceptions that no page speaks of, a worker that does not get every name within what the store's page
      says after the last fault, and locks, waiters or threads that are left at the end. A lease counts as standing only
      for the time in which that is certain: from the end of the first look (`isHeld()`) that said so to the beginning of the
      last, or from the acquire to the close if `close()` returned normally. Documented: what a page says may be lost, which is
      a lock at a failover of a Redis that replicates.

      `--wrong ignore-losses`, `falling-tokens` and `free-by-name` make the workers do it wrong, and the judge has to see it.

      | Store | Schedules | Faults | Leases | Guarded writes | Violations | Documented losses | Longest recovery |
      |---|---|---|---|---|---|---|---|
      """;

  private static final String CAUGHT_HEADING = """

      ## The judge is judged

      With workers that do it wrong, schedules until it was seen:

      | Store | Mistake | Schedules |
      |---|---|---|
      """;
}
