package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.testsupport.Await;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** Two Spring applications with the same scheduled task, on one database. */
class ScheduledApplicationsTest {
  private static final int TURNS = 3;

  @Test
  void aTaskThatTwoApplicationsScheduleRunsOnce() {
    AtomicInteger sent = new AtomicInteger();
    Turns first = new Turns();
    Turns second = new Turns();
    try (HikariDataSource pool = TestStore.h2Pool("scheduled");
        LockClient table = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        AnnotationConfigApplicationContext one = application(pool, sent, first);
        AnnotationConfigApplicationContext two = application(pool, sent, second)) {
      assertThat(one.isRunning() && two.isRunning()).isTrue();
      Await.until(
          "both have had several turns", () -> first.get() >= TURNS && second.get() >= TURNS);

      assertThat(sent).hasValue(1);
      assertThat(table.get("nightly-report").inspect().orElseThrow().isReleased())
          .as("the task is done, and lockAtLeastFor keeps its lock")
          .isTrue();
    }
  }

  private static AnnotationConfigApplicationContext application(
      DataSource pool, AtomicInteger sent, Turns turns) {
    AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
    application
        .getEnvironment()
        .getPropertySources()
        .addFirst(new MapPropertySource("test", Map.of("report.cron", "* * * * * *")));
    application.registerBean(DataSource.class, () -> pool, bean -> bean.setDestroyMethodName(""));
    application.registerBean(LockListener.class, () -> turns);
    application.registerBean(AtomicInteger.class, () -> sent);
    application.register(Listening.class, Reports.class);
    application.refresh();
    return application;
  }

  /** Counts how often an application has asked for a lock. */
  private static final class Turns implements LockListener {
    private final AtomicInteger count = new AtomicInteger();

    int get() {
      return count.get();
    }

    @Override
    public void acquired(Acquired event) {
      count.incrementAndGet();
    }

    @Override
    public void notAcquired(NotAcquired event) {
      count.incrementAndGet();
    }
  }

  // tag::shedlock[]
  @Configuration
  @EnableScheduling
  @EnableSchedulerLock(defaultLockAtMostFor = "PT10M")
  static class Scheduling {
    @Bean // closed by Spring
    LockClient locks(DataSource dataSource) {
      return JdbcLocks.builder(dataSource).schema(SchemaMode.CREATE).build();
    }

    @Bean
    LockProvider lockProvider(LockClient locks) {
      return new HoldfastLockProvider(locks);
    }
  }

  // end::shedlock[]

  /** The same, with a listener. */
  @Configuration
  static class Listening extends Scheduling {
    private final LockListener listener;

    Listening(LockListener listener) {
      this.listener = listener;
    }

    @Bean
    @Override
    LockClient locks(DataSource dataSource) {
      return JdbcLocks.builder(dataSource).addListener(listener).build();
    }
  }

  static class Reports {
    private final AtomicInteger sent;

    Reports(AtomicInteger sent) {
      this.sent = sent;
    }

    // tag::shedlock-task[]
    @Scheduled(cron = "${report.cron}")
    @SchedulerLock(name = "nightly-report", lockAtMostFor = "PT30M", lockAtLeastFor = "PT1M")
    public void send() {
      LockAssert.assertLocked();
      report();
    }

    // end::shedlock-task[]

    private void report() {
      sent.incrementAndGet();
    }
  }
}
