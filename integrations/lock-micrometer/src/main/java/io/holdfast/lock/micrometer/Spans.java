package io.holdfast.lock.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/** Starts and ends the observations of waits and leases. */
final class Spans {
  private final ObservationRegistry registry;
  private final String client;
  private final String store;

  Spans(ObservationRegistry registry, String client, String store) {
    this.registry = registry;
    this.client = client;
    this.store = store;
  }

  Observation startWait(String group, String lockName) {
    return observation("holdfast.lock.wait", "wait for lock", group, lockName).start();
  }

  Observation startLease(String group, String lockName, long token) {
    return observation("holdfast.lock.lease", "hold lock", group, lockName)
        .highCardinalityKeyValue("lock.token", Long.toString(token))
        .start();
  }

  private Observation observation(String name, String spanName, String group, String lockName) {
    return Observation.createNotStarted(name, registry)
        .contextualName(spanName)
        .lowCardinalityKeyValue("client", client)
        .lowCardinalityKeyValue("store", store)
        .lowCardinalityKeyValue("group", group)
        .highCardinalityKeyValue("lock.name", lockName);
  }

  static void end(Observation observation, Outcome outcome, @Nullable Throwable failure) {
    observation.lowCardinalityKeyValue("outcome", outcome.tag());
    if (failure != null) {
      observation.error(failure);
    }
    observation.stop();
  }
}
