package io.holdfast.lock.bench;

import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.report.Report;
import io.holdfast.lock.bench.scenario.Arena;
import io.holdfast.lock.bench.server.Network;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The JVMs of the candidates on one server. Each candidate has its own, which last for several
 * scenarios, and an arena that they share.
 */
final class CandidateJvms implements AutoCloseable {
  private final Store store;
  private final Network network;
  private final Report.Effort effort;
  private final @Nullable String profiled;
  private final Path folder;
  private final Map<String, List<WorkerProcess>> jvms = new HashMap<>();
  private final Map<String, Arena> arenas = new HashMap<>();

  /** @param profiled the candidate whose first JVM is recorded by JFR, if any */
  CandidateJvms(
      Store store, Network network, Report.Effort effort, @Nullable String profiled, Path folder) {
    this.store = store;
    this.network = network;
    this.effort = effort;
    this.profiled = profiled;
    this.folder = folder;
  }

  private List<WorkerProcess> all() {
    return jvms.values().stream().flatMap(List::stream).toList();
  }

  List<Long> processes() {
    return all().stream().map(WorkerProcess::pid).toList();
  }

  Arena arena(Candidate candidate) throws IOException {
    Arena arena = arenas.get(candidate.id());
    if (arena == null) {
      arena = new Arena(arenaFile(candidate.id()));
      arenas.put(candidate.id(), arena);
    }
    return arena;
  }

  private Path arenaFile(String candidate) {
    return folder.resolve(store.id() + "-" + candidate + ".arena");
  }

  /** Returns this many of a candidate's JVMs, which are ready for tasks. */
  List<WorkerProcess> of(Candidate candidate, int count) throws IOException, BenchException {
    List<WorkerProcess> own = launch(candidate, count);
    for (WorkerProcess one : own) {
      one.awaitReady();
    }
    return own;
  }

  /** Makes sure that this many of a candidate's JVMs are running, or at least starting. */
  List<WorkerProcess> launch(Candidate candidate, int count) throws IOException {
    List<WorkerProcess> own = jvms.computeIfAbsent(candidate.id(), any -> new ArrayList<>());
    while (own.size() < count) {
      List<String> options = new ArrayList<>();
      if (effort.quick()) {
        // Rounds are too short for the second compiler: they would measure its progress.
        options.add("-XX:TieredStopAtLevel=1");
      }
      if (own.isEmpty() && candidate.id().equals(profiled)) {
        options.add("-XX:StartFlightRecording=settings=profile,filename="
            + folder.resolve(store.id() + "-" + candidate.id() + ".jfr"));
      }
      own.add(WorkerProcess.start(
          store,
          candidate,
          network.url(candidate.id()),
          arenaFile(candidate.id()),
          folder.resolve(store.id() + "-" + candidate.id() + ".log"),
          options));
    }
    return own.subList(0, count);
  }

  void end(Candidate candidate) {
    List<WorkerProcess> own = jvms.remove(candidate.id());
    if (own != null) {
      own.forEach(WorkerProcess::close);
    }
  }

  @Override
  public void close() throws IOException {
    List<WorkerProcess> recorded = profiled == null ? null : jvms.get(profiled);
    if (recorded != null) {
      recorded.get(0).finish();
    }
    all().forEach(WorkerProcess::close);
    for (String candidate : arenas.keySet()) {
      Files.deleteIfExists(arenaFile(candidate));
    }
  }
}
