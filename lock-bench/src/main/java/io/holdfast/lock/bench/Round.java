package io.holdfast.lock.bench;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one candidate did in one round.
 *
 * @param figures those that were measured
 * @param violations how often two holders were inside at once
 * @param error what ended it, if it did not end by itself
 */
record Round(
    String candidate,
    int number,
    Map<Figure, Double> figures,
    long violations,
    @Nullable String error) {

  Round {
    Map<Figure, Double> rounded = new EnumMap<>(Figure.class);
    figures.forEach((figure, value) -> rounded.put(figure, Figure.rounded(value)));
    figures = Collections.unmodifiableMap(rounded);
  }

  static Round failed(String candidate, int number, String error) {
    return new Round(candidate, number, Map.of(), 0, error);
  }

  boolean isSound() {
    return error == null && violations == 0;
  }
}
