package io.holdfast.lock.micrometer;

import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.observation.Observation;
import java.time.Duration;

/** A lease that is not over yet. */
final class OpenLease {
  private final GroupMeters meters;
  private final Observation span;
  private final LongTaskTimer.Sample held;
  private final long sinceNanos = System.nanoTime();

  OpenLease(GroupMeters meters, Observation span) {
    this.meters = meters;
    this.span = span;
    this.held = meters.startHeld();
  }

  void lost() {
    end(Outcome.LOST, Duration.ofNanos(System.nanoTime() - sinceNanos));
  }

  void end(Outcome outcome, Duration lasted) {
    long unused = held.stop();
    meters.ended(outcome, lasted);
    Spans.end(span, outcome, null);
  }

  void note(String event) {
    span.event(Observation.Event.of(event));
  }
}
