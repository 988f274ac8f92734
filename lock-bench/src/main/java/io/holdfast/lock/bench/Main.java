package io.holdfast.lock.bench;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.report.Report;
import io.holdfast.lock.bench.report.Summary;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The program of {@code dev/bench}. */
public final class Main {
  private static final Path FOLDER = Path.of("lock-bench", "target", "bench");
  private static final Path FILE = FOLDER.resolve("bench.json");

  private String store = "all";
  private Set<Scenario> scenarios = EnumSet.allOf(Scenario.class);
  private Report.Effort effort = Report.Effort.FULL;
  private @Nullable String profiled;
  private @Nullable String classPathBefore;
  private int rttMillis;
  private @Nullable Path tableOf;

  private Main() {}

  public static void main(String[] args) throws Exception {
    Main main = new Main();
    try {
      main.read(new ArrayDeque<>(List.of(args)));
    } catch (IllegalArgumentException | NoSuchElementException e) {
      System.err.println("bench: " + e.getMessage());
      System.exit(2);
    }
    System.exit(main.run() ? 0 : 1);
  }

  private void read(Deque<String> args) {
    Set<Scenario> chosen = EnumSet.noneOf(Scenario.class);
    while (!args.isEmpty()) {
      String option = args.pop();
      switch (option) {
        case "--quick" -> effort = Report.Effort.QUICK;
        case "--table" -> tableOf = Path.of(args.pop());
        case "--store" -> store = args.pop();
        case "--scenario" -> chosen.addAll(Scenario.byId(args.pop()));
        case "--rtt" -> rttMillis = rttMillis(args.pop());
        case "--profile" -> profiled = args.pop();
        case "--against" -> classPathBefore = args.pop();
        default -> throw new IllegalArgumentException("no such option: " + option);
      }
    }
    if (!chosen.isEmpty()) {
      scenarios = chosen;
    } else if (rttMillis > 0) {
      scenarios = Scenario.NETWORK;
    } else if (effort.quick()) {
      scenarios = Scenario.QUICK;
    }
    effort = effort.at(rttMillis);
    if (tableOf != null && !Files.isReadable(tableOf)) {
      throw new IllegalArgumentException("no such file: " + tableOf);
    }
    Store.byOption(store);
  }

  private static int rttMillis(String text) {
    if (!text.matches("[1-9][0-9]{0,2}|1000")) {
      throw new IllegalArgumentException(
          "--rtt takes a number of milliseconds from 1 to 1000, not '" + text + "'");
    }
    return Integer.parseInt(text);
  }

  /** Does what the options say; returns whether every candidate did its job. */
  private boolean run() throws Exception {
    if (tableOf != null) {
      Summary.table(Report.read(tableOf)).forEach(System.out::println);
      return true;
    }
    Files.createDirectories(FOLDER);
    List<Report.OnStore> done = new ArrayList<>();
    for (Store one : Store.byOption(store)) {
      System.out.println("\n" + one.title() + ": starting the server and the candidates");
      List<Candidate> contestants =
          classPathBefore == null ? one.candidates() : one.beside(classPathBefore);
      try (StoreRun run = new StoreRun(one, contestants, effort, rttMillis, profiled, FOLDER)) {
        done.add(run.run(scenarios, (last, soFar) -> {
          Summary.of(soFar, last).forEach(System.out::println);
          List<Report.OnStore> stores =
              Stream.concat(done.stream(), Stream.of(soFar)).toList();
          Report.today(effort, rttMillis, stores).write(FILE);
        }));
      }
    }
    System.out.println("\nAll rounds: " + FILE);
    return done.stream().allMatch(Report.OnStore::succeeded);
  }
}
