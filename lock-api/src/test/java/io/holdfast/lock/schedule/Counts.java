package io.holdfast.lock.schedule;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** The number of times that each thing was seen. */
final class Counts {
  private final Map<Seen, long[]> counts = new EnumMap<>(Seen.class);

  Counts() {
    for (Seen seen : Seen.values()) {
      counts.put(seen, new long[1]);
    }
  }

  void add(Seen seen) {
    counts.get(seen)[0]++;
  }

  /** The things that were not seen at least so often. */
  List<String> below(long times) {
    List<String> below = new ArrayList<>();
    counts.forEach((seen, count) -> {
      if (count[0] < times) {
        below.add(seen + " " + count[0]);
      }
    });
    return below;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    counts.forEach(
        (seen, count) -> text.append(seen).append(' ').append(count[0]).append('\n'));
    return text.toString();
  }
}
