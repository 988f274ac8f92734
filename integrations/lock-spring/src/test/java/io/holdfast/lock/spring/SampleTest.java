package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.Assert;

/** The samples of docs/integrations/spring.md. */
class SampleTest {

  @Test
  void theSampleShips() {
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Application.class, Rest.class)) {
      JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
      jdbc.execute("CREATE TABLE shipped (id BIGINT)");
      Shop shop = context.getBean(Shop.class);
      shop.ship(42);
      shop.report();
      assertThat(jdbc.queryForList("SELECT id FROM shipped", Long.class)).containsExactly(42L);
      try (LockClient others = Database.locks(context.getBean(DataSource.class), "others");
          Lease taken = others.get("orders/43").tryLock().orElseThrow()) {
        assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(() -> shop.ship(43));
        assertThat(taken.isHeld()).isTrue();
        // The report was made just now, on this or on another machine.
        shop.report();
      }
      assertThat(shop.reports()).isEqualTo(1);
    }
  }

  @Test
  void theSampleRunsOnlyUnderItsLock() {
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Application.class, Rest.class)) {
      Packing packing = context.getBean(Packing.class);
      packing.pack(42);
      assertThatIllegalStateException().isThrownBy(packing::packAll);
      Packing noBean = new Packing(context.getBean(LockClient.class));
      assertThatIllegalStateException().isThrownBy(() -> noBean.pack(42));
    }
  }

  // tag::spring-configuration[]
  @Configuration(proxyBeanMethods = false)
  @EnableHoldfastLocks
  @EnableTransactionManagement
  static class Application {
    @Bean
    LockClient locks(DataSource dataSource) {
      return JdbcLocks.builder(dataSource).schema(SchemaMode.CREATE).build();
    }
  }
  // end::spring-configuration[]

  @Configuration(proxyBeanMethods = false)
  static class Rest {
    @Bean
    DataSource dataSource() {
      return new Database("jdbc:h2:mem:" + UUID.randomUUID(), "sa", "").pool();
    }

    @Bean
    DataSourceTransactionManager transactionManager(DataSource dataSource) {
      return new DataSourceTransactionManager(dataSource);
    }

    @Bean
    JdbcTemplate jdbcTemplate(DataSource dataSource) {
      return new JdbcTemplate(dataSource);
    }

    @Bean
    Packing packing(LockClient locks) {
      return new Packing(locks);
    }

    @Bean
    Shop shop(JdbcTemplate jdbc) {
      return new Shop(jdbc);
    }
  }

  static class Packing {
    private final LockClient locks;

    Packing(LockClient locks) {
      this.locks = locks;
    }

    void packAll() {
      pack(42);
    }

    // tag::spring-held[]
    @Locked("orders/#{#id}")
    public void pack(long id) {
      Assert.state(locks.get("orders/" + id).isHeldByCurrentThread(), "pack() needs its lock");
    }
    // end::spring-held[]
  }

  static class Shop {
    private final JdbcTemplate jdbc;
    private int reports;

    Shop(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    int reports() {
      return reports;
    }

    // tag::spring-methods[]
    @Locked(name = "orders/#{#id}", waitFor = "${shop.wait:500ms}", guard = true)
    @Transactional
    public void ship(long id) {
      jdbc.update("INSERT INTO shipped VALUES (?)", id);
    }

    @Locked(name = "nightly-report", whenBusy = WhenBusy.SKIP, minHold = "5m")
    public void report() {
      reports++;
    }
    // end::spring-methods[]
  }
}
