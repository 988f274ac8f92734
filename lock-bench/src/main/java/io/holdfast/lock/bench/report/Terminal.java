package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.PrintStream;
import java.util.List;

/** The output on the terminal during a run. */
public final class Terminal {
  private final PrintStream out;
  private final boolean live;
  private int progressLength;

  /**
   * Makes the output of a run.
   *
   * @param live whether progress may be overwritten in place
   */
  public Terminal(PrintStream out, boolean live) {
    this.out = out;
    this.live = live;
  }

  public void progress(String what) {
    if (live) {
      String text = "  " + what;
      out.print("\r" + text + " ".repeat(Math.max(0, progressLength - text.length())) + "\r");
      out.flush();
      progressLength = text.length();
    }
  }

  public void line(String text) {
    progress("");
    out.println(text);
  }

  public void store(Store store, Report.Server server) {
    line("");
    line("== " + store.title() + ": " + server.version() + ", " + server.durability());
    line("   commands are " + server.counted());
  }

  public void results(Scenario scenario, Report run) {
    Kept kept = new Kept(run.store(), List.of(run));
    line("");
    line(run.named(scenario.title()) + ". " + scenario.description());
    Table.of(kept, List.of(scenario)).text().forEach(this::line);
    kept.results(scenario).stream()
        .map(Result::bestPeer)
        .filter(peer -> peer != null)
        .findFirst()
        .ifPresent(peer -> line("   (best: the best peer, " + peer + ")"));
  }
}
