package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionTemplate;

class JdbcStoreTest {

  @Test
  void theTablesAreMadeBeforeTheFirstUse() {
    Runners.h2("made").run(context -> {
      context.getBean(LockClient.class).get("orders/1").run(lease -> {});
      assertThat(rows(context.getBean(DataSource.class), "holdfast_lock")).isPositive();
    });
  }

  @Test
  void theClientComesAfterFlywayWhichMakesTheTables() {
    Runners.h2("flyway")
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withPropertyValues("holdfast.jdbc.schema=validate")
        .run(context -> {
          assertThat(context).hasNotFailed();
          context.getBean(LockClient.class).get("orders/1").run(lease -> {});
          assertThat(rows(context.getBean(DataSource.class), "\"flyway_schema_history\""))
              .isPositive();
        });
  }

  @Test
  void aTransactionAwareDataSourceIsPassedByAndARollBackLeavesTheLockAlone() {
    Runners.h2("aware").withUserConfiguration(Proxied.class).run(context -> {
      assertThat(context).hasNotFailed();
      LockClient locks = context.getBean(LockClient.class);
      DataSource pool = context.getBean("pool", DataSource.class);
      new TransactionTemplate(new DataSourceTransactionManager(pool)).executeWithoutResult(tx -> {
        Lease unused = locks.get("inside").tryLock().orElseThrow();
        tx.setRollbackOnly();
      });
      assertThat(locks.get("inside").inspect()).isPresent();
    });
  }

  @Test
  void aPoolOfTheirOwnGivesTheLocksConnectionsWhenTheApplicationsIsExhausted() {
    Runners.h2("own")
        .withPropertyValues(
            "holdfast.jdbc.pool-size=3", "spring.datasource.hikari.maximum-pool-size=1")
        .run(context -> {
          assertThat(context).hasNotFailed();
          try (Connection last = context.getBean(DataSource.class).getConnection()) {
            context.getBean(LockClient.class).get("orders/1").run(lease -> {});
            assertThat(last.isClosed()).isFalse();
          }
        });
  }

  @Test
  void aPoolOfTheirOwnIsRefusedIfTheApplicationMakesItsDataSource() {
    Runners.plain()
        .withUserConfiguration(Two.class)
        .withPropertyValues("holdfast.store=jdbc", "holdfast.jdbc.pool-size=3")
        .run(context -> assertThat(context)
            .getFailure()
            .rootCause()
            .hasMessageContaining("the application makes its data source itself")
            .hasMessageContaining("name a data source in holdfast.jdbc.data-source"));
  }

  @Test
  void ofSeveralDataSourcesThePropertyNamesOne() {
    Runners.plain()
        .withUserConfiguration(Two.class)
        .withPropertyValues("holdfast.store=jdbc")
        .run(context -> assertThat(context)
            .getFailure()
            .rootCause()
            .hasMessageContaining("several data sources: orders, reports")
            .hasMessageContaining("set holdfast.jdbc.data-source"));

    Runners.plain()
        .withUserConfiguration(Two.class)
        .withPropertyValues("holdfast.store=jdbc", "holdfast.jdbc.data-source=reports")
        .run(context -> {
          assertThat(rows(context.getBean("reports", DataSource.class), "holdfast_lock"))
              .isPositive();
        });

    Runners.plain()
        .withUserConfiguration(Two.class)
        .withPropertyValues("holdfast.store=jdbc", "holdfast.jdbc.data-source=nobody")
        .run(context -> assertThat(context)
            .getFailure()
            .rootCause()
            .hasMessageContaining("there is no bean of that name"));
  }

  private static long rows(DataSource dataSource, String table) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
      result.next();
      return result.getLong(1);
    }
  }

  private static HikariDataSource pool(String database) {
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(Runners.url(database));
    return pool;
  }

  /** A pool behind both of Spring's proxies. */
  @Configuration(proxyBeanMethods = false)
  static class Proxied {
    @Bean(defaultCandidate = false)
    HikariDataSource pool() {
      return JdbcStoreTest.pool("aware");
    }

    @Bean
    @Primary
    DataSource proxy(
        @org.springframework.beans.factory.annotation.Qualifier("pool") DataSource pool) {
      return new TransactionAwareDataSourceProxy(new LazyConnectionDataSourceProxy(pool));
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Two {
    @Bean
    HikariDataSource orders() {
      return pool("orders");
    }

    @Bean
    HikariDataSource reports() {
      return pool("reports");
    }
  }
}
