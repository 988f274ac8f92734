package io.holdfast.lock.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;

/** All that is known of a run of some scenarios on one store. */
record Report(
    String date,
    Store store,
    Machine machine,
    Effort effort,
    Server server,
    List<Contestant> contestants,
    List<Result> results) {

  Report {
    contestants = List.copyOf(contestants);
    results = List.copyOf(results);
  }

  /** @param loadBefore the load average before the run: what else the machine did */
  record Machine(
      String cpu, int cores, long memoryGibibytes, String system, String jdk, double loadBefore) {

    static Machine here() throws IOException {
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

  /** How long was measured. */
  record Effort(boolean quick, int rounds, long roundMillis, long warmUpMillis) {
    static final Effort QUICK = new Effort(true, 3, 500, 600);

    /** Many rounds, and short: what else the machine does comes in bursts that outlast a round. */
    static final Effort FULL = new Effort(false, 25, 400, 4_000);

    /** How often a JVM warms up, at most, before its first scenario. */
    int firstWarmUpsMax() {
      return quick ? 2 : 12;
    }
  }

  /** @param counted what its commands are */
  record Server(String version, String durability, String counted) {}

  /** A {@link Candidate}, as far as readers care. */
  record Contestant(String id, String label, Candidate.Role role, String version) {
    static Contestant of(Candidate candidate) {
      return new Contestant(
          candidate.id(), candidate.label(), candidate.role(), candidate.version());
    }
  }

  static String today() {
    return LocalDate.now(java.time.ZoneOffset.UTC).toString();
  }

  Report with(List<Result> others) {
    return new Report(date, store, machine, effort, server, contestants, others);
  }
}
