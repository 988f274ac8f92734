package io.holdfast.lock.consul.session;

import io.holdfast.lock.testsupport.Await;
import java.util.concurrent.atomic.AtomicInteger;
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
}
