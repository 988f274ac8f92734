package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** A guard on the commits of JPA, whose writes Hibernate sends at the commit and not before. */
class JpaTest {
  private final HikariDataSource pool =
      new Database("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1", "sa", "").pool();
  private final LockClient others = Database.locks(pool, "others");
  private final AnnotationConfigApplicationContext context =
      new AnnotationConfigApplicationContext();
  private Shop shop;

  @BeforeEach
  void start() {
    context.registerBean(DataSource.class, () -> pool);
    context.registerBean("locks", LockClient.class, () -> Database.locks(pool, "app"));
    context.register(Jpa.class, Shop.class);
    context.refresh();
    shop = context.getBean(Shop.class);
  }

  @AfterEach
  void close() {
    context.close();
    others.close();
    pool.close();
  }

  /** Frees the lock, and lets another client take it. */
  private void steal() {
    long token = others.get("tickets").inspect().orElseThrow().token();
    assertThat(others.get("tickets").forceRelease(token)).isTrue();
    assertThat(others.get("tickets").tryLock()).isPresent();
  }

  private int sold() {
    return new JdbcTemplate(pool).queryForObject("SELECT COUNT(*) FROM Ticket", Integer.class);
  }

  @Test
  void aGuardedHolderCommits() {
    shop.guarded(1, () -> {});
    assertThat(sold()).isEqualTo(1);
    assertThat(others.get("tickets").inspect()).isEmpty();
  }

  @Test
  void aGuardedHolderThatWasOvertakenCannotCommit() {
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded(1, this::steal));
    assertThat(sold()).isZero();
  }

  @Test
  void whatWasFlushedBeforeIsRolledBackToo() {
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded(1, () -> {
          shop.flush();
          steal();
        }));
    assertThat(sold()).isZero();
  }

  @Test
  void withoutAGuardAnOvertakenHolderCommits() {
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.unguarded(1, this::steal));
    assertThat(sold()).isEqualTo(1);
  }

  /** Binds a persistence context around the call, as Spring Boot's open-in-view does. */
  private void withAContextOfTheCaller(Consumer<EntityManager> call) {
    EntityManagerFactory factory = context.getBean(EntityManagerFactory.class);
    try (EntityManager entities = factory.createEntityManager()) {
      TransactionSynchronizationManager.bindResource(factory, new EntityManagerHolder(entities));
      try {
        call.accept(entities);
      } finally {
        TransactionSynchronizationManager.unbindResource(factory);
      }
    }
  }

  @Test
  void aCallAfterEntitiesWereReadIsRefusedBeforeAnythingIsLocked() {
    shop.unguarded(1, () -> {});
    withAContextOfTheCaller(entities -> {
      assertThat(entities.find(Ticket.class, 1L)).isNotNull();
      assertThatIllegalStateException()
          .isThrownBy(() -> shop.unguarded(2, () -> {}))
          .withMessageContaining("spring.jpa.open-in-view=false");
      assertThatIllegalStateException().isThrownBy(() -> shop.guarded(2, () -> {}));
    });
    assertThat(sold()).isEqualTo(1);
    assertThat(others.get("tickets").inspect()).isEmpty();
  }

  @Test
  void aContextOfTheCallerThatHasReadNothingIsAllowed() {
    withAContextOfTheCaller(entities -> shop.unguarded(1, () -> {}));
    assertThat(sold()).isEqualTo(1);
  }

  @Configuration(proxyBeanMethods = false)
  @EnableHoldfastLocks
  @EnableTransactionManagement
  static class Jpa {
    @Bean
    LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
      LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
      factory.setDataSource(dataSource);
      factory.setPersistenceUnitName("tickets");
      factory.setPackagesToScan(JpaTest.class.getPackageName());
      factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
      factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "create"));
      return factory;
    }

    @Bean
    JpaTransactionManager transactionManager(EntityManagerFactory factory) {
      return new JpaTransactionManager(factory);
    }
  }

  static class Shop {
    @PersistenceContext
    private EntityManager entities;

    @Locked(name = "tickets", guard = true)
    @Transactional
    public void guarded(long id, Runnable meanwhile) {
      sell(id, meanwhile);
    }

    @Locked("tickets")
    @Transactional
    public void unguarded(long id, Runnable meanwhile) {
      sell(id, meanwhile);
    }

    private void sell(long id, Runnable meanwhile) {
      Ticket ticket = new Ticket();
      ticket.id = id;
      entities.persist(ticket);
      meanwhile.run();
    }

    public void flush() {
      entities.unwrap(Session.class).flush();
    }
  }

  @Entity(name = "Ticket")
  static class Ticket {
    @Id
    long id;
  }
}
