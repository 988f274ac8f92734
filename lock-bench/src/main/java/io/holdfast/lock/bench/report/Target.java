package io.holdfast.lock.bench.report;

import static io.holdfast.lock.bench.candidate.Store.CONSUL;
import static io.holdfast.lock.bench.candidate.Store.MYSQL;
import static io.holdfast.lock.bench.candidate.Store.POSTGRES;
import static io.holdfast.lock.bench.candidate.Store.REDIS;
import static io.holdfast.lock.bench.candidate.Store.ZOOKEEPER;
import static io.holdfast.lock.bench.scenario.Scenario.FOUR_JVMS;
import static io.holdfast.lock.bench.scenario.Scenario.HAND_OFF;
import static io.holdfast.lock.bench.scenario.Scenario.LEASES;
import static io.holdfast.lock.bench.scenario.Scenario.ONE_CLIENT;
import static io.holdfast.lock.bench.scenario.Scenario.UNCONTENDED_1;

import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The project's performance targets, as far as this benchmark can check them. */
sealed interface Target {
  /** All targets. */
  List<Target> ALL = List.of(
      new Speed(REDIS, UNCONTENDED_1, Target.HOLDFAST, "floor", 0.85),
      new Speed(REDIS, HAND_OFF, Target.HOLDFAST, "floor-wake", 1 / 1.15),
      new Speed(REDIS, HAND_OFF, Target.HOLDFAST, "redisson", 1 / 0.6),
      new Speed(REDIS, ONE_CLIENT, Target.HOLDFAST, "redisson", 10),
      new Speed(REDIS, ONE_CLIENT, Target.ALWAYS_ASKS, "redisson", 1.5),
      new Speed(REDIS, FOUR_JVMS, Target.HOLDFAST, "redisson", 3),
      new Limit(REDIS, FOUR_JVMS, Target.HOLDFAST, Figure.MAX_MICROS, 250_000),
      new Limit(REDIS, LEASES, Target.HOLDFAST, Figure.OWN_CPU, 10),
      new Speed(MYSQL, UNCONTENDED_1, Target.HOLDFAST, "floor", 0.85),
      new Speed(MYSQL, ONE_CLIENT, Target.HOLDFAST, "spring", 10),
      new Limit(MYSQL, HAND_OFF, Target.HOLDFAST, Figure.P50_MICROS, 10_000),
      new Speed(POSTGRES, UNCONTENDED_1, Target.HOLDFAST, "floor", 0.85),
      new Speed(POSTGRES, ONE_CLIENT, Target.HOLDFAST, "spring", 10),
      new Limit(POSTGRES, HAND_OFF, Target.HOLDFAST, Figure.P50_MICROS, 3_000),
      new Speed(ZOOKEEPER, UNCONTENDED_1, Target.HOLDFAST, "curator", 1.2),
      new Speed(ZOOKEEPER, ONE_CLIENT, Target.HOLDFAST, "curator", 10),
      new Speed(ZOOKEEPER, HAND_OFF, Target.HOLDFAST, "curator", 1),
      new Speed(CONSUL, UNCONTENDED_1, Target.HOLDFAST, "floor", 0.85),
      new Speed(CONSUL, UNCONTENDED_1, Target.HOLDFAST, "consul-client", 0.9),
      new Speed(CONSUL, HAND_OFF, Target.HOLDFAST, "floor", 1 / 1.2));

  /** The id of Holdfast as it is. */
  String HOLDFAST = "holdfast";

  /** The id of Holdfast without its hand-off within a JVM. */
  String ALWAYS_ASKS = "holdfast-no-hand-off";

  Store store();

  Scenario scenario();

  String candidate();

  /** Describes the target. */
  String wanted(Kept kept);

  /** Describes what was reached; null if it was not measured. */
  @Nullable
  String reached(Kept kept);

  /** Whether the target is met. */
  boolean isMet(Kept kept);

  /**
   * A target for the speed, as a multiple of another candidate's in the same round.
   *
   * @param min the least multiple
   */
  record Speed(Store store, Scenario scenario, String candidate, String base, double min)
      implements Target {
    @Override
    public String wanted(Kept kept) {
      return Terminal.ratio(min) + " of " + kept.label(base);
    }

    @Override
    public @Nullable String reached(Kept kept) {
      @Nullable Double ratio = ratio(kept);
      return ratio == null ? null : Terminal.ratio(ratio);
    }

    @Override
    public boolean isMet(Kept kept) {
      @Nullable Double ratio = ratio(kept);
      return ratio != null && ratio >= min;
    }

    private @Nullable Double ratio(Kept kept) {
      @Nullable Result own = kept.result(scenario, candidate);
      @Nullable Result other = kept.result(scenario, base);
      return own == null || other == null || own.fault() != null || other.fault() != null
          ? null
          : own.of(scenario, other);
    }
  }

  /**
   * A target for a figure that must not exceed a limit.
   *
   * @param max the limit
   */
  record Limit(Store store, Scenario scenario, String candidate, Figure figure, double max)
      implements Target {
    @Override
    public String wanted(Kept kept) {
      return "at most " + Terminal.text(Map.of(figure, max), figure) + " " + figure.title();
    }

    @Override
    public @Nullable String reached(Kept kept) {
      @Nullable Result own = kept.result(scenario, candidate);
      return own == null || !own.figures().containsKey(figure)
          ? null
          : Terminal.text(own.figures(), figure);
    }

    @Override
    public boolean isMet(Kept kept) {
      @Nullable Result own = kept.result(scenario, candidate);
      return own != null
          && own.fault() == null
          && own.figures().getOrDefault(figure, Double.MAX_VALUE) <= max;
    }
  }
}
