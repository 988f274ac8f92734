package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Auto-configuration of the Actuator endpoint {@code locks}, and of its page. */
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

  /** The page, if it is asked for. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty("holdfast.actuator.page")
  @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class)
  static class Page {
    @Bean
    LocksPage locksPage(
        HoldfastProperties properties,
        EndpointAccessResolver access,
        ObjectProvider<RecentLosses> losses) {
      boolean forceRelease = properties.actuator().forceRelease()
          && access.accessFor(EndpointId.of("locks"), Access.READ_ONLY) == Access.UNRESTRICTED;
      return new LocksPage(forceRelease, losses.getIfAvailable());
    }

    /** The recorder of the losses that the page shows; only the auto-configured client has it. */
    @Bean
    @ConditionalOnBean(LockAutoConfiguration.Client.class)
    RecentLosses recentLosses() {
      return new RecentLosses();
    }
  }
}
