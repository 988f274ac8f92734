package io.holdfast.lock.bench;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The page of figures, which says nothing that is not in the JSON beside it. */
final class Page {
  /** Below this share of the floor an explanation is due. */
  private static final double FLOOR_SHARE_MIN = 0.85;

  /** Why Holdfast is behind somewhere, by {@code STORE.SCENARIO}: written by hand. */
  private static final String CAUSES = "causes.properties";

  private final List<Kept> stores;
  private final Properties causes;
  private final List<String> lines = new ArrayList<>();

  private Page(List<Kept> stores, Properties causes) {
    this.stores = stores;
    this.causes = causes;
  }

  static String render(Path folder) throws IOException {
    Properties causes = new Properties();
    if (Files.exists(folder.resolve(CAUSES))) {
      try (Reader reader = Files.newBufferedReader(folder.resolve(CAUSES))) {
        causes.load(reader);
      }
    }
    return new Page(Kept.read(folder), causes).render();
  }

  private String render() {
    add("# Benchmarks", "");
    add(
        "<!-- Written by dev/bench --page from the JSON in docs/benchmarks. Change that, or Page.java,"
            + " and not this. -->");
    add("");
    add(
        "Holdfast beside what one would use instead, and beside the floor: the fewest requests that can"
            + " do the job, sent by the bare driver. All of a table was measured in one run, on one machine,"
            + " in turns. To repeat it: `dev/bench`, or in ten minutes `dev/bench --quick`, which leaves out"
            + " leases and how costs grow.");
    add("");
    caution();
    overview();
    targets();
    growth();
    behind();
    machines();
    method();
    limits();
    stores.forEach(this::tables);
    return String.join("\n", lines) + "\n";
  }

  private void add(String... more) {
    lines.addAll(List.of(more));
  }

  private Stream<Report> runs() {
    return stores.stream().flatMap(kept -> kept.runs().stream());
  }

  private void caution() {
    List<String> reasons = new ArrayList<>();
    if (runs().anyMatch(run -> run.effort().quick())) {
      reasons.add("rounds were short (`--quick`)");
    }
    if (runs().anyMatch(run -> run.machine().loadBefore() > 1)) {
      reasons.add("the machine had other work to do (see its load)");
    }
    if (!reasons.isEmpty()) {
      add("**Rough figures:** " + String.join(", and ", reasons) + ". Ratios below are of the same"
          + " moments and tell which is faster where they are far from 1; do not read more into"
          + " them, and nothing into tails.");
      add("");
    }
  }

  private void overview() {
    add("## At a glance", "");
    add("What Holdfast reaches of the floor, and of the best peer, in the same round; above 1 is"
        + " faster. *Session lock*: MySQL's GET_LOCK and PostgreSQL's advisory lock, which write"
        + " nothing, and last as long as the connection that each held lock keeps.");
    add("");
    StringBuilder head = new StringBuilder("| |");
    StringBuilder rule = new StringBuilder("|---|");
    for (Kept kept : stores) {
      head.append(' ').append(kept.store().title()).append(" |");
      rule.append("---|");
    }
    add(head.toString(), rule.toString());
    for (Scenario scenario : Scenario.values()) {
      if (Terminal.hasRatios(scenario) && scenario.series().isEmpty()) {
        StringBuilder row = new StringBuilder("| " + scenario.title() + " |");
        for (Kept kept : stores) {
          row.append(' ').append(cell(kept, scenario)).append(" |");
        }
        add(row.toString());
      }
    }
    add("");
    for (Scenario scenario : Charts.scenarios()) {
      add("![" + scenario.title() + ": what Holdfast and the best peer reach of the bare driver, on"
          + " each store](benchmarks/" + Charts.file(scenario) + ")");
      add("");
    }
  }

  private static String cell(Kept kept, Scenario scenario) {
    @Nullable Result ours = kept.result(scenario, Target.HOLDFAST);
    if (ours == null) {
      return "";
    }
    if (ours.fault() != null) {
      return "failed";
    }
    String floor = ours.ofFloor() == null ? "" : Terminal.ratio(ours.ofFloor()) + " of the floor";
    if (ours.ofBestPeer() == null || ours.bestPeer() == null) {
      return floor + (floor.isEmpty() ? "" : "; ") + "no peer waits";
    }
    String session = ours.ofSession() == null
        ? ""
        : "; " + Terminal.ratio(ours.ofSession()) + " of the session lock";
    return floor + "; " + Terminal.ratio(ours.ofBestPeer()) + " of " + kept.label(ours.bestPeer())
        + session;
  }

  private void targets() {
    add("## What we set out to reach", "");
    add(
        "Ratios are of the same round, above 1 is faster. Wanted is at least that, where it does not"
            + " say otherwise.");
    add("");
    add("| | Scenario | Wanted | Reached |", "|---|---|---:|---:|");
    for (Target target : Target.ALL) {
      for (Kept kept : stores) {
        if (kept.store() == target.store()) {
          target(target, kept);
        }
      }
    }
    add("");
  }

  private void target(Target target, Kept kept) {
    @Nullable String reached = target.reached(kept);
    if (reached != null) {
      add("| " + kept.store().title() + " | " + target.scenario().title()
          + (target.candidate().equals(Target.HOLDFAST)
              ? ""
              : ", " + kept.label(target.candidate()))
          + " | " + target.wanted(kept) + " | "
          + (target.isMet(kept) ? reached : "**" + reached + "**") + " |");
    }
  }

  /** Holdfast only; the tables of each store have the others. */
  private void growth() {
    add("## What happens to Holdfast's cost as it grows", "");
    add("Each cell has a figure for each size, in the order of the title: what stays the same does"
        + " not grow.");
    add("");
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
    add("![What a cycle costs with more and more names, on each store](benchmarks/"
        + Charts.file(Scenario.Series.NAMES) + ")");
    add("");
  }

  private void behind() {
    add("## Where Holdfast is behind", "");
    int before = lines.size();
    for (Kept kept : stores) {
      Scenario.groups().forEach(group -> behind(kept, group));
    }
    sessionLocks();
    if (lines.size() == before) {
      add("In these figures nowhere: ahead of every peer, and at " + FLOOR_SHARE_MIN
          + " of the floor or above.");
    }
    add("");
  }

  private void behind(Kept kept, List<Scenario> group) {
    List<String> facts = new ArrayList<>();
    for (Scenario scenario : group) {
      @Nullable Result ours = kept.result(scenario, Target.HOLDFAST);
      if (ours != null) {
        String found = String.join(", ", behind(kept, scenario, ours));
        if (!found.isEmpty()) {
          facts.add(group.size() == 1 ? found : scenario.title() + ": " + found);
        }
      }
    }
    if (!facts.isEmpty()) {
      String id =
          group.get(0).series().map(Scenario.Series::id).orElse(group.get(0).id());
      String cause =
          causes.getProperty(kept.store().id() + "." + id, "The cause is not known yet.");
      add("- **" + kept.store().title() + ", " + Scenario.title(group) + "**: "
          + String.join("; ", facts) + ". " + cause);
    }
  }

  private static List<String> behind(Kept kept, Scenario scenario, Result ours) {
    List<String> facts = new ArrayList<>();
    if (ours.fault() != null) {
      facts.add("it failed (" + ours.fault() + ")");
    }
    boolean behindPeer = ours.ofBestPeer() != null && ours.ofBestPeer() < 1;
    if (behindPeer) {
      facts.add(Terminal.ratio(ours.ofBestPeer()) + " of " + kept.label(ours.bestPeer()));
    }
    if (ours.ofFloor() != null && ours.ofFloor() < FLOOR_SHARE_MIN) {
      facts.add(Terminal.ratio(ours.ofFloor()) + " of the floor");
    }
    @Nullable Result floor = kept.floor(scenario);
    if (behindPeer && floor != null && floor.ofBestPeer() != null && floor.ofBestPeer() < 1) {
      facts.add(
          "where the floor itself is at " + Terminal.ratio(floor.ofBestPeer()) + " of that peer");
    }
    return facts;
  }

  private void sessionLocks() {
    List<String> faster = new ArrayList<>();
    for (Kept kept : stores) {
      for (Scenario scenario : Scenario.values()) {
        @Nullable Result ours = kept.result(scenario, Target.HOLDFAST);
        if (ours != null && ours.ofSession() != null && ours.ofSession() < 1) {
          faster.add(kept.store().title() + ", " + scenario.title() + " ("
              + Terminal.ratio(ours.ofSession()) + ")");
        }
      }
    }
    if (!faster.isEmpty()) {
      add("- **The databases' session locks** are faster in: " + String.join("; ", faster)
          + ". They are kept in the server's memory: where Holdfast commits twice a cycle, and the"
          + " database writes its log and syncs it, they write nothing. In exchange each held lock"
          + " keeps a connection, ends with it unnoticed, and has no token. Compare the floor, which"
          + " commits twice as well.");
    }
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
    add("Server and clients share these cores, over the loopback interface: the server runs in a"
        + " container on the host's network.");
    add("");
    add("Versions: " + String.join(", ", versions()) + ".");
    add("");
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
            + " notices when two threads are inside at once. Who fails it is marked, and has no ratio.");
    add(
        "- Each peer is used as its documentation says, with its defaults, but for one: Spring's JDBC"
            + " locks last 60 s instead of 10, since they are not renewed. Who cannot wait for a lock"
            + " (ShedLock, consul-client) takes no part where one has to, and who does not renew (Spring,"
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

  private void limits() {
    add("## What the figures do not say", "");
    add("- How it is over a network. There, round trips weigh more and the client's CPU less.");
    add("- How it is on your disk. Where each commit is synced, the disk decides; this machine's is"
        + " fast.");
    add("- Absolute speed. Client and server compete for the same cores. Compare within a table"
        + " only.");
    add("- That all candidates give the same. The floors have no fencing token, no renewal and no"
        + " answer to a crash; they are no locks that one would want. MySQL's GET_LOCK and"
        + " PostgreSQL's advisory locks keep a connection for each held lock, are lost with it"
        + " without a word, and have no token. ShedLock and Spring's registries do not renew"
        + " unless told to. Redisson's RLock has no token, its RFencedLock has.");
    add("- Tails. The p99.9 of a short round on a busy machine is mostly the machine's.");
    add(
        "- Much about several threads of one client that want one lock: Holdfast passes it on inside the"
            + " JVM for up to 100 ms without asking the server. That is the point of it, but no measure"
            + " of the store, and unfair in a round that is short. The row with local hand-off off is the"
            + " comparable one.");
    add("");
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
