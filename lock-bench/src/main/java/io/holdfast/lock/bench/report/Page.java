package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The page that is read: what was found. All figures, and how they were made, are {@link Tables}.
 */
public final class Page {
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

  public static String render(Path folder) throws IOException {
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
    paragraph(
        "<!-- Written by dev/bench --page from the JSON in docs/benchmarks. Change that, or Page.java,"
            + " and not this. -->");
    paragraph(
        "Holdfast beside what one would use instead, and beside the floor: the fewest requests that can"
            + " do the job, sent by the bare driver. Measured in one run, on one machine, in turns, by"
            + " `dev/bench` (`--quick` takes ten minutes). [All figures, and the"
            + " method](benchmarks/tables.md).");
    caution();
    overview();
    behind();
    targets();
    limits();
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

  private void caution() {
    List<String> reasons = new ArrayList<>();
    if (runs().anyMatch(run -> run.effort().quick())) {
      reasons.add("rounds were short (`--quick`)");
    }
    if (runs().anyMatch(run -> run.machine().loadBefore() > 1)) {
      reasons.add("the machine had other work to do (see its load)");
    }
    if (!reasons.isEmpty()) {
      paragraph("**Rough figures:** " + String.join(", and ", reasons)
          + ". Ratios tell which is faster" + " where they are far from 1, and no more.");
    }
  }

  private void overview() {
    add("## At a glance", "");
    paragraph(
        "Holdfast's rate divided by the floor's, the best peer's and the session lock's (MySQL's"
            + " GET_LOCK, PostgreSQL's advisory lock) in the same round; above 1 is faster.");
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
      paragraph("![" + scenario.title() + "](benchmarks/" + Charts.file(scenario) + ")");
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
    String floor = ours.ofFloor() == null ? "" : Terminal.ratio(ours.ofFloor()) + " floor";
    if (ours.ofBestPeer() == null || ours.bestPeer() == null) {
      return floor + (floor.isEmpty() ? "" : "; ") + "no peer waits";
    }
    String session =
        ours.ofSession() == null ? "" : "; " + Terminal.ratio(ours.ofSession()) + " session lock";
    return floor + "; " + Terminal.ratio(ours.ofBestPeer()) + " " + kept.label(ours.bestPeer())
        + session;
  }

  private void targets() {
    add("## What we set out to reach", "");
    paragraph(
        "Ratios are of the same round. Wanted is at least that, where it does not say otherwise.");
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
      double least = 1;
      double most = 0;
      for (Scenario scenario : Scenario.values()) {
        @Nullable Result ours = kept.result(scenario, Target.HOLDFAST);
        if (ours != null && ours.ofSession() != null && ours.ofSession() < 1) {
          least = Math.min(least, ours.ofSession());
          most = Math.max(most, ours.ofSession());
        }
      }
      if (most > 0) {
        String range = Terminal.ratio(least) + " to " + Terminal.ratio(most);
        faster.add(kept.store().title() + " (" + range + ")");
      }
    }
    if (!faster.isEmpty()) {
      add("- **The databases' session locks** are mostly faster: " + String.join(", ", faster)
          + ". They are kept in the server's memory and write nothing, where Holdfast and the floor"
          + " commit twice a cycle. In exchange each held lock keeps a connection, ends with it"
          + " unnoticed, and has no token.");
    }
  }

  private void limits() {
    add("## What the figures do not say", "");
    add("- How it is over a network, where round trips weigh more, and on a disk that syncs each"
        + " commit slowly. This machine's is fast.");
    add("- Absolute speed. Client and server share cores. Compare within a table only.");
    add("- That all candidates give the same. The floors have no fencing token, no renewal and no"
        + " answer to a crash. ShedLock and Spring's registries do not renew unless told to."
        + " Redisson's RLock has no token, its RFencedLock has.");
    add("- Tails. The p99.9 of a short round is mostly the machine's.");
    add(
        "- Much about several threads of one client that want one lock: Holdfast passes it on inside the"
            + " JVM for up to 100 ms. The row with local hand-off off is the comparable one.",
        "");
  }
}
