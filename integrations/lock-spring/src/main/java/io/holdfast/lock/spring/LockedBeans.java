package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/** Checks the locked methods of all beans, when all singletons have been made. */
final class LockedBeans implements SmartInitializingSingleton {
  private static final Logger log = LoggerFactory.getLogger(LockedBeans.class);

  private final ConfigurableListableBeanFactory beanFactory;
  private final LockedMethods methods;

  LockedBeans(ConfigurableListableBeanFactory beanFactory, LockedMethods methods) {
    this.beanFactory = beanFactory;
    this.methods = methods;
  }

  @Override
  public void afterSingletonsInstantiated() {
    for (String beanName : beanFactory.getBeanNamesForType(Object.class)) {
      Class<?> type = typeOf(beanName);
      if (type != null) {
        check(beanName, type, annotatedIn(type));
      }
    }
  }

  private @Nullable Class<?> typeOf(String beanName) {
    Class<?> type;
    try {
      type = AutoProxyUtils.determineTargetClass(beanFactory, beanName);
    } catch (RuntimeException | LinkageError e) {
      log.debug("The class of bean {} can't be loaded, so it can't be used either", beanName, e);
      return null;
    }
    boolean isCandidate = type != null && !ScopedObject.class.isAssignableFrom(type);
    return isCandidate ? ClassUtils.getUserClass(type) : null;
  }

  private static Map<Method, Locked> annotatedIn(Class<?> type) {
    try {
      return Annotated.in(type);
    } catch (IllegalStateException | LinkageError e) {
      log.debug("The methods of {} can't be loaded, so it can't be used either", type, e);
      return Map.of();
    }
  }

  private void check(String beanName, Class<?> type, Map<Method, Locked> annotated) {
    annotated.forEach((method, annotation) -> {
      Place place = new Place(beanName, method, type);
      checkProxy(place);
      methods.add(place, annotation);
      beanFactory.registerDependentBean(methods.clientBean(place, annotation), beanName);
    });
  }

  private void checkProxy(Place place) {
    int modifiers = place.method().getModifiers();
    if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
      throw place.invalid(
          "no proxy can stand before a " + (Modifier.isStatic(modifiers) ? "static" : "private")
              + " method",
          "make it an instance method that is not private");
    }
    Object bean = madeBean(place);
    Object locking = lockingProxy(bean);
    if (bean != null && AopUtils.isJdkDynamicProxy(bean)) {
      checkInterface(place, bean);
    }
    boolean isOfInterfaces = locking != null && AopUtils.isJdkDynamicProxy(locking);
    if (Modifier.isFinal(modifiers) && !isOfInterfaces) {
      throw place.invalid("no proxy can override a final method", "make it non-final");
    }
    if (bean != null && locking == null) {
      throw place.invalid(
          "its bean was made before locks were switched on, so that calls would not be locked",
          "make what needs it early (a BeanPostProcessor, for example) get it lazily");
    }
  }

  /** Returns the bean if it was made already; null if it is lazy or of another scope. */
  private @Nullable Object madeBean(Place place) {
    String name = String.valueOf(place.beanName());
    boolean isMade = beanFactory.containsSingleton(name) && !beanFactory.isFactoryBean(name);
    return isMade ? beanFactory.getSingleton(name) : null;
  }

  private static void checkInterface(Place place, Object proxy) {
    Method method = place.method();
    boolean isOffered = Arrays.stream(ClassUtils.getAllInterfaces(proxy))
        .flatMap(each -> Arrays.stream(each.getMethods()))
        .anyMatch(
            each -> AopUtils.getMostSpecificMethod(each, place.targetClass()).equals(method));
    if (!isOffered) {
      throw place.invalid(
          "its bean has a proxy of its interfaces, and none of them has the method",
          "add it to one, or set @EnableHoldfastLocks(proxyTargetClass = true)");
    }
  }

  /** Returns the proxy with the locks' advice: this one, or one behind it; null: there is none. */
  private static @Nullable Object lockingProxy(@Nullable Object bean) {
    if (!(bean instanceof Advised advised)) {
      return null;
    }
    return Arrays.stream(advised.getAdvisors()).anyMatch(LockedAdvisor.class::isInstance)
        ? bean
        : lockingProxy(AopProxyUtils.getSingletonTarget(bean));
  }
}
