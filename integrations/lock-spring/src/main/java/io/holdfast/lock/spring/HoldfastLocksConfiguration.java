package io.holdfast.lock.spring;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportAware;
import org.springframework.context.annotation.Role;
import org.springframework.core.annotation.AnnotationAttributes;
import org.springframework.core.type.AnnotationMetadata;

/**
 * The beans behind {@link EnableHoldfastLocks}, which imports this configuration. A context that
 * has a bean of this type has locks switched on.
 */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public class HoldfastLocksConfiguration implements ImportAware {
  private int order = EnableHoldfastLocks.DEFAULT_ORDER;

  /** Called by Spring. */
  HoldfastLocksConfiguration() {}

  @Override
  public void setImportMetadata(AnnotationMetadata importing) {
    AnnotationAttributes attributes = AnnotationAttributes.fromMap(
        importing.getAnnotationAttributes(EnableHoldfastLocks.class.getName()));
    if (attributes != null) {
      order = attributes.getNumber("order").intValue();
    }
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  LockedMethods holdfastLockedMethods(ConfigurableListableBeanFactory beanFactory) {
    return new LockedMethods(beanFactory, order);
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  LockedAdvisor holdfastLockedAdvisor(LockedMethods holdfastLockedMethods) {
    return new LockedAdvisor(holdfastLockedMethods, order);
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  LockedBeans holdfastLockedBeans(
      ConfigurableListableBeanFactory beanFactory, LockedMethods holdfastLockedMethods) {
    return new LockedBeans(beanFactory, holdfastLockedMethods);
  }
}
