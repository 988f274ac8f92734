package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.candidate.Candidate.Role;
import io.holdfast.lock.bench.report.Report.Contestant;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/**
 * The result of one candidate in one scenario.
 *
 * @param figures for each figure the median of all rounds, except that of the longest latency the
 *     maximum is taken
 * @param ofFloor the median of the ratios to the floor in the same round, above 1 if better
 * @param ofBestPeer the median of the ratios to the peer with the best median
 * @param bestPeer that peer
 * @param ofSession the median of the ratios to the database's own lock, which ends with its
 *     connection
 * @param fault the reason why the figures don't count: too many holders at once, or an error
 */
public record Result(
    Contestant contestant,
    Map<Figure, Double> figures,
    @Nullable Double ofFloor,
    @Nullable Double ofBestPeer,
    @Nullable Contestant bestPeer,
    @Nullable Double ofSession,
    @Nullable String fault) {

  /**
   * Returns the results of the candidates that took part in a scenario.
   *
   * @param rounds the rounds of all candidates in that scenario
   */
  static List<Result> of(Scenario scenario, List<Contestant> contestants, List<Round> rounds) {
    @Nullable Contestant floor = best(scenario, contestants, rounds, Role.FLOOR);
    @Nullable Contestant peer = best(scenario, contestants, rounds, Role.PEER);
    @Nullable Contestant session = best(scenario, contestants, rounds, Role.SESSION);
    List<Result> results = new ArrayList<>();
    for (Contestant one : contestants) {
      List<Round> own = of(one, rounds);
      if (own.isEmpty()) {
        continue;
      }
      @Nullable String fault = fault(own);
      results.add(new Result(
          one,
          summary(own),
          fault == null ? ratio(scenario, own, floor, rounds) : null,
          fault == null ? ratio(scenario, own, peer, rounds) : null,
          peer,
          fault == null ? ratio(scenario, own, session, rounds) : null,
          fault));
    }
    return results;
  }

  private static List<Round> of(Contestant one, List<Round> rounds) {
    return rounds.stream().filter(round -> round.candidate().equals(one.id())).toList();
  }

  private static @Nullable String fault(List<Round> own) {
    long violations = own.stream().mapToLong(Round::violations).sum();
    if (violations > 0) {
      return "too many holders at once, " + violations + " times";
    }
    return own.stream().map(Round::error).filter(Objects::nonNull).findFirst().orElse(null);
  }

  private static Map<Figure, Double> summary(List<Round> own) {
    Map<Figure, Double> summary = new EnumMap<>(Figure.class);
    for (Figure figure : Figure.values()) {
      Function<Round, @Nullable Double> value = round -> round.figures().get(figure);
      (figure == Figure.MAX_MICROS ? values(own, value).max() : median(own, value))
          .ifPresent(one -> summary.put(figure, one));
    }
    return summary;
  }

  private static OptionalDouble median(
      List<Round> rounds, Function<Round, @Nullable Double> value) {
    double[] sorted = values(rounds, value).sorted().toArray();
    if (sorted.length == 0) {
      return OptionalDouble.empty();
    }
    int middle = sorted.length / 2;
    return OptionalDouble.of(Figure.rounded(
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2));
  }

  private static DoubleStream values(List<Round> rounds, Function<Round, @Nullable Double> value) {
    return rounds.stream().map(value).filter(Objects::nonNull).mapToDouble(Double::doubleValue);
  }

  /** Returns the score of a round, higher is better; null if no single figure counts. */
  private static @Nullable Double score(Scenario scenario, Round round) {
    return switch (scenario.kind()) {
      case CYCLES, WALK -> round.figures().get(Figure.RATE);
      case HAND_OFF -> {
        @Nullable Double micros = round.figures().get(Figure.P50_MICROS);
        yield micros == null || micros == 0 ? null : 1 / micros;
      }
      case WAITERS, LEASES -> null;
    };
  }

  private static @Nullable Contestant best(
      Scenario scenario, List<Contestant> contestants, List<Round> rounds, Role role) {
    return contestants.stream()
        .filter(one -> one.role() == role)
        .filter(one -> fault(of(one, rounds)) == null)
        .filter(one -> median(of(one, rounds), round -> score(scenario, round)).isPresent())
        .max(Comparator.comparingDouble(
            one -> median(of(one, rounds), round -> score(scenario, round)).orElse(0)))
        .orElse(null);
  }

  private static @Nullable Double ratio(
      Scenario scenario, List<Round> own, @Nullable Contestant base, List<Round> rounds) {
    if (base == null) {
      return null;
    }
    List<Round> bases = of(base, rounds);
    OptionalDouble ratio = median(own, round -> {
      @Nullable Double score = score(scenario, round);
      @Nullable
      Double other = bases.stream()
          .filter(one -> one.number() == round.number())
          .map(one -> score(scenario, one))
          .filter(Objects::nonNull)
          .findFirst()
          .orElse(null);
      return score == null || other == null ? null : score / other;
    });
    return ratio.isPresent() ? ratio.getAsDouble() : null;
  }
}
