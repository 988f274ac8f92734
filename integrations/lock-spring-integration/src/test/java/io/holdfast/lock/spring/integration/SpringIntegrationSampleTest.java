package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.leader.event.OnGrantedEvent;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** The samples of the page about Spring Integration. */
class SpringIntegrationSampleTest {
  private static long shipped;

  @Configuration
  static class Application {
    @Bean
    LockClient locks() {
      return InMemoryLocks.builder().build();
    }

    // tag::spring-integration[]
    @Bean
    LockRegistry<?> lockRegistry(LockClient locks) {
      return new HoldfastLockRegistry(locks, "integration/");
    }

    @Bean
    LockRegistryLeaderInitiator leaderInitiator(LockRegistry<?> lockRegistry) {
      return new LockRegistryLeaderInitiator(
          lockRegistry, new DefaultCandidate("node 1", "poller"));
    }
    // end::spring-integration[]
  }

  @Test
  void aContextElectsALeader() {
    List<Object> events = new CopyOnWriteArrayList<>();
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(Application.class);
      context.addApplicationListener(event -> events.add(event));
      context.refresh();
      Await.until("it leads", () -> events.stream().anyMatch(OnGrantedEvent.class::isInstance));
    }
  }

  @Test
  void workIsLockedAndHasAToken() throws InterruptedException {
    try (LockClient locks = InMemoryLocks.builder().build()) {
      // tag::spring-integration-token[]
      HoldfastLockRegistry registry = new HoldfastLockRegistry(locks, "integration/");
      LockRegistry<?> lockRegistry = registry;
      // ConcurrentModificationException: the lease was lost while the order was shipped
      lockRegistry.executeLocked("orders/42", () -> ship(42, registry.token("orders/42")));
      // end::spring-integration-token[]
      assertThat(shipped).isPositive();
    }
  }

  private static void ship(long order, long token) {
    shipped = order * token;
  }
}
