package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spring.Locked;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@ExtendWith(OutputCaptureExtension.class)
class LockAutoConfigurationTest {

  @Test
  void anApplicationGetsAClientAndOneLineThatSaysWhere(CapturedOutput output) {
    Runners.inMemory()
        .withPropertyValues("spring.application.name=shop", "holdfast.ttl=20s")
        .run(context -> {
          LockClient locks = context.getBean(LockClient.class);
          try (Lease lease = locks.get("orders/42").tryLock().orElseThrow()) {
            assertThat(locks.get("orders/42").inspect().orElseThrow().description())
                .contains("shop");
            assertThat(lease.remaining()).isBetween(Duration.ofSeconds(5), Duration.ofSeconds(20));
          }
        });

    assertThat(output.toString().lines().filter(line -> line.contains("Locks are in")))
        .singleElement()
        .asString()
        .contains("INFO", "memory (for tests", "client 'shop'", "TTL PT20S");
  }

  @Test
  void aClientOfTheApplicationReplacesIt() {
    Runners.plain()
        .withUserConfiguration(OwnClient.class)
        .run(context -> assertThat(context)
            .hasNotFailed()
            .hasSingleBean(LockClient.class)
            .hasBean("ownClient")
            .doesNotHaveBean(StoreSource.class));
  }

  @Test
  void itCanBeTurnedOff() {
    Runners.plain()
        .withPropertyValues("holdfast.enabled=false")
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockClient.class));
  }

  @Test
  void turnedOffItSaysHowManyMethodsRunWithoutTheirLock(CapturedOutput output) {
    Runners.plain()
        .withPropertyValues("holdfast.enabled=false")
        .withUserConfiguration(Payouts.class)
        .run(context -> assertThat(context).hasNotFailed());
    assertThat(output)
        .contains("Locks are switched off: 2 methods with @Locked run without their lock")
        .contains("Payouts.");
  }

  static class Payouts {
    @Locked("payouts")
    void pay() {}

    @Locked("refunds")
    void refund() {}
  }

  @Test
  void propertiesAreTheClientsOptions() {
    Runners.inMemory()
        .withPropertyValues(
            "holdfast.client-name=till-7",
            "holdfast.max-hold=2s",
            "holdfast.store-timeout=1s",
            "holdfast.ttl=3s")
        .run(context -> {
          LockClient locks = context.getBean(LockClient.class);
          try (Lease lease = locks.get("short").tryLock().orElseThrow()) {
            assertThat(locks.get("short").inspect().orElseThrow().description()).contains("till-7");
            assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(2));
          }
        });
  }

  @Test
  void listenersAndCustomizersAreUsed() {
    Runners.inMemory().withUserConfiguration(Listening.class).run(context -> {
      context.getBean(LockClient.class).get("heard").run(lease -> {});
      assertThat(context.getBean(Listening.class).heard)
          .contains("first: heard", "of the customizer: heard");
    });
  }

  @Test
  void theLineSaysTheTtlThatTheClientHas(CapturedOutput output) {
    Runners.inMemory()
        .withBean(
            LockClientBuilderCustomizer.class,
            () -> builder -> builder.defaultOptions(LockOptions.renewed(Duration.ofSeconds(45))))
        .run(context -> assertThat(output).contains("TTL PT45S"));
  }

  @Test
  void aMistakeShowsAtTheStartEvenIfBeansAreLazy() {
    Runners.h2("lazy")
        .withInitializer(context -> context.addBeanFactoryPostProcessor(
            new org.springframework.boot.LazyInitializationBeanFactoryPostProcessor()))
        .withPropertyValues("holdfast.jdbc.schema=validate")
        .run(context -> assertThat(context).getFailure().hasMessageContaining("holdfast_lock"));
  }

  @Configuration(proxyBeanMethods = false)
  static class OwnClient {
    @Bean
    LockClient ownClient() {
      return InMemoryLocks.builder().build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Listening {
    final List<String> heard = new CopyOnWriteArrayList<>();

    @Bean
    LockListener first() {
      return listener("first");
    }

    @Bean
    LockClientBuilderCustomizer customizer() {
      return builder -> builder.addListener(listener("of the customizer"));
    }

    private LockListener listener(String name) {
      return new LockListener() {
        @Override
        public void acquired(Acquired event) {
          heard.add(name + ": " + event.lockName());
        }
      };
    }
  }
}
