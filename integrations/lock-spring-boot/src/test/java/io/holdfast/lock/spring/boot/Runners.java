package io.holdfast.lock.spring.boot;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Application contexts with Holdfast's auto-configuration. */
final class Runners {
  private Runners() {}

  static ApplicationContextRunner plain() {
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            LockAutoConfiguration.class,
            LockMetricsAutoConfiguration.class,
            LockHealthAutoConfiguration.class,
            LocksEndpointAutoConfiguration.class,
            LockedAutoConfiguration.class,
            LocksOffAutoConfiguration.class));
  }

  /** Returns a runner with locks in the memory of this JVM. */
  static ApplicationContextRunner inMemory() {
    return plain().withPropertyValues("holdfast.store=memory");
  }

  /** Returns a runner with locks in an H2 database of this name, by a pool of Spring Boot. */
  static ApplicationContextRunner h2(String database) {
    return plain()
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues("holdfast.store=jdbc", "spring.datasource.url=" + url(database));
  }

  static String url(String database) {
    return "jdbc:h2:mem:" + database + ";DB_CLOSE_DELAY=-1";
  }
}
