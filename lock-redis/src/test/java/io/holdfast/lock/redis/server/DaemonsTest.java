package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.testsupport.Await;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pools of daemon threads. */
class DaemonsTest {
  private static final int THREADS = 3;

  private final ThreadPoolExecutor pool = Daemons.pool("daemons-test", THREADS);
  private final CountDownLatch end = new CountDownLatch(1);

  @AfterEach
  void end() {
    end.countDown();
    pool.shutdownNow();
  }

  @Test
  void oneTaskAfterTheOtherIsDoneByOneThread() throws Exception {
    Set<Thread> threads = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      Thread thread =
          pool.submit(Thread::currentThread).get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      threads.add(thread);
      Await.until("it is idle again", () -> thread.getState() == Thread.State.TIMED_WAITING);
    }
    assertThat(threads).hasSize(1).allMatch(Thread::isDaemon);
  }

  @Test
  void tasksAtOnceHaveAThreadEachAndTheRestIsQueued() {
    for (int i = 0; i < 3 * THREADS; i++) {
      pool.execute(this::awaitEnd);
    }
    Await.until("all threads work", () -> pool.getActiveCount() == THREADS);
    assertThat(pool.getQueue()).hasSize(2 * THREADS);

    end.countDown();
    Await.until("all is done", () -> pool.getCompletedTaskCount() == 3 * THREADS);
    assertThat(pool.getLargestPoolSize()).isEqualTo(THREADS);
  }

  @Test
  void whatIsQueuedIsDoneAfterAShutdownAndNothingElse() throws Exception {
    for (int i = 0; i < 2 * THREADS; i++) {
      pool.execute(this::awaitEnd);
    }
    pool.shutdown();
    assertThatExceptionOfType(RejectedExecutionException.class)
        .isThrownBy(() -> pool.execute(() -> {}));

    end.countDown();
    assertThat(pool.awaitTermination(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .isTrue();
    assertThat(pool.getCompletedTaskCount()).isEqualTo(2 * THREADS);
  }

  private void awaitEnd() {
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // The test is over.
    }
  }
}
