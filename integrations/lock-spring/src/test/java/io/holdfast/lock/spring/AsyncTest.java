package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.testsupport.Await;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.aop.interceptor.AsyncUncaughtExceptionHandler;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.AsyncConfigurer;
import org.springframework.scheduling.annotation.EnableAsync;

/** Spring's {@code @Async} and {@link Locked} on one method: the lock is the other thread's. */
class AsyncTest {

  @Test
  void theOtherThreadHoldsTheLockWhileTheMethodRuns() throws Exception {
    try (App app = App.start(AsyncOn.class, Reports.class)) {
      Reports reports = app.get(Reports.class);

      reports.build();

      String thread = reports.threads().poll(30, TimeUnit.SECONDS);
      assertThat(thread).isNotNull().isNotEqualTo(Thread.currentThread().getName());
      assertThat(app.isFree("report")).isFalse();
      reports.end();
      Await.until("the lock is free", () -> app.isFree("report"));
    }
  }

  @Test
  void theOtherThreadWaitsForTheLockAndTheCallerDoesNot() throws Exception {
    try (App app = App.start(AsyncOn.class, Reports.class)) {
      Reports reports = app.get(Reports.class);
      reports.end();
      try (Lease taken = app.others.get("report").tryLock().orElseThrow()) {
        reports.build();

        Await.until(
            "somebody waits",
            () -> app.others.list("report", 1).get(0).waiting().orElse(0) > 0);
        assertThat(reports.threads()).isEmpty();
        taken.verify();
      }
      assertThat(reports.threads().poll(30, TimeUnit.SECONDS)).isNotNull();
    }
  }

  @Test
  void whatEndsAStageThatIsBusyIsToldByTheStage() {
    try (App app = App.start(AsyncOn.class, Reports.class);
        Lease taken = app.others.get("stage").tryLock().orElseThrow()) {
      assertThat(app.get(Reports.class).stage())
          .failsWithin(30, TimeUnit.SECONDS)
          .withThrowableThat()
          .havingRootCause()
          .isInstanceOf(LockTimeoutException.class);
      assertThat(taken.isHeld()).isTrue();
    }
  }

  @Test
  void whatEndsACallWithoutAResultIsToldToTheHandlerOfUncaughtExceptions() throws Exception {
    try (App app = App.start(AsyncOn.class, Reports.class);
        Lease taken = app.others.get("busy").tryLock().orElseThrow()) {
      app.get(Reports.class).busy();

      assertThat(app.get(AsyncOn.class).uncaught.poll(30, TimeUnit.SECONDS))
          .isInstanceOf(LockTimeoutException.class);
      assertThat(taken.isHeld()).isTrue();
    }
  }

  static class Reports {
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final BlockingQueue<String> threads = new LinkedBlockingQueue<>();

    public BlockingQueue<String> threads() {
      return threads;
    }

    public void end() {
      mayEnd.countDown();
    }

    @Async
    @Locked(name = "report", waitFor = "30s")
    public void build() throws InterruptedException {
      threads.add(Thread.currentThread().getName());
      assertThat(mayEnd.await(30, TimeUnit.SECONDS)).isTrue();
    }

    @Async
    @Locked("stage")
    public CompletableFuture<String> stage() {
      return CompletableFuture.completedFuture("done");
    }

    @Async
    @Locked("busy")
    public void busy() {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAsync
  static class AsyncOn implements AsyncConfigurer {
    final BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();

    @Override
    public AsyncUncaughtExceptionHandler getAsyncUncaughtExceptionHandler() {
      return (failure, method, arguments) -> uncaught.add(failure);
    }
  }
}
