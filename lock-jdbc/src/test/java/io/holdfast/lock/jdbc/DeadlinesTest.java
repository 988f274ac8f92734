package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DeadlinesTest {
  @Test
  void anInterruptedThreadPausesAllTheSameAndStaysInterrupted() {
    Deadline deadline = Deadlines.after(Await.PATIENCE);
    boolean unused = Deadlines.pause(deadline, 0); // So that its classes are loaded.
    Thread.currentThread().interrupt();
    long begin = System.nanoTime();
    boolean paused = Deadlines.pause(deadline, 10);
    Duration took = Duration.ofNanos(System.nanoTime() - begin);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(paused).isTrue();
    assertThat(took).isGreaterThanOrEqualTo(Duration.ofMillis(32));
  }
}
