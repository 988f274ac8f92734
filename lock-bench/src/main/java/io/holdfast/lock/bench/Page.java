package io.holdfast.lock.bench;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The page of figures, which says nothing that is not in the JSON beside it. */
final class Page {
  /** Below this share of the floor an explanation is due. */
  private static final double FLOOR_SHARE_MIN = 0.85;

  /** Why Holdfast is behind somewhere, by {@code STORE.SCENARIO}: written by hand. */
  private static final String CAUSES = "causes.properties";

  private final List<Report> reports;
  private final Properties causes;
  private final List<String> lines = new ArrayList<>();

  private Page(List<Report> reports, Properties causes) {
    this.reports = reports;
    this.causes = causes;
  }

  /** Reads the reports that are kept there, in the order of the stores. */
  static List<Report> read(Path folder) throws IOException {
    List<Report> reports = new ArrayList<>();
    for (Store store : Store.values()) {
      Path file = folder.resolve(store.id() + ".json");
      if (Files.exists(file)) {
        reports.add(Report.read(file));
      }
    }
    return reports;
  }

  static String render(Path folder) throws IOException {
    Properties causes = new Properties();
    if (Files.exists(folder.resolve(CAUSES))) {
      try (Reader reader = Files.newBufferedReader(folder.resolve(CAUSES))) {
        causes.load(reader);
      }
    }
    return new Page(read(folder), causes).render();
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
            + " in turns. To repeat it: `dev/bench`, or in ten minutes `dev/bench --quick`.");
    add("");
    caution();
    overview();
    behind();
    machines();
    method();
    limits();
    reports.forEach(this::tables);
    return String.join("\n", lines) + "\n";
  }

  private void add(String... more) {
    lines.addAll(List.of(more));
  }

  private void caution() {
    List<String> reasons = new ArrayList<>();
    if (reports.stream().anyMatch(report -> report.effort().quick())) {
      reasons.add("rounds were short (`--quick`)");
    }
    if (reports.stream().anyMatch(report -> report.machine().loadBefore() > 1)) {
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
    for (Report report : reports) {
      head.append(' ').append(report.store().title()).append(" |");
      rule.append("---|");
    }
    add(head.toString(), rule.toString());
    for (Scenario scenario : Scenario.values()) {
      if (Terminal.hasRatios(scenario)) {
        StringBuilder row = new StringBuilder("| " + scenario.title() + " |");
        for (Report report : reports) {
          row.append(' ').append(cell(report, scenario)).append(" |");
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

  private static String cell(Report report, Scenario scenario) {
    @Nullable Result ours = report.result(scenario, "holdfast");
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
    return floor + "; " + Terminal.ratio(ours.ofBestPeer()) + " of " + report.label(ours.bestPeer())
        + session;
  }

  private void behind() {
    add("## Where Holdfast is behind", "");
    int before = lines.size();
    for (Report report : reports) {
      for (Scenario scenario : Scenario.values()) {
        @Nullable Result ours = report.result(scenario, "holdfast");
        if (ours != null) {
          behind(report, scenario, ours);
        }
      }
    }
    sessionLocks();
    if (lines.size() == before) {
      add("In these figures nowhere: ahead of every peer, and at " + FLOOR_SHARE_MIN
          + " of the floor or above.");
    }
    add("");
  }

  private void behind(Report report, Scenario scenario, Result ours) {
    List<String> facts = new ArrayList<>();
    if (ours.fault() != null) {
      facts.add("it failed (" + ours.fault() + ")");
    }
    if (ours.ofBestPeer() != null && ours.ofBestPeer() < 1) {
      facts.add(Terminal.ratio(ours.ofBestPeer()) + " of " + report.label(ours.bestPeer()));
    }
    if (ours.ofFloor() != null && ours.ofFloor() < FLOOR_SHARE_MIN) {
      facts.add(Terminal.ratio(ours.ofFloor()) + " of the floor");
    }
    if (!facts.isEmpty()) {
      @Nullable Result floor = report.floor(scenario);
      if (ours.ofBestPeer() != null
          && ours.ofBestPeer() < 1
          && floor != null
          && floor.ofBestPeer() != null
          && floor.ofBestPeer() < 1) {
        facts.add(
            "where the floor itself is at " + Terminal.ratio(floor.ofBestPeer()) + " of that peer");
      }
      String cause = causes.getProperty(
          report.store().id() + "." + scenario.id(), "The cause is not known yet.");
      add("- **" + report.store().title() + ", " + scenario.title() + "**: "
          + String.join(", ", facts) + ". " + cause);
    }
  }

  private void sessionLocks() {
    List<String> faster = new ArrayList<>();
    for (Report report : reports) {
      for (Scenario scenario : Scenario.values()) {
        @Nullable Result ours = report.result(scenario, "holdfast");
        if (ours != null && ours.ofSession() != null && ours.ofSession() < 1) {
          faster.add(report.store().title() + ", " + scenario.title() + " ("
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
        "| | Server | What it does before it confirms | Client's machine | Load before | Measured |");
    add("|---|---|---|---|---|---|");
    for (Report report : reports) {
      Report.Machine machine = report.machine();
      Report.Effort effort = report.effort();
      add("| " + report.store().title() + " | " + report.server().version() + " | "
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

  private Set<String> versions() {
    Set<String> versions = new TreeSet<>();
    for (Report report : reports) {
      for (Report.Contestant contestant : report.contestants()) {
        if (contestant.role() != Candidate.Role.HOLDFAST) {
          versions.add(contestant.version());
        }
      }
    }
    return versions;
  }

  private void method() {
    add("## Method", "");
    add("- A candidate has JVMs of its own, which live as long as the store's run: neither what the"
        + " JIT compiler learned from one, nor its threads, nor its garbage is taken for another's,"
        + " and four clients are four processes, as in production.");
    add(
        "- Each JVM first warms up on free locks with eight threads, and then in each scenario. Then the"
            + " candidates take turns: a round is one candidate after the other, in"
            + " an order that shifts. A figure is the median of the rounds. A ratio is taken within each"
            + " round, and then the median.");
    add(
        "- Along runs a check of what all this is for: memory that all JVMs of a candidate share"
            + " notices when two threads are inside at once. Who fails it is marked, and has no ratio.");
    add(
        "- Each peer is used as its documentation says, with its defaults. Who cannot wait for a lock"
            + " (ShedLock, consul-client) takes no part where one has to.");
    add("- *fairness* is Jain's index of the threads' turns: 1 if all had as many. *commands* and"
        + " *CPU* are for each cycle of taking and giving back (CPU in microseconds), and where there"
        + " are no cycles for each second (CPU in milliseconds). *allocated* is bytes, by all threads"
        + " of the client; *threads* is what a client keeps beside those that take locks.");
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

  private void tables(Report report) {
    add("## " + report.store().title(), "");
    add("Commands are " + report.server().counted() + ".");
    for (Scenario scenario : Scenario.values()) {
      List<Result> results = report.results().stream()
          .filter(result -> result.scenario().equals(scenario.id()))
          .toList();
      if (!results.isEmpty()) {
        table(report, scenario, results);
      }
    }
    add("");
  }

  private void table(Report report, Scenario scenario, List<Result> results) {
    List<Figure> columns = Terminal.columns(scenario);
    boolean ratios = Terminal.hasRatios(scenario);
    add("", "### " + report.store().title() + ": " + scenario.title(), "");
    StringBuilder head = new StringBuilder("| |");
    columns.forEach(column -> head.append(' ').append(column.title()).append(" |"));
    head.append(ratios ? " of floor | of best peer | of session lock |" : "");
    add(head.toString());
    add("|---|" + "---:|".repeat(columns.size() + (ratios ? 3 : 0)));
    for (Result result : results) {
      StringBuilder row = new StringBuilder("| " + report.label(result.candidate()));
      row.append(result.fault() == null ? " |" : " (failed: " + result.fault() + ") |");
      columns.forEach(column ->
          row.append(' ').append(Terminal.text(result.medians(), column)).append(" |"));
      if (ratios) {
        row.append(' ').append(Terminal.ratio(result.ofFloor())).append(" | ");
        row.append(Terminal.ratio(result.ofBestPeer())).append(" | ");
        row.append(Terminal.ratio(result.ofSession())).append(" |");
      }
      add(row.toString());
    }
  }
}
