package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spring.EnableHoldfastLocks;
import io.holdfast.lock.spring.HoldfastLocksConfiguration;
import io.holdfast.lock.testsupport.Await;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Parts that are not on the class path are not missed; those that are there are used. */
class ClassPathTest {

  @Test
  void withoutActuatorAndHealthItStarts() {
    without(
            Runners.inMemory(),
            "org.springframework.boot.actuate",
            "org.springframework.boot.health")
        .run(context -> {
          givesALock(context);
          assertThat(context)
              .doesNotHaveBean("locksHealthIndicator")
              .doesNotHaveBean("locksEndpoint");
        });
  }

  @Test
  void withoutMicrometerItStarts() {
    without(Runners.inMemory(), "io.micrometer", "io.holdfast.lock.micrometer").run(context -> {
      givesALock(context);
      assertThat(context).doesNotHaveBean("lockMetrics");
    });
  }

  @Test
  void withoutAnyStoreButJdbcItTakesThat() {
    without(
            Runners.h2("only").withPropertyValues("holdfast.store="),
            "io.holdfast.lock.redis",
            "redis.clients",
            "org.springframework.data.redis",
            "org.springframework.boot.data.redis",
            "io.holdfast.lock.zookeeper",
            "org.apache.curator",
            "io.holdfast.lock.consul",
            "okhttp3")
        .run(context -> {
          givesALock(context);
          assertThat(context).hasSingleBean(JdbcSource.class);
        });
  }

  @Test
  void withoutJdbcItStarts() {
    without(
            Runners.inMemory(),
            "io.holdfast.lock.jdbc",
            "org.springframework.jdbc",
            "org.springframework.boot.jdbc",
            "org.springframework.boot.sql",
            "com.zaxxer",
            "org.h2",
            "org.postgresql")
        .run(ClassPathTest::givesALock);
  }

  @Test
  void withoutLockSpringItStarts() {
    Runners.inMemory()
        .withClassLoader(new FilteredClassLoader(EnableHoldfastLocks.class))
        .run(context -> {
          givesALock(context);
          assertThat(context).doesNotHaveBean(HoldfastLocksConfiguration.class);
        });
  }

  @Test
  void withAllOfItThereAreHealthMetersAndAnEndpoint() {
    Runners.inMemory()
        .withConfiguration(AutoConfigurations.of(EndpointAutoConfiguration.class))
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withBean(LockGroup.class, () -> name -> name.substring(0, name.indexOf('/')))
        .withPropertyValues(
            "management.endpoints.web.exposure.include=locks", "spring.application.name=shop")
        .run(context -> {
          givesALock(context);
          assertThat(context).hasBean("locksHealthIndicator").hasSingleBean(LocksEndpoint.class);
          MeterRegistry registry = context.getBean(MeterRegistry.class);
          Timer timer = registry
              .get("holdfast.lock.hold")
              .tags("client", "shop", "store", "memory", "group", "orders", "outcome", "released")
              .timer();
          // A thread of the client reports the events.
          Await.until("it is counted", () -> timer.count() > 0);
        });
  }

  private static ApplicationContextRunner without(
      ApplicationContextRunner runner, String... packages) {
    return runner.withClassLoader(new FilteredClassLoader(packages));
  }

  private static void givesALock(AssertableApplicationContext context) {
    assertThat(context).hasNotFailed();
    try (Lease lease =
        context.getBean(LockClient.class).get("orders/1").tryLock().orElseThrow()) {
      assertThat(lease.isHeld()).isTrue();
    }
  }
}
