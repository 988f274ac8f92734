package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the health indicator {@code locks}: up if the store answers. It is turned
 * off by {@code management.health.locks.enabled=false}.
 */
@AutoConfiguration(after = LockAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(LockClient.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
public final class LockHealthAutoConfiguration {
  LockHealthAutoConfiguration() {}

  @Bean
  @ConditionalOnEnabledHealthIndicator("locks")
  @ConditionalOnMissingBean(name = "locksHealthIndicator")
  LockHealthIndicator locksHealthIndicator(LockClient client) {
    return new LockHealthIndicator(client);
  }
}
