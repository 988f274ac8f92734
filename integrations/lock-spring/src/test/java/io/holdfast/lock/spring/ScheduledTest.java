package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.testsupport.Logged;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;

/** Spring's {@code @Scheduled} and {@link Locked} on one method. */
class ScheduledTest {

  @Test
  void aJobThatThrowsIfAnotherMachineRunsItIsWarnedOfAtTheStart() throws Exception {
    assertThat(Logged.during(() -> App.start(Throws.class, ThrowsToo.class).close()))
        .contains("Throws.run() is @Scheduled", "whenBusy = WhenBusy.SKIP")
        .contains("ThrowsToo.run() is @Scheduled");
  }

  @Test
  void aJobThatSkipsOrWaitsOrIsHandledIsNotWarnedOf() throws Exception {
    assertThat(Logged.during(
            () -> App.start(Skips.class, Waits.class, IsHandled.class, Nothing.class, NoJob.class)
                .close()))
        .doesNotContain("@Scheduled");
  }

  @Test
  void aJobThatSkipsSaysNothingWhileAnotherMachineRunsIt() throws Exception {
    String log;
    try (App app = App.start(Scheduling.class, Nothing.class, Skips.class, Other.class);
        Lease taken = app.others.get("job").lock()) {
      log = Logged.during(app.get(Other.class)::await);
      assertThat(taken.isHeld()).isTrue();
    }
    assertThat(log).doesNotContain("ERROR");
  }

  static class Throws {
    @Scheduled(cron = "0 0 3 * * *")
    @Locked("job")
    public void run() {}
  }

  static class ThrowsToo {
    @Schedules({@Scheduled(cron = "0 0 3 * * *"), @Scheduled(cron = "0 0 4 * * *")})
    @Locked("job")
    public void run() {}
  }

  static class Skips {
    @Scheduled(fixedDelay = 5)
    @Locked(name = "job", whenBusy = WhenBusy.SKIP)
    public void run() {}
  }

  static class Waits {
    @Scheduled(cron = "0 0 3 * * *")
    @Locked(name = "job", waitFor = "10s")
    public void run() {}
  }

  static class IsHandled {
    @Scheduled(cron = "0 0 3 * * *")
    @Locked(name = "job", busyHandler = Nothing.class)
    public void run() {}
  }

  static class Nothing implements BusyHandler {
    @Override
    public Object onBusy(BusyCall call) {
      return null;
    }
  }

  static class NoJob {
    @Locked("job")
    public void run() {}
  }

  /** A job without a lock, which runs some times. */
  static class Other {
    private final CountDownLatch runs = new CountDownLatch(50);

    @Scheduled(fixedDelay = 5)
    public void run() {
      runs.countDown();
    }

    void await() throws InterruptedException {
      assertThat(runs.await(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableScheduling
  static class Scheduling {}
}
