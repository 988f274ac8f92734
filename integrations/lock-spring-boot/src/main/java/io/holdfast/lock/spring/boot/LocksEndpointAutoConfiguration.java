package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the Actuator endpoint {@code locks}. */
@AutoConfiguration(after = LockAutoConfiguration.class)
@ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
@ConditionalOnSingleCandidate(LockClient.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class LocksEndpointAutoConfiguration {
  LocksEndpointAutoConfiguration() {}

  @Bean
  @ConditionalOnAvailableEndpoint
  @ConditionalOnMissingBean
  LocksEndpoint locksEndpoint(LockClient client, HoldfastProperties properties) {
    return new LocksEndpoint(client, properties.actuator().forceRelease());
  }
}
