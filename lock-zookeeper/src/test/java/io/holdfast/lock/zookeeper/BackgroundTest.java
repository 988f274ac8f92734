package io.holdfast.lock.zookeeper;

import io.holdfast.lock.testsupport.Await;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BackgroundTest {
  @Test
  void itGoesOnThoughNotEvenALineOfTheLogCanBeMadeAndItsThreadIsInterrupted() throws Exception {
    AtomicInteger rounds = new AtomicInteger();
    Background background = new Background("test");
    try {
      background.start(
          () -> {
            throw new IllegalStateException() {
              @Override
              public String getMessage() {
                throw new OutOfMemoryError("made up");
              }
            };
          },
          () -> {
            rounds.incrementAndGet();
            Thread.currentThread().interrupt();
          });
      Await.until("it goes on", () -> rounds.get() > 2);
    } finally {
      background.end();
    }
  }
}
