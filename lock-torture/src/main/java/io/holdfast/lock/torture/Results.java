package io.holdfast.lock.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The results of all schedules that are kept: a file for each store, and the page made of them. */
final class Results {
  private static final String HEAD =
      "seed\tseconds\tfaults\tleases\treads\tpermits\twrites\tviolations\tdocumented\trecovery_ms\n";

  private Results() {}

  /** The results of one schedule, a line of a file. */
  record Row(
      long seed,
      long seconds,
      long faults,
      long leases,
      long reads,
      long permits,
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
          outcome.sections(Call.Kind.READ),
          outcome.sections(Call.Kind.PERMIT),
          outcome.writes(),
          outcome.violations().size(),
          outcome.documented(),
          outcome.recoveryNanos() / 1_000_000);
    }

    static Row parse(String line) {
      long[] cells = Stream.of(line.split("\t", -1)).mapToLong(Long::parseLong).toArray();
      return new Row(
          cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8],
          cells[9]);
    }

    String text() {
      return Stream.of(
              seed,
              seconds,
              faults,
              leases,
              reads,
              permits,
              writes,
              violations,
              documented,
              recoveryMillis)
          .map(Object::toString)
          .collect(Collectors.joining("\t", "", "\n"));
    }
  }

  /** Adds the results of a schedule to its store's file. */
  static void append(Path folder, Outcome outcome) throws IOException {
    Files.createDirectories(folder);
    Path file = file(folder, outcome.plan().store());
    if (!Files.exists(file)) {
      Files.writeString(file, HEAD);
    }
    Files.writeString(file, Row.of(outcome).text(), StandardOpenOption.APPEND);
  }

  /** Records after how many schedules the judge found the mistake of wrong workers. */
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

  /** Returns the page. */
  static String page(Path folder) throws IOException {
    StringBuilder page = new StringBuilder(prose(folder, "about.txt")).append(TABLE);
    for (StoreKind store : StoreKind.values()) {
      List<Row> rows = read(folder, store);
      if (!rows.isEmpty()) {
        page.append(String.format(
            Locale.ROOT,
            "| %s | %d x %s s | %,d | %,d | %,d | %,d | %,d | %d | %d | %.1f s |%n",
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
            rows.stream().mapToLong(Row::reads).sum(),
            rows.stream().mapToLong(Row::permits).sum(),
            rows.stream().mapToLong(Row::writes).sum(),
            rows.stream().mapToLong(Row::violations).sum(),
            rows.stream().mapToLong(Row::documented).sum(),
            rows.stream().mapToLong(Row::recoveryMillis).max().orElse(0) / 1e3));
      }
    }
    if (Files.exists(caught(folder))) {
      page.append(CAUGHT_HEADING);
      sumUpCaught(page, Files.readAllLines(caught(folder)));
    }
    page.append('\n').append(prose(folder, "found.txt"));
    return page.toString();
  }

  /** Adds how many stores each mistake was seen on, and the most schedules that this took. */
  private static void sumUpCaught(StringBuilder page, List<String> lines) {
    for (Wrong wrong : Wrong.values()) {
      List<String[]> seen = lines.stream()
          .map(line -> line.split("\t", -1))
          .filter(cells -> cells[1].equals(wrong.option()))
          .toList();
      long stores = seen.stream().map(cells -> cells[0]).distinct().count();
      int most =
          seen.stream().mapToInt(cells -> Integer.parseInt(cells[2])).max().orElse(0);
      if (stores > 0) {
        page.append(String.format(Locale.ROOT, "| %s | %d | %d |%n", wrong.option(), stores, most));
      }
    }
  }

  /** Returns a part of the page that is written by hand; empty if there is no such file. */
  private static String prose(Path folder, String file) throws IOException {
    Path path = folder.resolve(file);
    return Files.exists(path) ? Files.readString(path) : "";
  }

  private static final String TABLE = """
      | Store | Schedules | Faults | Leases | To read | Permits | Guarded writes | Violations | Documented losses | Longest recovery |
      |---|---|---|---|---|---|---|---|---|---|
      """;

  private static final String CAUGHT_HEADING = """

      ## The judge is judged

      With workers that do it wrong (`--wrong`), before some of the faults above were added:

      | Mistake | Seen on stores | After schedules, at most |
      |---|---|---|
      """;
}
