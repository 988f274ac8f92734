package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockClient;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration;

class LiquibaseTest {

  @Test
  void theClientComesAfterLiquibaseWhichMakesTheTables() {
    Runners.h2("liquibase")
        .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
        .withPropertyValues(
            "holdfast.jdbc.schema=validate",
            "spring.liquibase.change-log=classpath:db/changelog.yaml")
        .run(context -> {
          assertThat(context).hasNotFailed();
          context.getBean(LockClient.class).get("orders/1").run(lease -> {});
        });
  }
}
