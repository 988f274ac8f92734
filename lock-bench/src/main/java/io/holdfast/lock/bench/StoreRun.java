package io.holdfast.lock.bench;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.report.Figure;
import io.holdfast.lock.bench.report.Report;
import io.holdfast.lock.bench.report.Round;
import io.holdfast.lock.bench.scenario.Sample;
import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.bench.scenario.Task;
import io.holdfast.lock.bench.server.BenchServer;
import io.holdfast.lock.bench.server.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * A run of the scenarios of one store. Candidates take turns round by round, so that a disturbance
 * of the machine affects them all. Each has JVMs of its own, so that none is affected by the JIT
 * compiler's profile, the threads or the garbage of another. In scenarios that measure how little
 * happens, the other candidates' JVMs are ended first.
 */
final class StoreRun implements AutoCloseable {
  private static final int SETTLE_MILLIS = 1_000;
  private static final int SETTLE_MILLIS_EACH = 2;
  private static final int WARM_UP_THREADS = 8;

  /** The share of the time, on one core, below which the JIT compiler is considered done. */
  private static final double COMPILE_SHARE_MAX = 0.02;

  private static final int HOLD_MILLIS_MAX = 100;
  private static final int STAY_MILLIS_MAX = 20;
  private static final int WATCH_WAITERS_MILLIS = 10_000;
  private static final int WATCH_LEASES_MILLIS = 30_000;

  private final Store store;
  private final List<Candidate> contestants;
  private final Report.Effort effort;
  private final BenchServer server;
  private final Network network;
  private final CandidateJvms jvms;
  private final Set<WorkerProcess> warm = new HashSet<>();

  /**
   * @param contestants the candidates that are measured
   * @param rttMillis the time of a round trip to the server; zero if nothing is in between
   * @param profiled the candidate whose first JVM is recorded by JFR, if any
   */
  StoreRun(
      Store store,
      List<Candidate> contestants,
      Report.Effort effort,
      int rttMillis,
      @Nullable String profiled,
      Path folder) {
    this.store = store;
    this.contestants = contestants;
    this.effort = effort;
    this.server = store.start();
    this.network = new Network(server, rttMillis);
    this.jvms = new CandidateJvms(store, network, effort, profiled, folder);
  }

  /** Tells of a scenario that is over, so that a run that is interrupted keeps what it has. */
  @FunctionalInterface
  interface Keeper {
    void keep(Scenario last, Report.OnStore soFar) throws IOException;
  }

  /** Runs scenarios, and returns their rounds. */
  Report.OnStore run(Set<Scenario> scenarios, Keeper keeper) throws Exception {
    Report.OnStore soFar = new Report.OnStore(
        store,
        new Report.Server(server.version(), server.durability(), server.counted()),
        contestants.stream().map(Report.Contestant::of).toList(),
        List.of());
    for (Scenario scenario : scenarios) {
      List<Candidate> candidates = contestants.stream()
          .filter(candidate -> candidate.scenarios().contains(scenario))
          .toList();
      if (!candidates.isEmpty()) {
        soFar = soFar.with(run(scenario, candidates));
        keeper.keep(scenario, soFar);
      }
    }
    return soFar;
  }

  private List<Round> run(Scenario scenario, List<Candidate> candidates) throws Exception {
    if (!scenario.kind().isWatched()) {
      return inTurns(scenario, candidates);
    }
    // The server's counters include all clients, even another candidate's idle pool.
    List<Round> rounds = new ArrayList<>();
    for (Candidate candidate : candidates) {
      contestants.stream().filter(other -> !other.id().equals(candidate.id())).forEach(jvms::end);
      rounds.addAll(inTurns(scenario, List.of(candidate)));
    }
    return rounds;
  }

  private List<Round> inTurns(Scenario scenario, List<Candidate> candidates) throws Exception {
    Map<String, String> failed = new HashMap<>();
    for (Candidate candidate : candidates) {
      jvms.launch(candidate, scenario.jvms());
    }
    for (Candidate candidate : candidates) {
      Round round = warmUp(scenario, candidate);
      if (round.error() != null) {
        failed.put(candidate.id(), round.error());
      }
    }
    // Otherwise the kernel would run two processes that wait for each other on one core or on two,
    // by chance, and a round would measure that more than the candidate.
    if (!scenario.isOneThreads() || !server.hasOneThread()) {
      return rounds(scenario, candidates, failed);
    }
    Cores.keep(server.processes(), 0);
    Cores.keep(jvms.processes(), 1);
    try {
      return rounds(scenario, candidates, failed);
    } finally {
      Cores.free(server.processes());
      Cores.free(jvms.processes());
    }
  }

  private List<Round> rounds(
      Scenario scenario, List<Candidate> candidates, Map<String, String> failed) throws Exception {
    List<Round> rounds = new ArrayList<>();
    List<Candidate> order = new ArrayList<>(candidates);
    int count = rounds(scenario);
    for (int number = 1; number <= count; number++) {
      for (Candidate candidate : order) {
        @Nullable String error = failed.get(candidate.id());
        Round round = error != null
            ? Round.failed(scenario, candidate.id(), number, error)
            : perform(scenario, candidate, number, millis(scenario));
        if (round.error() != null) {
          failed.put(candidate.id(), round.error());
        }
        rounds.add(round);
      }
      // No candidate has the same predecessor, or the same place, each time.
      Collections.rotate(order, 1);
    }
    return rounds;
  }

  private Round warmUp(Scenario scenario, Candidate candidate) throws Exception {
    try {
      List<WorkerProcess> own = jvms.of(candidate, scenario.jvms());
      List<WorkerProcess> cold = new ArrayList<>(own);
      cold.removeAll(warm);
      warm.addAll(cold);
      compile(candidate, cold);
      if (scenario.isContended()) {
        // While it is measured, nobody is inside for long enough to meet another.
        jvms.arena(candidate).clear();
        Task stays = task(Task.Action.STAYS, scenario, candidate)
            .withMillis(effort.warmUpMillis())
            .withHoldMillisMax(STAY_MILLIS_MAX);
        check(ask(own, stays, scenario.threads()));
      }
      if (scenario.kind() == Scenario.Kind.WALK) {
        check(ask(own, task(Task.Action.TOUCH, scenario, candidate), scenario.threads()));
      }
      if (scenario.kind() == Scenario.Kind.HAND_OFF) {
        // Like the measured ones, but held so briefly that there are many.
        jvms.arena(candidate).clear();
        Task brief =
            task(Task.Action.HAND_OFF, scenario, candidate).withMillis(effort.warmUpMillis());
        check(ask(own, brief, scenario.threads()));
      }
    } catch (BenchException e) {
      jvms.end(candidate);
      return Round.failed(scenario, candidate.id(), 0, String.valueOf(e.getMessage()));
    }
    return perform(scenario, candidate, 0, warmUpMillis(scenario));
  }

  /**
   * Makes JVMs acquire and release free locks with many threads, until there is hardly anything
   * left to compile, as in a server that has run for hours, even if a cycle takes milliseconds.
   */
  private void compile(Candidate candidate, List<WorkerProcess> cold) throws BenchException {
    Task task = Task.of(Task.Action.CYCLES, candidate.id() + "-warm-up-")
        .withMillis(effort.warmUpMillis())
        .withNames(cold.size() * WARM_UP_THREADS);
    long compileMillisMax = Math.round(COMPILE_SHARE_MAX * effort.warmUpMillis());
    for (int times = 1; !cold.isEmpty() && times <= effort.firstWarmUpsMax(); times++) {
      List<Sample> samples = ask(cold, task, WARM_UP_THREADS);
      check(samples);
      if (samples.stream().allMatch(sample -> sample.compileMillis() <= compileMillisMax)) {
        return;
      }
    }
  }

  private static void check(List<Sample> samples) throws BenchException {
    for (Sample sample : samples) {
      if (sample.error() != null) {
        throw new BenchException(sample.error(), null);
      }
      if (sample.violations() > 0) {
        throw new BenchException(
            "too many holders at once, " + sample.violations() + " times", null);
      }
    }
  }

  private long warmUpMillis(Scenario scenario) {
    // More JVMs have more to compile on the same cores.
    return switch (scenario.kind()) {
      case CYCLES, WALK ->
        scenario.jvms() > 1 ? 3 * effort.warmUpMillis() / 2 : effort.warmUpMillis();
      case HAND_OFF -> effort.warmUpMillis();
      case WAITERS, LEASES -> 0;
    };
  }

  private long millis(Scenario scenario) {
    return switch (scenario.kind()) {
      case CYCLES, WALK -> effort.roundMillis();
      case HAND_OFF -> 2 * effort.roundMillis();
      case WAITERS -> WATCH_WAITERS_MILLIS;
      case LEASES -> WATCH_LEASES_MILLIS;
    };
  }

  private int rounds(Scenario scenario) {
    return switch (scenario.kind()) {
      case CYCLES, WALK, HAND_OFF -> effort.rounds();
      case WAITERS -> effort.quick() ? 1 : 2;
      case LEASES -> 1;
    };
  }

  /** Performs a round; with zero time it measures nothing. */
  private Round perform(Scenario scenario, Candidate candidate, int number, long millis)
      throws Exception {
    try {
      List<WorkerProcess> own = jvms.of(candidate, scenario.jvms());
      jvms.arena(candidate).clear();
      Measurement measurement = new Measurement(scenario, candidate, own, millis);
      List<Sample> samples = millis == 0 ? List.of() : measurement.measure();
      long violations = samples.stream().mapToLong(Sample::violations).sum();
      for (Sample sample : samples) {
        if (sample.error() != null) {
          jvms.end(candidate);
          return new Round(
              scenario, candidate.id(), number, measurement.figures, violations, sample.error());
        }
      }
      return new Round(scenario, candidate.id(), number, measurement.figures, violations, null);
    } catch (BenchException e) {
      jvms.end(candidate);
      return Round.failed(scenario, candidate.id(), number, String.valueOf(e.getMessage()));
    }
  }

  /** A round of one candidate, while it is measured. */
  private final class Measurement {
    private final Scenario scenario;
    private final Candidate candidate;
    private final List<WorkerProcess> own;
    private final long millis;
    private final Map<Figure, Double> figures = new EnumMap<>(Figure.class);

    Measurement(Scenario scenario, Candidate candidate, List<WorkerProcess> own, long millis) {
      this.scenario = scenario;
      this.candidate = candidate;
      this.own = own;
      this.millis = millis;
    }

    List<Sample> measure() throws Exception {
      return switch (scenario.kind()) {
        case CYCLES -> cycles(Task.Action.CYCLES);
        case HAND_OFF -> cycles(Task.Action.HAND_OFF);
        case WALK -> {
          List<Sample> samples = cycles(Task.Action.CYCLES);
          putHeap(own);
          yield samples;
        }
        case WAITERS -> waiters();
        case LEASES -> leases();
      };
    }

    private Task task(Task.Action action) {
      return StoreRun.task(action, scenario, candidate);
    }

    private List<Sample> cycles(Task.Action action) throws Exception {
      Counters before = new Counters(candidate);
      List<Sample> samples = ask(
          own,
          task(action).withMillis(millis).withHoldMillisMax(HOLD_MILLIS_MAX),
          scenario.threads());
      Counters after = new Counters(candidate);
      List<Long> turns =
          samples.stream().flatMap(sample -> sample.turns().stream()).toList();
      double cycles = Math.max(1, sum(turns));
      Histogram latencies = new Histogram(3);
      samples.forEach(sample -> latencies.add(sample.histogram()));
      if (action == Task.Action.CYCLES) {
        double seconds = samples.stream().mapToLong(Sample::elapsedNanos).max().orElse(0) / 1e9;
        figures.put(Figure.RATE, cycles / seconds);
        figures.put(Figure.FAIRNESS, fairness(turns));
      }
      figures.put(Figure.P50_MICROS, latencies.getValueAtPercentile(50) / 1e3);
      figures.put(Figure.P99_MICROS, latencies.getValueAtPercentile(99) / 1e3);
      figures.put(Figure.P999_MICROS, latencies.getValueAtPercentile(99.9) / 1e3);
      figures.put(Figure.MAX_MICROS, latencies.getMaxValue() / 1e3);
      figures.put(Figure.SAMPLES, (double) latencies.getTotalCount());
      after.putCost(figures, before, samples, cycles, 1e3);
      return samples;
    }

    private List<Sample> waiters() throws Exception {
      List<WorkerProcess> holder = own.subList(0, 1);
      List<WorkerProcess> waiting = own.subList(1, own.size());
      int waiters = waiting.size() * scenario.threads();
      List<Sample> samples = new ArrayList<>(ask(holder, task(Task.Action.TAKE), 1));
      samples.addAll(ask(waiting, task(Task.Action.WAIT), scenario.threads()));
      TimeUnit.MILLISECONDS.sleep(SETTLE_MILLIS + (long) SETTLE_MILLIS_EACH * waiters);
      samples.addAll(watch());
      putHeap(waiting);
      long released = System.nanoTime();
      Task drain = task(Task.Action.DRAIN);
      for (WorkerProcess one : waiting) {
        one.send(drain);
      }
      samples.addAll(ask(holder, task(Task.Action.GIVE), 1));
      samples.addAll(receive(waiting, drain));
      double drainNanos = System.nanoTime() - released;
      figures.put(Figure.DRAIN_MILLIS, drainNanos / 1e6);
      figures.put(Figure.TURN_MICROS, drainNanos / 1e3 / waiters);
      return samples;
    }

    private List<Sample> leases() throws Exception {
      List<Sample> samples = new ArrayList<>(ask(own, task(Task.Action.TAKE), 1));
      figures.put(Figure.RATE, scenario.names() / (samples.get(0).elapsedNanos() / 1e9));
      samples.addAll(watch());
      putHeap(own);
      samples.addAll(ask(own, task(Task.Action.GIVE), 1));
      return samples;
    }

    private List<Sample> watch() throws Exception {
      Counters before = new Counters(candidate);
      List<Sample> watched = ask(own, task(Task.Action.WATCH).withMillis(millis), 0);
      new Counters(candidate).putCost(figures, before, watched, millis / 1e3, 1e6);
      figures.put(
          Figure.OWN_CPU, watched.stream().mapToLong(Sample::ownCpuNanos).sum() * 1e-3 / millis);
      return watched;
    }

    private void putHeap(List<WorkerProcess> measured) throws BenchException {
      double bytes = ask(measured, Task.of(Task.Action.COLLECT, ""), 0).stream()
          .mapToLong(Sample::heapBytes)
          .average()
          .orElse(0);
      figures.put(Figure.HEAP_MEBIBYTES, bytes / (1 << 20));
    }
  }

  private static Task task(Task.Action action, Scenario scenario, Candidate candidate) {
    return Task.of(action, candidate.id() + "-" + scenario.id() + "-").withNames(scenario.names());
  }

  /** @param threads the number of threads of each JVM; zero for a task of the JVM itself */
  private static List<Sample> ask(List<WorkerProcess> jvms, Task task, int threads)
      throws BenchException {
    for (int i = 0; i < jvms.size(); i++) {
      jvms.get(i).send(task.ofWorker(i, threads, jvms.size()));
    }
    return receive(jvms, task);
  }

  private static List<Sample> receive(List<WorkerProcess> jvms, Task task) throws BenchException {
    List<Sample> samples = new ArrayList<>();
    for (WorkerProcess jvm : jvms) {
      samples.add(jvm.receive(task.secondsMax()));
    }
    return samples;
  }

  /** The server's and the network's counters at one moment. */
  private final class Counters {
    private final long commands = server.commands();
    private final @Nullable Long cpuNanos = server.cpuNanos();
    private final @Nullable Long trips;

    Counters(Candidate candidate) throws Exception {
      this.trips = network.trips(candidate.id());
    }

    /** @param by the number of cycles, or of seconds */
    void putCost(
        Map<Figure, Double> figures,
        Counters before,
        List<Sample> samples,
        double by,
        double cpuUnitNanos) {
      // Reading the counters is itself a command.
      figures.put(Figure.COMMANDS, Math.max(0, commands - before.commands - 1) / by);
      if (trips != null && before.trips != null) {
        figures.put(Figure.TRIPS, (double) (trips - before.trips) / by);
      }
      if (cpuNanos != null && before.cpuNanos != null) {
        figures.put(Figure.SERVER_CPU, (cpuNanos - before.cpuNanos) / cpuUnitNanos / by);
      }
      figures.put(
          Figure.CLIENT_CPU,
          samples.stream().mapToLong(Sample::cpuNanos).sum() / cpuUnitNanos / by);
      figures.put(
          Figure.ALLOCATED, samples.stream().mapToLong(Sample::allocatedBytes).sum() / by);
      figures.put(
          Figure.THREADS, samples.stream().mapToInt(Sample::threads).average().orElse(0));
    }
  }

  private static double fairness(List<Long> turns) {
    double squares = turns.stream().mapToDouble(one -> (double) one * one).sum();
    double sum = sum(turns);
    return squares == 0 ? 0 : sum * sum / (turns.size() * squares);
  }

  private static long sum(List<Long> turns) {
    return turns.stream().mapToLong(Long::longValue).sum();
  }

  @Override
  public void close() throws IOException {
    try (server;
        network;
        jvms) {
      // The JVMs end first, and the server even if they do not.
    }
  }
}
