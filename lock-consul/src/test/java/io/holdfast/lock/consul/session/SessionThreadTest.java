package io.holdfast.lock.consul.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SessionThreadTest {

  @Test
  void theTicksGoOnThoughNotEvenALineOfTheLogCanBeMade() throws Exception {
    AtomicInteger ticks = new AtomicInteger();
    try (SessionThread thread = new SessionThread("test")) {
      thread.start(() -> {
        ticks.incrementAndGet();
        throw new IllegalStateException() {
          @Override
          public String getMessage() {
            throw new OutOfMemoryError("made up");
          }
        };
      });
      Await.until("it ticks again", () -> ticks.get() > 2);
    }
  }

  @Test
  void aTaskForLaterRunsOnceAndNotBeforeItsTime() throws Exception {
    AtomicInteger ticks = new AtomicInteger();
    AtomicInteger runs = new AtomicInteger();
    long delayNanos = TimeUnit.MILLISECONDS.toNanos(500);
    AtomicLong ranNanos = new AtomicLong();
    try (SessionThread thread = new SessionThread("test")) {
      thread.start(ticks::incrementAndGet);
      long askedNanos = System.nanoTime();
      thread.runLater(delayNanos, () -> {
        ranNanos.set(System.nanoTime());
        runs.incrementAndGet();
      });
      Await.until("it has run", () -> runs.get() > 0);
      int then = ticks.get();
      Await.until("it ticks again", () -> ticks.get() > then + 1);
      assertThat(runs).hasValue(1);
      assertThat(ranNanos.get() - askedNanos).isGreaterThanOrEqualTo(delayNanos);
    }
  }
}
