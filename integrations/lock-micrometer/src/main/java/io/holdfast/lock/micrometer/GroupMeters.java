package io.holdfast.lock.micrometer;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * The meters of one group of names in one mode. All are registered together, so that every series
 * begins at zero: the first increase of a series that begins later is seen by no query.
 */
final class GroupMeters {
  private final Tags tags;
  private final Map<LockListener.Source, Timer> acquired = new EnumMap<>(LockListener.Source.class);
  private final Map<Outcome, Timer> notAcquired = new EnumMap<>(Outcome.class);
  private final Map<Outcome, Timer> holds = new EnumMap<>(Outcome.class);
  private final Map<LeaseLoss.Reason, Counter> lost = new EnumMap<>(LeaseLoss.Reason.class);
  private final LongTaskTimer held;
  private final LongTaskTimer waiting;
  private final Counter uncertain;
  private final Counter leaked;
  private final Counter renewals;

  GroupMeters(MeterRegistry registry, String group, LockListener.Mode mode, Tags ofClient) {
    tags = ofClient.and("group", group, "mode", tag(mode));
    for (LockListener.Source source : LockListener.Source.values()) {
      acquired.put(source, acquire(registry, tags, Outcome.ACQUIRED, tag(source)));
    }
    for (Outcome outcome : List.of(
        Outcome.TAKEN, Outcome.INTERRUPTED, Outcome.CLOSED, Outcome.REFUSED, Outcome.FAILED)) {
      notAcquired.put(outcome, acquire(registry, tags, outcome, "none"));
    }
    for (Outcome outcome : List.of(Outcome.RELEASED, Outcome.UNCONFIRMED, Outcome.LOST)) {
      holds.put(
          outcome,
          Timer.builder("holdfast.lock.hold")
              .description("Leases that are over, from the acquisition to the end")
              .tags(tags.and("outcome", outcome.tag()))
              .register(registry));
    }
    for (LeaseLoss.Reason reason : LeaseLoss.Reason.values()) {
      lost.put(
          reason,
          Counter.builder("holdfast.lock.lost")
              .description("Leases that were lost")
              .tags(tags.and("reason", tag(reason)))
              .register(registry));
    }
    held = LongTaskTimer.builder("holdfast.lock.held")
        .description("Leases that are open now")
        .tags(tags)
        .register(registry);
    waiting = LongTaskTimer.builder("holdfast.lock.waiting")
        .description("Calls that wait for a lock now")
        .tags(tags)
        .register(registry);
    uncertain = counter(registry, tags, "uncertain", "Leases that became uncertain");
    leaked = counter(registry, tags, "leaked", "Leases that nobody can close any more");
    renewals = counter(registry, tags, "renewals", "Renewals and extensions of leases");
  }

  private static Timer acquire(MeterRegistry registry, Tags tags, Outcome outcome, String source) {
    return Timer.builder("holdfast.lock.acquire")
        .description("Calls that want a lock, from the call to its outcome")
        .tags(tags.and("outcome", outcome.tag(), "source", source))
        .register(registry);
  }

  private static Counter counter(
      MeterRegistry registry, Tags tags, String name, String description) {
    return Counter.builder("holdfast.lock." + name)
        .description(description)
        .tags(tags)
        .register(registry);
  }

  private static String tag(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** Returns the tags that all of them have. */
  Tags tags() {
    return tags;
  }

  void acquired(LockListener.Source source, Duration waited) {
    Objects.requireNonNull(acquired.get(source)).record(waited);
  }

  void notAcquired(Outcome outcome, Duration waited) {
    Objects.requireNonNull(notAcquired.get(outcome)).record(waited);
  }

  LongTaskTimer.Sample startWaiting() {
    return waiting.start();
  }

  LongTaskTimer.Sample startHeld() {
    return held.start();
  }

  void ended(Outcome outcome, Duration lasted) {
    Objects.requireNonNull(holds.get(outcome)).record(lasted);
  }

  void lost(LeaseLoss.Reason reason) {
    Objects.requireNonNull(lost.get(reason)).increment();
  }

  void uncertain() {
    uncertain.increment();
  }

  void leaked() {
    leaked.increment();
  }

  void renewed() {
    renewals.increment();
  }
}
