package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.TRY_ACQUIRE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The events that Flight Recorder is told. */
class FlightTest extends EngineTest {
  @TempDir
  Path folder;

  private interface Action {
    void run() throws Exception;
  }

  private List<RecordedEvent> record(Action action) throws Exception {
    Path file = folder.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      for (String event : List.of("Acquire", "Hold", "Renewal", "Loss")) {
        recording.enable("io.holdfast.lock." + event).withoutThreshold();
      }
      recording.start();
      action.run();
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file);
    Files.delete(file);
    return events;
  }

  private static List<RecordedEvent> of(List<RecordedEvent> events, String type) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("io.holdfast.lock." + type))
        .sorted(Comparator.comparing(RecordedEvent::getEndTime))
        .toList();
  }

  @Test
  void anAcquireIsRecordedWithItsOutcomeHoweverItEnds() throws Exception {
    long[] token = new long[1];
    List<RecordedEvent> acquires = of(
        record(() -> {
          Lease lease = held("x");
          token[0] = lease.token();
          held("x").close();
          Actor<Lease> waiter = start("waiter", () -> lock("x").lock()).awaitParked();
          lease.close();
          waiter.result();
          assertThat(lock("x").tryLock()).isEmpty();
          store.failNext(TRY_ACQUIRE);
          assertThatThrownBy(() -> held("y")).isInstanceOf(LockStoreException.class);
        }),
        "Acquire");

    assertThat(acquires)
        .extracting(event -> event.getString("outcome"))
        .containsExactly("STORE", "REENTRANT", "LOCAL_HAND_OFF", "TAKEN", "LockStoreException");
    assertThat(acquires)
        .extracting(event -> event.getString("lock"))
        .containsExactly("x", "x", "x", "x", "y");
    assertThat(acquires)
        .extracting(event -> event.getLong("token"))
        .containsExactly(token[0], token[0], token[0] + 1, 0L, 0L);
    assertThat(acquires.get(2).getDuration()).isPositive();
    assertThat(acquires.get(2).getThread().getJavaName()).isEqualTo("waiter");
  }

  @Test
  void aHoldIsRecordedOnceFromTheLeaseToItsEnd() throws Exception {
    List<RecordedEvent> holds = of(
        record(() -> {
          Lease closed = held("closed");
          held("closed").close();
          closed.close();
          Lease lost = held("lost");
          store.events().lost(store.grant("lost"), LeaseLoss.Reason.TAKEN);
          assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);
          settle(); // The rest of a loss is done, and recorded, by a thread of the client.
        }),
        "Hold");

    assertThat(holds)
        .extracting(event -> event.getString("lock"))
        .containsExactly("closed", "lost");
    assertThat(holds)
        .extracting(event -> event.getBoolean("released"))
        .containsExactly(true, false);
    assertThat(holds).allMatch(event -> !event.getDuration().isNegative());
  }

  @Test
  void renewalsAndLossesAreRecorded() throws Exception {
    List<RecordedEvent> events = record(() -> {
      Lease kept = held("kept");
      Lease lost = held("lost");
      assertThat(others("lost").forceRelease(lost.token())).isTrue();
      pass(AT_RENEWAL);
      assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);
      kept.close();
    });

    RecordedEvent renewal = of(events, "Renewal").get(0);
    assertThat(renewal.getInt("leases")).isEqualTo(2);
    assertThat(renewal.getInt("confirmed")).isOne();
    assertThat(renewal.getInt("lost")).isOne();
    assertThat(renewal.getInt("unanswered")).isZero();
    RecordedEvent loss = of(events, "Loss").get(0);
    assertThat(loss.getString("lock")).isEqualTo("lost");
    assertThat(loss.getString("reason")).isEqualTo("TAKEN");
    assertThat(of(events, "Loss")).hasSize(1);
  }

  @Test
  void aRecordingThatBeginsDuringAHoldDoesNotDisturbIt() throws Exception {
    Lease lease = held("x");
    List<RecordedEvent> events = record(lease::close);

    assertThat(of(events, "Hold")).hasSizeLessThanOrEqualTo(1);
    assertThat(of(events, "Hold")).allMatch(event -> event.getDuration().toMinutes() < 5);
  }

  @Test
  void nothingIsRecordedThatNobodyAskedFor() throws Exception {
    Path file = folder.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      recording.disable("io.holdfast.lock.Acquire");
      recording.start();
      held("x").close();
      recording.stop();
      recording.dump(file);
    }

    assertThat(of(RecordingFile.readAllEvents(file), "Acquire")).isEmpty();
  }
}
