package io.holdfast.lock.bench;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.report.Kept;
import io.holdfast.lock.bench.report.Report;
import io.holdfast.lock.bench.report.Tables;
import io.holdfast.lock.bench.report.Terminal;
import io.holdfast.lock.bench.scenario.Scenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The program of {@code dev/bench}. */
public final class Main {
  /** The folder of the figures that are kept, and of their tables. */
  private static final Path KEPT = Path.of("docs", "benchmarks");

  private static final Path PASSING = Path.of("lock-bench", "target", "bench");

  private String store = "all";
  private Set<Scenario> scenarios = EnumSet.allOf(Scenario.class);
  private Report.Effort effort = Report.Effort.FULL;
  private @Nullable String profiled;
  private @Nullable String classPathBefore;
  private int rttMillis;
  private boolean keep;
  private boolean pageOnly;

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
        case "--keep" -> keep = true;
        case "--page" -> pageOnly = true;
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
    if (keep && classPathBefore != null) {
      throw new IllegalArgumentException(
          "--against has other candidates than those of the page: leave out --keep");
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

  /** Runs the benchmarks; returns whether every candidate did its job. */
  private boolean run() throws Exception {
    boolean sound = true;
    if (!pageOnly) {
      Files.createDirectories(PASSING);
      Terminal terminal = new Terminal(System.out, Boolean.getBoolean("bench.live"));
      Report.Machine machine = Report.Machine.here();
      terminal.line(machine.cpu() + ", " + machine.cores() + " cores, " + machine.jdk()
          + ", load before " + machine.loadBefore());
      for (Store one : Store.byOption(store)) {
        Path folder = keep ? KEPT : PASSING;
        Kept before = keep ? Kept.read(KEPT, one) : new Kept(one, List.of());
        List<Candidate> contestants =
            classPathBefore == null ? one.candidates() : one.beside(classPathBefore);
        try (StoreRun run =
            new StoreRun(one, contestants, effort, rttMillis, profiled, PASSING, terminal)) {
          sound &= run.run(scenarios, machine, soFar -> before.with(soFar).write(folder));
        }
        terminal.line("   all figures: " + Kept.file(folder, one));
      }
    }
    if (keep || pageOnly) {
      Tables.write(KEPT);
    }
    return sound;
  }
}
