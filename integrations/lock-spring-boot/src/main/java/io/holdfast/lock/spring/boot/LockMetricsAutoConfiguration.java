package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.micrometer.LockMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of the meters of the auto-configured client, if {@code lock-micrometer} and a
 * {@link MeterRegistry} are there.
 */
@AutoConfiguration(
    before = LockAutoConfiguration.class,
    afterName = {
      "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
      "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration"
    })
@ConditionalOnClass({LockMetrics.class, MeterRegistry.class})
@ConditionalOnBean(MeterRegistry.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnMissingBean({LockClient.class, LockMetrics.class})
@EnableConfigurationProperties(HoldfastProperties.class)
public final class LockMetricsAutoConfiguration {
  LockMetricsAutoConfiguration() {}

  @Bean
  LockMetrics lockMetrics(
      MeterRegistry registry,
      ObjectProvider<ObservationRegistry> observations,
      ObjectProvider<LockGroup> group,
      HoldfastProperties properties,
      Environment environment,
      ConfigurableListableBeanFactory beans) {
    ClassLoader loader = OnStoreCondition.loader(beans.getBeanClassLoader());
    String client = ClientName.of(properties, environment);
    LockMetrics.Builder builder = LockMetrics.builder(
        registry,
        client == null ? "default" : client,
        StoreChoice.of(environment, loader).value());
    observations.ifUnique(builder::observations);
    group.ifUnique(function -> builder.group(function::of));
    return builder.build();
  }
}
