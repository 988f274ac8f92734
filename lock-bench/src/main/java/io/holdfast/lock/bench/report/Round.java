package io.holdfast.lock.bench.report;

import io.holdfast.lock.bench.scenario.Scenario;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The measurements of one candidate in one round of a scenario.
 *
 * @param figures the figures that were measured
 * @param violations the number of times that more holders were inside than may be
 * @param error the failure that ended the round, if any
 */
public record Round(
    Scenario scenario,
    String candidate,
    int number,
    Map<Figure, Double> figures,
    long violations,
    @Nullable String error) {

  public Round {
    Map<Figure, Double> rounded = new EnumMap<>(Figure.class);
    figures.forEach((figure, value) -> rounded.put(figure, Figure.rounded(value)));
    figures = Collections.unmodifiableMap(rounded);
  }

  public static Round failed(Scenario scenario, String candidate, int number, String error) {
    return new Round(scenario, candidate, number, Map.of(), 0, error);
  }
}
