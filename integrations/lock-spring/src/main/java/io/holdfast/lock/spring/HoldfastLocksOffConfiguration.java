package io.holdfast.lock.spring;

import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;

/**
 * A configuration for a context in which locks are switched off, that is, without
 * {@link EnableHoldfastLocks}: a warning says at start how many methods have {@link Locked} and run
 * without their lock. Spring Boot has it where it does not switch locks on.
 */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public class HoldfastLocksOffConfiguration {
  private static final Logger log = LoggerFactory.getLogger(HoldfastLocksOffConfiguration.class);

  /** Called by Spring. */
  HoldfastLocksOffConfiguration() {}

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  SmartInitializingSingleton holdfastLocksOff(ConfigurableListableBeanFactory beanFactory) {
    return () -> warn(Annotated.inBeans(beanFactory).keySet());
  }

  private static void warn(Set<Place> unlocked) {
    if (!unlocked.isEmpty()) {
      log.warn(
          "Locks are switched off: {} methods with @Locked run without their lock; one of them: {}",
          unlocked.size(),
          unlocked.iterator().next());
    }
  }
}
