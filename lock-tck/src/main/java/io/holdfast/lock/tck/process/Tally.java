package io.holdfast.lock.tck.process;

import io.holdfast.lock.tck.process.Register.Right;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The processes that were killed.
 *
 * <p>Threads: for one thread at a time.
 */
final class Tally {
  private final Map<Right, Integer> held = new EnumMap<>(Right.class);
  private final List<Duration> delays = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();

  /**
   * Counts one that was killed.
   *
   * @param delay the time until all that was in its way was gone
   */
  void count(Set<Right> rights, Duration delay) {
    rights.forEach(right -> held.merge(right, 1, Integer::sum));
    delays.add(delay);
  }

  void countFailures(List<String> more) {
    failures.addAll(more);
  }

  void add(Tally other) {
    other.held.forEach((right, count) -> held.merge(right, count, Integer::sum));
    delays.addAll(other.delays);
    failures.addAll(other.failures);
  }

  /** Returns the rights that at least one of them had. */
  Set<Right> held() {
    return held.keySet();
  }

  @Override
  public String toString() {
    List<Duration> sorted = delays.stream().sorted().toList();
    return sorted.size() + " killed, which held " + held + "; others had all of it again after "
        + sorted.get(sorted.size() / 2).toMillis() + " ms (median), "
        + sorted.get(sorted.size() - 1).toMillis() + " ms (longest); " + failures.size()
        + " failures reached callers"
        + (failures.isEmpty() ? "" : ", the first: " + failures.get(0));
  }
}
