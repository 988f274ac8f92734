package io.holdfast.lock.micrometer;

import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/** A call that waits for a lock. */
record Wait(Observation span, LongTaskTimer.Sample waiting) {
  void end(Outcome outcome, @Nullable Throwable failure) {
    long unused = waiting.stop();
    Spans.end(span, outcome, failure);
  }
}
