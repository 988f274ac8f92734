package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.spring.Locked;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.context.SecurityContextHolder;

/** The place of the lock among other advice of the same method. */
class OtherAdviceTest {
  private static final String TAKEN = "taken";

  /** Makes a call with the bean and a lease of its lock that belongs to no thread. */
  private static void whileTaken(BiConsumer<Service, Lease> call) {
    Runners.inMemory()
        .withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class))
        .withUserConfiguration(Advice.class)
        .withBean(Service.class)
        .run(context -> {
          assertThat(context).hasNotFailed();
          LockClient locks = context.getBean(LockClient.class);
          Lease lease = locks.get(TAKEN).tryLock().orElseThrow().detach();
          call.accept(context.getBean(Service.class), lease);
        });
  }

  @Test
  void aHitInTheCacheTakesTheLockToo() {
    whileTaken((service, lease) -> {
      assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(service::cached);
      lease.close();
      assertThat(service.cached()).isEqualTo(1);
      assertThat(service.cached()).as("a hit").isEqualTo(1);
    });
    whileTaken((service, lease) -> {
      lease.close();
      service.cached();
      service.takeTheLock();
      assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(service::cached);
    });
  }

  @Test
  void eachTryTakesTheLockAnew() {
    whileTaken((service, lease) -> {
      lease.close();
      assertThat(service.retried()).isEqualTo("done");
      assertThat(service.tokens()).hasSize(2).doesNotHaveDuplicates();
    });
  }

  @Test
  void whoMayNotCallItIsRefusedBeforeAnythingIsLocked() {
    whileTaken((service, lease) -> {
      SecurityContextHolder.getContext()
          .setAuthentication(new TestingAuthenticationToken("somebody", "", "ROLE_GUEST"));
      try {
        assertThatExceptionOfType(AccessDeniedException.class).isThrownBy(service::forStaff);
      } finally {
        SecurityContextHolder.clearContext();
      }
      lease.close();
    });
  }

  static class Service {
    private final LockClient locks;
    private final List<Long> tokens = new ArrayList<>();
    private int calls;

    Service(LockClient locks) {
      this.locks = locks;
    }

    public List<Long> tokens() {
      return tokens;
    }

    public void takeTheLock() {
      Lease unused = locks.get(TAKEN).tryLock().orElseThrow().detach();
    }

    @Cacheable("results")
    @Locked(TAKEN)
    public int cached() {
      return ++calls;
    }

    @Retryable(maxRetries = 2, delay = 10)
    @Locked(TAKEN)
    public String retried() {
      tokens.add(locks.get(TAKEN).inspect().orElseThrow().token());
      if (tokens.size() < 2) {
        throw new IllegalStateException("made up");
      }
      return "done";
    }

    @PreAuthorize("hasRole('STAFF')")
    @Locked(TAKEN)
    public void forStaff() {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableCaching
  @EnableResilientMethods
  @EnableMethodSecurity
  static class Advice {
    @Bean
    CacheManager caches() {
      return new ConcurrentMapCacheManager();
    }
  }
}
