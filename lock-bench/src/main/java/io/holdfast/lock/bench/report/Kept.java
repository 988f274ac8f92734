package io.holdfast.lock.bench.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The stored figures of one store. All figures of a scenario with one round trip are from the same
 * run; others may be from different runs.
 *
 * @param runs the runs, the older ones first
 */
public record Kept(Store store, List<Report> runs) {
  public Kept {
    runs = List.copyOf(runs);
  }

  public static Path file(Path folder, Store store) {
    return folder.resolve(store.id() + ".json");
  }

  /** Reads all figures in a folder, in the order of the stores. */
  public static List<Kept> read(Path folder) throws IOException {
    List<Kept> all = new ArrayList<>();
    for (Store store : Store.values()) {
      Kept kept = read(folder, store);
      if (!kept.runs.isEmpty()) {
        all.add(kept);
      }
    }
    return all;
  }

  public static Kept read(Path folder, Store store) throws IOException {
    Path file = file(folder, store);
    return new Kept(
        store,
        Files.exists(file)
            ? List.of(new ObjectMapper().readValue(file.toFile(), Report[].class))
            : List.of());
  }

  /** Returns these figures with those of this run's scenarios and round trip replaced. */
  public Kept with(Report run) {
    Set<String> replaced = run.results().stream().map(Result::scenario).collect(Collectors.toSet());
    Stream<Report> others = runs.stream()
        .map(old -> old.with(old.results().stream()
            .filter(result ->
                old.rttMillis() != run.rttMillis() || !replaced.contains(result.scenario()))
            .toList()))
        .filter(old -> !old.results().isEmpty());
    return new Kept(store, Stream.concat(others, Stream.of(run)).toList());
  }

  public void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    // One line for each result, so that a diff shows which of them changed.
    String text = new ObjectMapper().writeValueAsString(runs);
    Files.writeString(
        file(folder, store),
        text.replace("{\"scenario\"", "\n{\"scenario\"").replace("{\"date\"", "\n{\"date\"")
            + "\n");
  }

  /** Returns the round trips of the runs, the shortest first. */
  List<Integer> roundTrips() {
    return runs.stream().map(Report::rttMillis).distinct().sorted().toList();
  }

  /** Returns the figures with this round trip. */
  Kept at(int rttMillis) {
    return new Kept(
        store, runs.stream().filter(run -> run.rttMillis() == rttMillis).toList());
  }

  List<Result> results(Scenario scenario) {
    return runs.stream()
        .flatMap(run -> run.results().stream())
        .filter(result -> result.scenario().equals(scenario.id()))
        .toList();
  }

  /** Returns a candidate's name for readers. */
  String label(String candidate) {
    return runs.stream()
        .flatMap(run -> run.contestants().stream())
        .filter(one -> one.id().equals(candidate))
        .map(Report.Contestant::label)
        .findFirst()
        .orElse(candidate);
  }
}
