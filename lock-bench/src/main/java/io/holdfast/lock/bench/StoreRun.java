package io.holdfast.lock.bench;

import java.io.IOException;
import java.nio.file.Files;
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
 * The scenarios of one store. Candidates take turns round by round, so that what disturbs the
 * machine for a while disturbs them all; each has JVMs of its own, so that neither what the
 * compiler learned from one, nor its threads, nor its garbage is taken for another's. Where little
 * happens, and that is what is measured, the others' JVMs are ended first.
 */
final class StoreRun implements AutoCloseable {
  private static final int SETTLE_MILLIS = 1_000;
  private static final int SETTLE_MILLIS_EACH = 2;
  private static final int WARM_UP_THREADS = 8;

  /** Of the time, on one core: with so little to do, the compiler is taken to be done. */
  private static final double COMPILE_SHARE_MAX = 0.02;

  private static final int HOLD_MILLIS_MAX = 100;
  private static final int WATCH_WAITERS_MILLIS = 10_000;
  private static final int WATCH_LEASES_MILLIS = 30_000;

  private final Store store;
  private final Report.Effort effort;
  private final @Nullable String profiled;
  private final Path folder;
  private final Terminal terminal;
  private final BenchServer server;
  private final Set<WorkerProcess> warm = new HashSet<>();
  private final Map<String, List<WorkerProcess>> workers = new HashMap<>();
  private final Map<String, Arena> arenas = new HashMap<>();

  /** @param profiled the candidate whose first JVM is recorded by JFR, if any */
  StoreRun(
      Store store,
      Report.Effort effort,
      @Nullable String profiled,
      Path folder,
      Terminal terminal) {
    this.store = store;
    this.effort = effort;
    this.profiled = profiled;
    this.folder = folder;
    this.terminal = terminal;
    terminal.progress(store.title() + ": starting the server");
    this.server = store.start();
  }

  /** Takes the figures so far, so that a run that is broken off leaves those that it has. */
  @FunctionalInterface
  interface Keeper {
    void keep(Report soFar) throws IOException;
  }

  /** Says whether every candidate did its job. */
  boolean run(Set<Scenario> scenarios, Report.Machine machine, Keeper keeper) throws Exception {
    Report.Server described =
        new Report.Server(server.version(), server.durability(), server.counted());
    terminal.store(store, described);
    List<Result> results = new ArrayList<>();
    for (Scenario scenario : scenarios) {
      List<Candidate> candidates = store.candidates().stream()
          .filter(candidate -> candidate.scenarios().contains(scenario))
          .toList();
      List<Result> found = run(scenario, candidates);
      terminal.results(scenario, candidates, found);
      results.addAll(found);
      keeper.keep(new Report(
          Report.today(),
          store,
          machine,
          effort,
          described,
          store.candidates().stream().map(Report.Contestant::of).toList(),
          results));
    }
    return results.stream().allMatch(result -> result.fault() == null);
  }

  private List<Result> run(Scenario scenario, List<Candidate> candidates) throws Exception {
    if (!scenario.kind().isWatched()) {
      return Result.of(scenario, candidates, inTurns(scenario, candidates));
    }
    // The server counts for all: not even an idle pool of another candidate may talk to it.
    List<Round> rounds = new ArrayList<>();
    for (Candidate candidate : candidates) {
      store.candidates().stream()
          .filter(other -> !other.id().equals(candidate.id()))
          .forEach(this::end);
      rounds.addAll(inTurns(scenario, List.of(candidate)));
    }
    return Result.of(scenario, candidates, rounds);
  }

  private List<Round> inTurns(Scenario scenario, List<Candidate> candidates) throws Exception {
    Map<String, String> failed = new HashMap<>();
    for (Candidate candidate : candidates) {
      launch(candidate, scenario.jvms());
    }
    for (Candidate candidate : candidates) {
      terminal.progress(scenario.title() + ": warming up " + candidate.label());
      Round round = warmUp(scenario, candidate);
      if (round.error() != null) {
        failed.put(candidate.id(), round.error());
      }
    }
    if (scenario != Scenario.UNCONTENDED_1 || !server.hasOneThread()) {
      return rounds(scenario, candidates, failed);
    }
    keepApart();
    try {
      return rounds(scenario, candidates, failed);
    } finally {
      letRoam();
    }
  }

  /**
   * Two processes that always wait for each other are put on one core by the kernel at one time and
   * on two at another, and then a round tells more of that than of the candidate.
   */
  private void keepApart() throws BenchException {
    for (long pid : server.processes()) {
      Cores.keep(pid, 0);
    }
    for (WorkerProcess jvm : workers.values().stream().flatMap(List::stream).toList()) {
      Cores.keep(jvm.pid(), 1);
    }
  }

  private void letRoam() throws BenchException {
    for (long pid : server.processes()) {
      Cores.free(pid);
    }
    for (WorkerProcess jvm : workers.values().stream().flatMap(List::stream).toList()) {
      Cores.free(jvm.pid());
    }
  }

  private List<Round> rounds(
      Scenario scenario, List<Candidate> candidates, Map<String, String> failed) throws Exception {
    List<Round> rounds = new ArrayList<>();
    List<Candidate> order = new ArrayList<>(candidates);
    int count = rounds(scenario);
    for (int number = 1; number <= count; number++) {
      for (Candidate candidate : order) {
        terminal.progress(
            scenario.title() + ": round " + number + " of " + count + ", " + candidate.label());
        @Nullable String error = failed.get(candidate.id());
        Round round = error != null
            ? Round.failed(candidate.id(), number, error)
            : perform(scenario, candidate, number, millis(scenario));
        if (round.error() != null) {
          failed.put(candidate.id(), round.error());
        }
        rounds.add(round);
      }
      // Nobody has the same predecessor, or the same place, each time.
      Collections.rotate(order, 1);
    }
    return rounds;
  }

  private Round warmUp(Scenario scenario, Candidate candidate) throws Exception {
    try {
      List<WorkerProcess> cold = new ArrayList<>(jvms(candidate, scenario.jvms()));
      cold.removeAll(warm);
      warm.addAll(cold);
      compile(candidate, cold);
      if (scenario.kind() == Scenario.Kind.WALK) {
        terminal.progress(scenario.title() + ": first use by " + candidate.label());
        check(ask(
            jvms(candidate, scenario.jvms()),
            task(Task.Action.TOUCH, scenario, candidate),
            scenario.threads()));
      }
      if (scenario.kind() == Scenario.Kind.HAND_OFF) {
        // As the measured ones, but held for so short a time that there are many.
        arena(candidate).clear();
        check(ask(
            jvms(candidate, scenario.jvms()),
            task(Task.Action.HAND_OFF, scenario, candidate).withMillis(effort.warmUpMillis()),
            scenario.threads()));
      }
    } catch (BenchException e) {
      end(candidate);
      return Round.failed(candidate.id(), 0, String.valueOf(e.getMessage()));
    }
    return perform(scenario, candidate, 0, warmUpMillis(scenario));
  }

  /**
   * Has JVMs take and give back free locks, by many threads, until there is hardly anything left to
   * compile: as in a server that runs for hours, even where a cycle takes milliseconds.
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
    }
  }

  private long warmUpMillis(Scenario scenario) {
    // More JVMs have more to compile, on the same cores.
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

  /** A round, or with no time to measure nothing. */
  private Round perform(Scenario scenario, Candidate candidate, int number, long millis)
      throws Exception {
    try {
      List<WorkerProcess> jvms = jvms(candidate, scenario.jvms());
      arena(candidate).clear();
      Map<Figure, Double> figures = new EnumMap<>(Figure.class);
      List<Sample> samples = millis == 0
          ? List.of()
          : switch (scenario.kind()) {
            case CYCLES ->
              measureCycles(Task.Action.CYCLES, scenario, candidate, jvms, millis, figures);
            case HAND_OFF ->
              measureCycles(Task.Action.HAND_OFF, scenario, candidate, jvms, millis, figures);
            case WALK -> measureWalk(scenario, candidate, jvms, millis, figures);
            case WAITERS -> measureWaiters(scenario, candidate, jvms, millis, figures);
            case LEASES -> measureLeases(scenario, candidate, jvms, millis, figures);
          };
      long violations = samples.stream().mapToLong(Sample::violations).sum();
      for (Sample sample : samples) {
        if (sample.error() != null) {
          end(candidate);
          return new Round(candidate.id(), number, figures, violations, sample.error());
        }
      }
      return new Round(candidate.id(), number, figures, violations, null);
    } catch (BenchException e) {
      end(candidate);
      return Round.failed(candidate.id(), number, String.valueOf(e.getMessage()));
    }
  }

  private List<Sample> measureCycles(
      Task.Action action,
      Scenario scenario,
      Candidate candidate,
      List<WorkerProcess> jvms,
      long millis,
      Map<Figure, Double> figures)
      throws Exception {
    Counters before = new Counters();
    List<Sample> samples = ask(
        jvms,
        task(action, scenario, candidate).withMillis(millis).withHoldMillisMax(HOLD_MILLIS_MAX),
        scenario.threads());
    Counters after = new Counters();
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

  private List<Sample> measureWalk(
      Scenario scenario,
      Candidate candidate,
      List<WorkerProcess> jvms,
      long millis,
      Map<Figure, Double> figures)
      throws Exception {
    List<Sample> samples =
        measureCycles(Task.Action.CYCLES, scenario, candidate, jvms, millis, figures);
    putHeap(figures, jvms);
    return samples;
  }

  private List<Sample> measureWaiters(
      Scenario scenario,
      Candidate candidate,
      List<WorkerProcess> jvms,
      long millis,
      Map<Figure, Double> figures)
      throws Exception {
    List<WorkerProcess> holder = jvms.subList(0, 1);
    List<WorkerProcess> waiting = jvms.subList(1, jvms.size());
    int waiters = waiting.size() * scenario.threads();
    List<Sample> samples = new ArrayList<>();
    samples.addAll(ask(holder, task(Task.Action.TAKE, scenario, candidate), 1));
    samples.addAll(ask(waiting, task(Task.Action.WAIT, scenario, candidate), scenario.threads()));
    TimeUnit.MILLISECONDS.sleep(SETTLE_MILLIS + (long) SETTLE_MILLIS_EACH * waiters);
    samples.addAll(watch(scenario, candidate, jvms, millis, figures));
    putHeap(figures, waiting);
    long released = System.nanoTime();
    Task drain = task(Task.Action.DRAIN, scenario, candidate);
    for (WorkerProcess one : waiting) {
      one.send(drain);
    }
    samples.addAll(ask(holder, task(Task.Action.GIVE, scenario, candidate), 1));
    samples.addAll(receive(waiting, drain));
    double drainNanos = System.nanoTime() - released;
    figures.put(Figure.DRAIN_MILLIS, drainNanos / 1e6);
    figures.put(Figure.TURN_MICROS, drainNanos / 1e3 / waiters);
    return samples;
  }

  private List<Sample> measureLeases(
      Scenario scenario,
      Candidate candidate,
      List<WorkerProcess> jvms,
      long millis,
      Map<Figure, Double> figures)
      throws Exception {
    List<Sample> samples =
        new ArrayList<>(ask(jvms, task(Task.Action.TAKE, scenario, candidate), 1));
    Sample taken = samples.get(0);
    figures.put(Figure.RATE, scenario.names() / (taken.elapsedNanos() / 1e9));
    samples.addAll(watch(scenario, candidate, jvms, millis, figures));
    putHeap(figures, jvms);
    samples.addAll(ask(jvms, task(Task.Action.GIVE, scenario, candidate), 1));
    return samples;
  }

  private List<Sample> watch(
      Scenario scenario,
      Candidate candidate,
      List<WorkerProcess> jvms,
      long millis,
      Map<Figure, Double> figures)
      throws Exception {
    Counters before = new Counters();
    List<Sample> watched =
        ask(jvms, task(Task.Action.WATCH, scenario, candidate).withMillis(millis), 0);
    new Counters().putCost(figures, before, watched, millis / 1e3, 1e6);
    figures.put(
        Figure.OWN_CPU, watched.stream().mapToLong(Sample::ownCpuNanos).sum() * 1e-3 / millis);
    return watched;
  }

  private static void putHeap(Map<Figure, Double> figures, List<WorkerProcess> jvms)
      throws BenchException {
    double bytes = ask(jvms, Task.of(Task.Action.COLLECT, ""), 0).stream()
        .mapToLong(Sample::heapBytes)
        .average()
        .orElse(0);
    figures.put(Figure.HEAP_MEBIBYTES, bytes / (1 << 20));
  }

  private static Task task(Task.Action action, Scenario scenario, Candidate candidate) {
    return Task.of(action, candidate.id() + "-" + scenario.id() + "-").withNames(scenario.names());
  }

  /** @param threads of each; none where the JVM itself is asked */
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

  /** What the server has done so far. */
  private final class Counters {
    private final long commands = server.commands();
    private final @Nullable Long cpuNanos = server.cpuNanos();

    Counters() throws Exception {}

    /** @param by cycles, or seconds */
    void putCost(
        Map<Figure, Double> figures,
        Counters before,
        List<Sample> samples,
        double by,
        double cpuUnitNanos) {
      // Asking for the counters is a command itself.
      figures.put(Figure.COMMANDS, Math.max(0, commands - before.commands - 1) / by);
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

  private Arena arena(Candidate candidate) throws IOException {
    Arena arena = arenas.get(candidate.id());
    if (arena == null) {
      arena = new Arena(arenaFile(candidate));
      arenas.put(candidate.id(), arena);
    }
    return arena;
  }

  private Path arenaFile(Candidate candidate) {
    return folder.resolve(store.id() + "-" + candidate.id() + ".arena");
  }

  private List<WorkerProcess> jvms(Candidate candidate, int count)
      throws IOException, BenchException {
    List<WorkerProcess> own = launch(candidate, count);
    for (WorkerProcess one : own) {
      one.awaitReady();
    }
    return own;
  }

  /** Sees to it that so many run, or at least start. */
  private List<WorkerProcess> launch(Candidate candidate, int count) throws IOException {
    List<WorkerProcess> own = workers.computeIfAbsent(candidate.id(), any -> new ArrayList<>());
    while (own.size() < count) {
      List<String> options = new ArrayList<>();
      if (effort.quick()) {
        // Rounds are too short for the other compiler: they would measure how far it has come.
        options.add("-XX:TieredStopAtLevel=1");
      }
      if (own.isEmpty() && candidate.id().equals(profiled)) {
        options.add("-XX:StartFlightRecording=settings=profile,filename="
            + folder.resolve(store.id() + "-" + candidate.id() + ".jfr"));
      }
      own.add(WorkerProcess.start(
          store,
          candidate,
          server.url(),
          arenaFile(candidate),
          folder.resolve(store.id() + "-" + candidate.id() + ".log"),
          options));
    }
    return own.subList(0, count);
  }

  private void end(Candidate candidate) {
    List<WorkerProcess> own = workers.remove(candidate.id());
    if (own != null) {
      own.forEach(WorkerProcess::close);
    }
  }

  @Override
  public void close() throws IOException {
    List<WorkerProcess> recorded = profiled == null ? null : workers.get(profiled);
    if (recorded != null) {
      recorded.get(0).finish();
    }
    workers.values().forEach(own -> own.forEach(WorkerProcess::close));
    server.close();
    for (String candidate : arenas.keySet()) {
      Files.deleteIfExists(folder.resolve(store.id() + "-" + candidate + ".arena"));
    }
  }
}
