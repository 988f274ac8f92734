package io.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ObservationsTest {
  private final MeterRegistry registry = new SimpleMeterRegistry();
  private final ObservationRegistry observations = ObservationRegistry.create();
  private final List<Observation.Context> started = new CopyOnWriteArrayList<>();
  private final List<Observation.Context> stopped = new CopyOnWriteArrayList<>();
  private final List<String> events = new CopyOnWriteArrayList<>();
  private final InMemoryServer server = new InMemoryServer();
  private final MovableTime time = new MovableTime();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private LockClient others;
  private LockClient client;

  @BeforeEach
  void open() {
    observations
        .observationConfig()
        .observationHandler(new Recorder())
        .observationHandler(new DefaultMeterObservationHandler(registry));
    others = InMemoryLocks.builder(server).build();
    client = InMemoryLocks.builder(server)
        .timeSource(time)
        .addListener(LockMetrics.builder(registry, "billing", "memory")
            .group(name -> "orders")
            .observations(observations)
            .build())
        .build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    others.close();
    threads.shutdownNow();
    assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  private final class Recorder implements ObservationHandler<Observation.Context> {
    @Override
    public void onStart(Observation.Context context) {
      started.add(context);
    }

    @Override
    public void onStop(Observation.Context context) {
      stopped.add(context);
    }

    @Override
    public void onEvent(Observation.Event event, Observation.Context context) {
      events.add(context.getName() + " " + event.getName());
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return true;
    }
  }

  private static String low(Observation.Context context, String key) {
    KeyValue value = context.getLowCardinalityKeyValue(key);
    return value == null ? "none" : value.getValue();
  }

  private static String high(Observation.Context context, String key) {
    KeyValue value = context.getHighCardinalityKeyValue(key);
    return value == null ? "none" : value.getValue();
  }

  @Test
  void aWaitIsObservedFromTheMomentAtWhichItBegins() throws Exception {
    Lease taken = others.get("orders/42").lock();
    Future<Lease> waiter = threads.submit(() -> client.get("orders/42").lock().detach());
    Await.until("the wait", () -> !started.isEmpty());

    Observation.Context wait = started.get(0);
    assertThat(stopped).isEmpty();
    assertThat(wait.getName()).isEqualTo("holdfast.lock.wait");
    assertThat(low(wait, "client")).isEqualTo("billing");
    assertThat(low(wait, "store")).isEqualTo("memory");
    assertThat(low(wait, "group")).isEqualTo("orders");
    assertThat(low(wait, "mode")).isEqualTo("exclusive");
    assertThat(high(wait, "lock.name")).isEqualTo("orders/42");
    taken.close();
    waiter.get().close();
    assertThat(stopped.get(0)).isSameAs(wait);
    assertThat(low(wait, "outcome")).isEqualTo("acquired");
    assertThat(started)
        .extracting(Observation.Context::getName)
        .containsExactly("holdfast.lock.wait", "holdfast.lock.lease");
  }

  @Test
  void theSampleOfTheDocumentationWorks() throws Exception {
    // tag::micrometer[]
    LockMetrics metrics = LockMetrics.builder(registry, "billing", "memory")
        .group(name -> name.substring(0, name.indexOf('/'))) // orders/42: orders
        .observations(observations)
        .build();
    LockClient locks =
        InMemoryLocks.builder().clientName("billing").addListener(metrics).build();
    // end::micrometer[]
    locks.get("orders/42").run(lease -> {});
    locks.close();

    assertThat(stopped).hasSize(1);
  }

  @Test
  void aLeaseIsObservedUntilItIsOver() throws Exception {
    Lease lease = client.get("orders/42").lock();
    long token = lease.token();
    client.get("orders/42").lock().close();
    assertThat(stopped).isEmpty();
    lease.close();

    assertThat(stopped).singleElement().satisfies(context -> {
      assertThat(context.getName()).isEqualTo("holdfast.lock.lease");
      assertThat(low(context, "outcome")).isEqualTo("released");
      assertThat(high(context, "lock.token")).isEqualTo(Long.toString(token));
    });
  }

  @Test
  void theParentIsWhatTheCallerIsAbout() throws Exception {
    Observation request = Observation.start("request", observations);
    Lease lease;
    try (Observation.Scope scope = request.openScope()) {
      assertThat(scope.getCurrentObservation()).isSameAs(request);
      lease = client.get("orders/42").lock();
    }
    lease.close();
    request.stop();

    assertThat(started.get(1).getParentObservation()).isSameAs(request);
  }

  @Test
  void anInterruptedWaitHasItsError() throws Exception {
    Lease taken = others.get("orders/42").lock();
    Future<Lease> waiter = threads.submit(() -> client.get("orders/42").lock());
    Await.until("the wait", () -> !started.isEmpty());
    waiter.cancel(true);
    Await.until("the end", () -> !stopped.isEmpty());
    taken.close();

    assertThat(stopped.get(0).getError()).isInstanceOf(InterruptedException.class);
    assertThat(low(stopped.get(0), "outcome")).isEqualTo("interrupted");
  }

  @Test
  void aDoubtAndItsEndAreEventsOfTheLease() throws Exception {
    Lease lease = client.get("orders/42").lock();
    time.jumpWall(Duration.ofHours(1));
    assertThat(lease.isHeld()).isFalse();
    Await.until("the doubt", () -> events.contains("holdfast.lock.lease uncertain"));
    lease.verify();
    Await.until("its end", () -> events.contains("holdfast.lock.lease confirmed"));
    lease.close();
  }

  @Test
  void tenThousandNamesAddNoSeriesThroughTheMetersOfObservationsEither() throws Exception {
    client.get("orders/first").lock().close();
    int before = registry.getMeters().size();
    for (int i = 0; i < 10_000; i++) {
      client.get("orders/" + i).run(lease -> {});
    }

    assertThat(registry.getMeters()).hasSize(before);
    assertThat(registry
            .get("holdfast.lock.lease")
            .tags("outcome", "released")
            .timer()
            .count())
        .isEqualTo(10_001);
  }
}
