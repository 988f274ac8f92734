package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;

/**
 * The results of a run of some scenarios on one store, with the machine, the effort and the server.
 *
 * @param rttMillis the time of a round trip that a network between the candidates and the server
 *     added; zero if nothing was in between
 */
public record Report(
    String date,
    Store store,
    int rttMillis,
    Machine machine,
    Effort effort,
    Server server,
    List<Contestant> contestants,
    List<Result> results) {

  public Report {
    contestants = List.copyOf(contestants);
    results = List.copyOf(results);
  }

  /**
   * The machine of a run.
   *
   * @param loadBefore the load average before the run, caused by whatever else the machine did
   */
  public record Machine(
      String cpu, int cores, long memoryGibibytes, String system, String jdk, double loadBefore) {

    public static Machine here() throws IOException {
      Path cpus = Path.of("/proc/cpuinfo");
      String cpu = Files.isReadable(cpus)
          ? Files.readAllLines(cpus).stream()
              .filter(line -> line.startsWith("model name"))
              .map(line -> line.substring(line.indexOf(':') + 1).strip())
              .findFirst()
              .orElse("unknown")
          : System.getProperty("os.arch");
      var bean =
          (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      return new Machine(
          cpu,
          bean.getAvailableProcessors(),
          Math.round(bean.getTotalMemorySize() / (double) (1L << 30)),
          System.getProperty("os.name") + " " + System.getProperty("os.version"),
          System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"),
          Math.round(bean.getSystemLoadAverage() * 100) / 100.0);
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

  /**
   * The server of a run.
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

  public static String today() {
    return LocalDate.now(java.time.ZoneOffset.UTC).toString();
  }

  Report with(List<Result> others) {
    return new Report(date, store, rttMillis, machine, effort, server, contestants, others);
  }

  /** Returns a scenario's name for readers, with the round trip if there was one. */
  String named(String scenario) {
    return named(scenario, rttMillis);
  }

  static String named(String scenario, int rttMillis) {
    return rttMillis == 0 ? scenario : scenario + " at " + rttMillis + " ms";
  }
}
