package io.holdfast.lock.internal.task;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.simulation.Eventually;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class WorkersTest {
  private final AtomicInteger needs = new AtomicInteger();
  private final Workers workers =
      new Workers(new EngineThreads("test"), "work", 2, needs::incrementAndGet);

  @AfterEach
  void close() {
    workers.close(Duration.ofSeconds(10));
  }

  private static final class Slow extends Task {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final AtomicInteger atOnce = new AtomicInteger();
    private final AtomicInteger runs = new AtomicInteger();
    private volatile int mostAtOnce;

    @Override
    protected void work() {
      mostAtOnce = Math.max(mostAtOnce, atOnce.incrementAndGet());
      begun.countDown();
      try {
        goOn.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      runs.incrementAndGet();
      atOnce.decrementAndGet();
    }
  }

  /** A run need not have seen a submission that came after it began. */
  @Test
  void aTaskThatIsSubmittedWhileItRunsIsRunAgainAndNeverTwiceAtOnce() throws Exception {
    Slow task = new Slow();
    workers.submit(task);
    task.begun.await();
    workers.submit(task);
    workers.submit(task);
    Eventually.await(
        "the other thread to leave it to the first",
        () -> workers.threads.getCompletedTaskCount() == 2);
    task.goOn.countDown();

    Eventually.await("a run for both", () -> task.runs.get() == 2);
    assertThat(task.mostAtOnce).isOne();
    assertThat(workers.hasWaiting()).isFalse();
    assertThat(needs).hasValue(0);
  }

  @Test
  void aTaskThatFailsIsRunAgainWhenItIsSaidTo() {
    AtomicInteger runs = new AtomicInteger();
    workers.submit(new Task() {
      @Override
      protected void work() {
        if (runs.incrementAndGet() == 1) {
          throw new OutOfMemoryError("Java heap space");
        }
      }
    });
    Eventually.await("the failure", () -> needs.get() == 1);
    assertThat(workers.hasWaiting()).isTrue();
    workers.retry();

    Eventually.await("the second run", () -> runs.get() == 2);
    assertThat(workers.hasWaiting()).isFalse();
  }
}
