package io.holdfast.lock.spring;

import io.holdfast.lock.spring.SelfCalls.Signature;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/** Checks the locked methods of all beans, at the end of the start. */
final class LockedBeans implements SmartInitializingSingleton {
  private final ConfigurableListableBeanFactory beanFactory;
  private final LockedMethods methods;

  LockedBeans(ConfigurableListableBeanFactory beanFactory, LockedMethods methods) {
    this.beanFactory = beanFactory;
    this.methods = methods;
  }

  @Override
  public void afterSingletonsInstantiated() {
    for (String beanName : beanFactory.getBeanNamesForType(Object.class)) {
      Class<?> type = AutoProxyUtils.determineTargetClass(beanFactory, beanName);
      if (type != null && !ScopedObject.class.isAssignableFrom(type)) {
        check(beanName, ClassUtils.getUserClass(type));
      }
    }
  }

  private void check(String beanName, Class<?> type) {
    Map<Method, Locked> annotated = Annotated.in(type);
    Map<Signature, LockedMethod> bySignature = new HashMap<>();
    annotated.forEach((method, annotation) -> {
      Place place = new Place(beanName, method, type);
      checkProxy(place);
      bySignature.put(Signature.of(method), methods.add(place, annotation));
      beanFactory.registerDependentBean(methods.clientBean(place, annotation), beanName);
    });
    checkSelfCalls(beanName, type, annotated, bySignature);
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
    boolean byInterface = bean != null && AopUtils.isJdkDynamicProxy(bean);
    if (byInterface) {
      checkInterface(place, bean);
    } else if (Modifier.isFinal(modifiers)) {
      throw place.invalid("no proxy can override a final method", "make it non-final");
    }
    if (bean != null && !hasAdvice(bean)) {
      throw place.invalid(
          "its bean was made before locks were switched on, so that calls would not be locked",
          "make what needs it early (a BeanPostProcessor, for example) get it lazily");
    }
  }

  /** The bean if it is there already, else null: of another scope, or lazy. */
  private @Nullable Object madeBean(Place place) {
    String name = String.valueOf(place.beanName());
    boolean isMade = beanFactory.containsSingleton(name) && !beanFactory.isFactoryBean(name);
    return isMade ? beanFactory.getSingleton(name) : null;
  }

  private static void checkInterface(Place place, Object proxy) {
    Method method = place.method();
    boolean isOffered = Arrays.stream(ClassUtils.getAllInterfaces(proxy))
        .flatMap(each -> Arrays.stream(each.getMethods()))
        .anyMatch(each -> each.getName().equals(method.getName())
            && each.getParameterCount() == method.getParameterCount());
    if (!isOffered) {
      throw place.invalid(
          "its bean has a proxy of its interfaces, and none of them has the method",
          "add it to one, or set @EnableHoldfastLocks(proxyTargetClass = true)");
    }
  }

  private static boolean hasAdvice(Object bean) {
    return bean instanceof Advised advised
        && Arrays.stream(advised.getAdvisors()).anyMatch(LockedAdvisor.class::isInstance);
  }

  private static void checkSelfCalls(
      String beanName,
      Class<?> type,
      Map<Method, Locked> annotated,
      Map<Signature, LockedMethod> bySignature) {
    if (annotated.isEmpty()) {
      return;
    }
    SelfCalls.find(type, (caller, callee) -> isUnlocked(caller, callee, annotated, bySignature))
        .ifPresent(found -> {
          throw bySignature
              .get(found.callee())
              .place()
              .invalid(
                  "the bean's own method " + found.caller().name()
                      + " calls it, past the proxy and so without the lock",
                  "move it to another bean, or call it on the injected bean");
        });
  }

  /** Whether a call would not be locked, and not be under the same lock of its caller either. */
  private static boolean isUnlocked(
      Signature caller,
      Signature callee,
      Map<Method, Locked> annotated,
      Map<Signature, LockedMethod> bySignature) {
    LockedMethod called = bySignature.get(callee);
    if (called == null) {
      return false;
    }
    LockedMethod calling = bySignature.get(caller);
    return calling == null
        || !called.name().isConstant()
        || !annotated
            .get(called.place().method())
            .equals(annotated.get(calling.place().method()));
  }
}
