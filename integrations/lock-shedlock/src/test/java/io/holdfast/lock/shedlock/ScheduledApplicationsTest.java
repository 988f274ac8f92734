package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.testsupport.Await;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanPostProcessor;
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
    AtomicInteger first = new AtomicInteger();
    AtomicInteger second = new AtomicInteger();
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
      DataSource pool, AtomicInteger sent, AtomicInteger turns) {
    AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
    application
        .getEnvironment()
        .getPropertySources()
        .addFirst(new MapPropertySource("test", Map.of("report.cron", "* * * * * *")));
    application.registerBean(DataSource.class, () -> pool, bean -> bean.setDestroyMethodName(""));
    application.registerBean(AtomicInteger.class, () -> sent);
    application.getBeanFactory().addBeanPostProcessor(new Hearing(got -> turns.incrementAndGet()));
    application.register(Scheduling.class, Reports.class);
    application.refresh();
    return application;
  }

  /** Hears of each call of an application's provider whether it has got the lock. */
  record Hearing(Consumer<Boolean> hears) implements BeanPostProcessor {
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      return bean instanceof LockProvider provider
          ? (LockProvider) asked -> lock(provider, asked)
          : bean;
    }

    private Optional<SimpleLock> lock(LockProvider provider, LockConfiguration asked) {
      Optional<SimpleLock> lock = provider.lock(asked);
      hears.accept(lock.isPresent());
      return lock;
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
