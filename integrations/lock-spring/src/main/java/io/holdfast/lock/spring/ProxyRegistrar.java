package io.holdfast.lock.spring;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;

/** Registers the creator of proxies that transactions use too. */
final class ProxyRegistrar implements ImportBeanDefinitionRegistrar {

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata importing, BeanDefinitionRegistry registry) {
    AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
    Map<String, @Nullable Object> attributes =
        importing.getAnnotationAttributes(EnableHoldfastLocks.class.getName());
    if (attributes != null && Boolean.TRUE.equals(attributes.get("proxyTargetClass"))) {
      AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
    }
  }
}
