package io.holdfast.lock.micrometer;

import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/** Starts and ends the observations of waits and leases. */
final class Spans {
  private final ObservationRegistry registry;

  Spans(ObservationRegistry registry) {
    this.registry = registry;
  }

  Observation startWait(Tags tags, String lockName) {
    return observation("holdfast.lock.wait", "wait for lock", tags, lockName).start();
  }

  Observation startLease(Tags tags, String lockName, long token) {
    return observation("holdfast.lock.lease", "hold lock", tags, lockName)
        .highCardinalityKeyValue("lock.token", Long.toString(token))
        .start();
  }

  private Observation observation(String name, String spanName, Tags tags, String lockName) {
    Observation observation = Observation.createNotStarted(name, registry)
        .contextualName(spanName)
        .highCardinalityKeyValue("lock.name", lockName);
    for (Tag tag : tags) {
      observation.lowCardinalityKeyValue(tag.getKey(), tag.getValue());
    }
    return observation;
  }

  static void end(Observation observation, Outcome outcome, @Nullable Throwable failure) {
    observation.lowCardinalityKeyValue("outcome", outcome.tag());
    if (failure != null) {
      observation.error(failure);
    }
    observation.stop();
  }
}
