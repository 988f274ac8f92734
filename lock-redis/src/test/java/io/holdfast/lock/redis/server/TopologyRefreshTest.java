package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.MovableTime;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The callers and the thread of a refresh while Jedis takes its time. */
class TopologyRefreshTest {
  private static final String THREAD = "refresh-of-a-slow-cluster";
  private static final Duration LONG = Await.PATIENCE;

  private final MovableTime time = new MovableTime();
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger interrupted = new AtomicInteger();
  private final CountDownLatch answer = new CountDownLatch(1);
  private final TopologyRefresh refresh = new TopologyRefresh(this::refresh, time, THREAD);

  private void refresh() {
    begun.incrementAndGet();
    try {
      answer.await();
    } catch (InterruptedException e) {
      interrupted.incrementAndGet();
    }
  }

  @AfterEach
  void noThreadIsLeft() throws Exception {
    answer.countDown();
    refresh.close();
    Await.until("its thread ends", () -> threads() == 0);
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(THREAD))
        .count();
  }

  private boolean await(Duration most) {
    return refresh.await(Deadline.after(most, TimeSource.system()));
  }

  @Test
  void callersWaitNoLongerThanTheirDeadlinesForTheOneThatIsUnderWay() throws Exception {
    for (int i = 0; i < 20; i++) {
      assertThat(await(Duration.ofMillis(10))).isFalse();
      time.pass(Duration.ofMillis(100));
    }
    Await.until("it has begun", () -> begun.get() > 0);
    assertThat(begun).hasValue(1);
    assertThat(threads()).isEqualTo(1);
    answer.countDown();
    assertThat(await(LONG)).isTrue();
  }

  @Test
  void theNextOneBeginsHalfASecondAfterTheLastOneBegan() {
    answer.countDown();
    assertThat(await(LONG)).isTrue();
    time.pass(Duration.ofMillis(100));
    assertThat(await(LONG)).isTrue();
    assertThat(begun).hasValue(1);
    time.pass(Duration.ofMillis(500));
    assertThat(await(LONG)).isTrue();
    assertThat(begun).hasValue(2);
  }

  @Test
  void oneThatFailedIsFollowedByTheNext() throws Exception {
    AtomicInteger tries = new AtomicInteger();
    try (TopologyRefresh failing = new TopologyRefresh(
        () -> {
          if (tries.incrementAndGet() == 1) {
            throw new StackOverflowError();
          }
        },
        time,
        THREAD)) {
      assertThat(failing.await(Deadline.after(LONG, TimeSource.system()))).isFalse();
      time.pass(Duration.ofMillis(500));
      assertThat(failing.await(Deadline.after(LONG, TimeSource.system()))).isTrue();
      assertThat(tries).hasValue(2);
    }
  }

  @Test
  void anInterruptOfACallerStaysPendingAndEndsNothing() {
    Thread.currentThread().interrupt();
    assertThat(await(Duration.ofMillis(10))).isFalse();
    assertThat(Thread.interrupted()).isTrue();
    answer.countDown();
    assertThat(await(LONG)).isTrue();
    assertThat(interrupted).hasValue(0);
  }

  @Test
  void aWaitForAPoolThatTheApplicationHasExhaustedIsInterruptedAfterSomeTime() throws Exception {
    assertThat(await(Duration.ofMillis(10))).isFalse();
    time.pass(Duration.ofSeconds(11));
    assertThat(await(LONG)).isTrue();
    assertThat(interrupted).hasValue(1);
    assertThat(begun).hasValue(1);
  }

  @Test
  void afterTheCloseNoneBeginsAndOneThatWaitsIsInterrupted() throws Exception {
    assertThat(await(Duration.ofMillis(10))).isFalse();
    refresh.close();
    Await.until("interrupted", () -> interrupted.get() == 1);
    time.pass(Duration.ofSeconds(1));
    assertThat(await(LONG)).isTrue();
    assertThat(begun).hasValue(1);
  }
}
