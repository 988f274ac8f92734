package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Meters, and optionally observations, of the locks of one client. Pass it to
 * {@link LockClientBuilder#addListener} of that client.
 *
 * <p>All meters have the tags {@code client}, {@code store}, {@code group} and {@code mode}
 * ({@code exclusive}, {@code read} or {@code permit}):
 *
 * <ul>
 *   <li>{@code holdfast.lock.acquire}: a timer of all calls that want a lock, from the call to its
 *       {@code outcome} ({@code acquired}, {@code taken}, {@code interrupted}, {@code closed},
 *       {@code refused} for misuse, or {@code failed}). Its {@code source} says where a lease came
 *       from: {@code store}, {@code shared}, {@code local_hand_off}, {@code reentrant}; or
 *       {@code none}.
 *   <li>{@code holdfast.lock.hold}: a timer of all leases that are over, from the acquisition to
 *       the {@code outcome}: {@code released}, {@code unconfirmed} (closed, but the store did not
 *       answer) or {@code lost}. Nested acquisitions are not counted.
 *   <li>{@code holdfast.lock.held}, {@code holdfast.lock.waiting}: long task timers, which are
 *       gauges of how many leases there are now, how many calls wait now, and for how long.
 *   <li>{@code holdfast.lock.lost}: a counter with the tag {@code reason}.
 *   <li>{@code holdfast.lock.uncertain}, {@code holdfast.lock.leaked},
 *       {@code holdfast.lock.renewals}: counters.
 * </ul>
 *
 * <p>A lock's name is never a tag, since each name would be a time series of its own. The
 * {@code group} is what a function of yours makes of the name. There are at most 100: the names
 * beyond them are in the group {@code other}, and a warning is logged.
 *
 * <p>With an {@link Builder#observations observation registry}, each call that has to wait is an
 * observation {@code holdfast.lock.wait}, which starts when the wait begins, and each lease is an
 * observation {@code holdfast.lock.lease}. Their parent is the observation that is current on the
 * calling thread. They have the four tags and {@code outcome} as keys of low cardinality, and the
 * name and the token, {@code lock.name} and {@code lock.token}, as keys of high cardinality: for
 * spans, not for meters.
 *
 * <p>Clients with the same {@code client} and {@code store} in one registry are counted together.
 * If the client drops events (see {@link LockListener}), they are missing from the counters, and
 * {@code held} may stay too high.
 *
 * <p>Threads: safe for use by any number of clients and threads.
 */
public final class LockMetrics implements LockListener {
  private final Groups groups;
  private final Spans spans;

  /** The wait of each thread that waits. */
  private final Map<Thread, Wait> waits = new ConcurrentHashMap<>();

  private final OpenLeases leases = new OpenLeases();

  private LockMetrics(Builder builder) {
    groups = new Groups(builder.registry, builder.client, builder.store, builder.group);
    spans = new Spans(builder.observations);
  }

  /**
   * Returns a builder of a listener that writes to a registry.
   *
   * @param client the tag {@code client}: usually the name that the client was built with
   * @param store the tag {@code store}: the kind of store, or which of them; for example
   *     {@code postgresql}
   * @throws IllegalArgumentException one of the two is blank
   */
  public static Builder builder(MeterRegistry registry, String client, String store) {
    return new Builder(registry, client, store);
  }

  @Override
  public void waiting(LockEvent event) {
    GroupMeters meters = groups.of(event);
    Observation span = spans.startWait(meters.tags(), event.lockName());
    Wait unended = waits.put(Thread.currentThread(), new Wait(span, meters.startWaiting()));
    if (unended != null) { // The event of its end was dropped.
      unended.end(Outcome.FAILED, null);
    }
  }

  @Override
  public void acquired(Acquired event) {
    endWait(Outcome.ACQUIRED, null);
    GroupMeters meters = groups.of(event);
    meters.acquired(event.source(), event.waited());
    if (event.source() != Source.REENTRANT) {
      Observation span = spans.startLease(meters.tags(), event.lockName(), event.token());
      leases.begin(LeaseId.of(event), new OpenLease(meters, span));
    }
  }

  @Override
  public void notAcquired(NotAcquired event) {
    Throwable failure = event.failure().orElse(null);
    Outcome outcome = Outcome.of(failure);
    endWait(outcome, failure);
    groups.of(event).notAcquired(outcome, event.waited());
  }

  private void endWait(Outcome outcome, @Nullable Throwable failure) {
    Wait wait = waits.remove(Thread.currentThread());
    if (wait != null) {
      wait.end(outcome, failure);
    }
  }

  @Override
  public void released(Released event) {
    leases.released(
        LeaseId.of(event),
        event.held(),
        event.confirmed() ? Outcome.RELEASED : Outcome.UNCONFIRMED);
  }

  @Override
  public void lost(Lost event) {
    groups.of(event).lost(event.loss().reason());
    leases.lost(LeaseId.of(event));
  }

  @Override
  public void uncertain(LeaseEvent event) {
    groups.of(event).uncertain();
    leases.note(LeaseId.of(event), "uncertain");
  }

  @Override
  public void confirmed(LeaseEvent event) {
    leases.note(LeaseId.of(event), "confirmed");
  }

  @Override
  public void leaked(LeaseEvent event) {
    groups.of(event).leaked();
    leases.note(LeaseId.of(event), "leaked");
  }

  @Override
  public void renewed(LeaseEvent event) {
    groups.of(event).renewed();
  }

  /** Builds {@link LockMetrics}. Not safe for concurrent use. */
  public static final class Builder {
    private final MeterRegistry registry;
    private final String client;
    private final String store;
    private Function<? super String, String> group = name -> "all";
    private ObservationRegistry observations = ObservationRegistry.NOOP;

    private Builder(MeterRegistry registry, String client, String store) {
      this.registry = Objects.requireNonNull(registry);
      this.client = requireText(client, "client");
      this.store = requireText(store, "store");
    }

    private static String requireText(String value, String what) {
      if (value.isBlank()) {
        throw new IllegalArgumentException("The tag " + what + " must not be blank");
      }
      return value;
    }

    /**
     * Sets the function that makes the tag {@code group} of a lock's name, for example
     * {@code orders} of {@code orders/42}; by default all names are in the group {@code all}. It is
     * called for every event, so it must be quick, and must return the same for the same name. If
     * it throws, or returns null or blank text, the client logs that, and the event is not counted.
     */
    public Builder group(Function<? super String, String> groupOfName) {
      this.group = Objects.requireNonNull(groupOfName);
      return this;
    }

    /** Sets the registry that waits and leases are observed in; by default they are not. */
    public Builder observations(ObservationRegistry registry) {
      this.observations = Objects.requireNonNull(registry);
      return this;
    }

    /** Builds the listener. Meters are registered with the first event of their group and mode. */
    public LockMetrics build() {
      return new LockMetrics(this);
    }
  }
}
