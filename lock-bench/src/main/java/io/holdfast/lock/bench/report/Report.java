package io.holdfast.lock.bench.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;

/**
 * A run of the benchmarks, as it is written to a JSON file: the measurements of every round, and
 * what a reader needs to compare them with those of another run.
 *
 * @param rttMillis the time of a round trip that a network between the candidates and the server
 *     added; zero if nothing was in between
 */
public record Report(
    String date, Machine machine, Effort effort, int rttMillis, List<OnStore> stores) {
  private static final ObjectMapper JSON = new ObjectMapper();

  public Report {
    stores = List.copyOf(stores);
  }

  public static Report today(Effort effort, int rttMillis, List<OnStore> stores) {
    return new Report(
        LocalDate.now(ZoneOffset.UTC).toString(), Machine.here(), effort, rttMillis, stores);
  }

  public static Report read(Path file) throws IOException {
    return JSON.readValue(file.toFile(), Report.class);
  }

  public void write(Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    JSON.writerWithDefaultPrettyPrinter().writeValue(file.toFile(), this);
  }

  /** The machine of a run. */
  public record Machine(int cores, String jdk) {
    static Machine here() {
      return new Machine(
          Runtime.getRuntime().availableProcessors(),
          System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
    }
  }

  /** The length of a run. */
  public record Effort(boolean quick, int rounds, long roundMillis, long warmUpMillis) {
    public static final Effort QUICK = new Effort(true, 3, 500, 600);

    /** Many short rounds, since other work of the machine comes in bursts that outlast a round. */
    public static final Effort FULL = new Effort(false, 25, 400, 4_000);

    /** The fewest round trips in a row for which a round lasts, and a warm-up. */
    private static final long ROUND_TRIPS_MIN = 50;

    /**
     * Returns this effort where a round trip takes this long: connections have opened when a round
     * begins, and it has several cycles even of a candidate that needs many trips.
     */
    public Effort at(int rttMillis) {
      long millisMin = ROUND_TRIPS_MIN * rttMillis;
      return new Effort(
          quick, rounds, Math.max(roundMillis, millisMin), Math.max(warmUpMillis, millisMin));
    }

    /** Returns the most times that a JVM warms up before its first scenario. */
    public int firstWarmUpsMax() {
      return quick ? 2 : 12;
    }
  }

  /** The rounds of all scenarios on one store. */
  public record OnStore(
      Store store, Server server, List<Contestant> contestants, List<Round> rounds) {
    public OnStore {
      contestants = List.copyOf(contestants);
      rounds = List.copyOf(rounds);
    }

    public OnStore with(List<Round> more) {
      return new OnStore(
          store,
          server,
          contestants,
          Stream.concat(rounds.stream(), more.stream()).toList());
    }

    /** Returns whether every candidate did its job. */
    public boolean succeeded() {
      return rounds.stream().allMatch(round -> round.violations() == 0 && round.error() == null);
    }

    /** Returns the results of the candidates in a scenario; empty if it was not measured. */
    public List<Result> results(Scenario scenario) {
      return Result.of(
          scenario,
          contestants,
          rounds.stream().filter(round -> round.scenario() == scenario).toList());
    }
  }

  /**
   * The server of a store.
   *
   * @param counted a description of what is counted as its commands
   */
  public record Server(String version, String durability, String counted) {}

  /** A {@link Candidate}, as shown to readers. */
  public record Contestant(String id, String label, Candidate.Role role, String version) {
    public static Contestant of(Candidate candidate) {
      return new Contestant(
          candidate.id(), candidate.label(), candidate.role(), candidate.version());
    }
  }
}
