package io.holdfast.lock.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The program behind {@code dev/torture}. */
final class Main {
  private static final Path KEPT = Path.of("docs", "torture");
  private static final Path PAGE = Path.of("docs", "torture.md");
  private static final Path PASSING = Path.of("lock-torture", "target", "torture");
  private static final int SEEDS = 1_000_000;

  private String store = "all";
  private int schedules = 1;
  private int seconds = 30;
  private @Nullable Long seed;
  private Wrong wrong = Wrong.NOTHING;
  private Set<Fault.Kind> kinds = EnumSet.allOf(Fault.Kind.class);
  private boolean keep;
  private boolean planOnly;

  private Main() {}

  public static void main(String[] args) throws Exception {
    Main main = new Main();
    try {
      main.read(new ArrayDeque<>(List.of(args)));
    } catch (IllegalArgumentException | NoSuchElementException e) {
      System.err.println("torture: " + e.getMessage());
      System.exit(2);
    }
    System.exit(main.run() ? 0 : 1);
  }

  private void read(Deque<String> args) {
    boolean replays = false;
    while (!args.isEmpty()) {
      String option = args.pop();
      switch (option) {
        case "--store" -> store = args.pop();
        case "--schedules" -> schedules = Integer.parseInt(args.pop());
        case "--seconds" -> seconds = Integer.parseInt(args.pop());
        case "--seed" -> seed = Long.parseLong(args.pop());
        case "--replay" -> {
          seed = Long.parseLong(args.pop());
          replays = true;
        }
        case "--wrong" -> wrong = Wrong.byOption(args.pop());
        case "--rtt" -> System.setProperty("holdfast.rtt", args.pop()); // read by each Link
        case "--only" -> kinds = Set.of(Fault.Kind.byOption(args.pop()));
        case "--keep" -> keep = true;
        case "--plan" -> planOnly = true;
        default -> throw new IllegalArgumentException("no such option: " + option);
      }
    }
    if (replays && schedules != 1) {
      throw new IllegalArgumentException("--replay is one schedule");
    }
    if (keep && kinds.size() == 1) {
      throw new IllegalArgumentException("--keep is for schedules with all faults");
    }
    if (schedules < 1 || seconds < 6) {
      throw new IllegalArgumentException("at least one schedule of at least 6 s");
    }
    StoreKind.byOption(store);
  }

  /** Returns whether all is well: no violation, or with wrong workers at least one. */
  private boolean run() throws Exception {
    long first = seed == null ? Plan.SERVER_CLOCKS_SEED + System.currentTimeMillis() % SEEDS : seed;
    boolean sound = true;
    for (StoreKind one : StoreKind.byOption(store)) {
      sound &= run(one, LongStream.range(first, first + schedules).boxed().toList());
    }
    if (keep) {
      Files.writeString(PAGE, Results.page(KEPT));
    }
    return sound;
  }

  private boolean run(StoreKind kind, List<Long> seeds) throws Exception {
    boolean found = false;
    @Nullable Servers servers = null;
    try {
      for (int i = 0; i < seeds.size(); i++) {
        Plan plan = Plan.of(kind, seeds.get(i), seconds, kinds);
        System.out.print(plan.text());
        if (plan.steps().isEmpty()) {
          System.out.println("  this plan breaks nothing: take more --seconds, or another --only");
          return false;
        }
        if (planOnly) {
          continue;
        }
        Path folder = folder(plan);
        try {
          servers = servers == null ? Servers.start(kind) : servers;
          Outcome outcome = new Schedule(plan, servers, wrong, i, folder).run();
          report(outcome, folder);
          found |= !outcome.violations().isEmpty();
          if (found && wrong != Wrong.NOTHING) {
            System.out.println("caught after " + (i + 1) + " schedules");
            if (keep) {
              Results.appendCaught(KEPT, kind, wrong, i + 1);
            }
            return true;
          }
        } catch (IllegalStateException e) {
          // This one has no result; the next one has new servers.
          System.out.println("  the harness failed, this schedule does not count");
          e.printStackTrace(System.out);
          if (servers != null) {
            servers.close();
            servers = null;
          }
        }
      }
    } finally {
      if (servers != null) {
        servers.close();
      }
    }
    return !found && wrong == Wrong.NOTHING;
  }

  private static Path folder(Plan plan) throws IOException {
    Path folder = PASSING.resolve(plan.store().option() + "-" + plan.seed() + "-"
        + ProcessHandle.current().pid());
    return Files.createDirectories(folder);
  }

  private void report(Outcome outcome, Path folder) throws IOException {
    System.out.println("  " + outcome.summary());
    int number = 0;
    for (Finding finding : outcome.findings()) {
      System.out.println("  " + (finding.isViolation() ? "VIOLATION " : "documented ")
          + finding.rule() + ", name " + finding.name() + ": " + finding.text());
      if (finding.name() >= 0) {
        Timeline timeline = new Timeline(outcome.evidence(), finding);
        Files.writeString(folder.resolve("finding-" + number + ".txt"), timeline.text());
        Files.writeString(folder.resolve("finding-" + number + ".svg"), timeline.svg());
      }
      number++;
    }
    if (number > 0) {
      System.out.println("  more in " + folder);
    } else {
      deleteAll(folder);
    }
    if (keep && wrong == Wrong.NOTHING) {
      Results.append(KEPT, outcome);
    }
  }

  /** Deletes a folder of files. */
  static void deleteAll(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
