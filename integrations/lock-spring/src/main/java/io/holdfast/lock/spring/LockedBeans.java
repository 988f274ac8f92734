package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.PropertyValue;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Checks the locked methods of all beans, when all singletons have been made. */
final class LockedBeans implements SmartInitializingSingleton {
  private static final Logger log = LoggerFactory.getLogger(LockedBeans.class);

  /** The annotations of methods that Spring calls when it makes or destroys a bean. */
  private static final Set<String> CALLED = Set.of(
      "jakarta.annotation.PostConstruct",
      "jakarta.annotation.PreDestroy",
      "jakarta.annotation.Resource",
      "jakarta.ejb.EJB",
      "jakarta.inject.Inject",
      "jakarta.persistence.PersistenceContext",
      "jakarta.persistence.PersistenceUnit",
      "javax.annotation.PostConstruct",
      "javax.annotation.PreDestroy",
      "javax.annotation.Resource",
      "javax.inject.Inject",
      "org.springframework.beans.factory.annotation.Autowired",
      "org.springframework.beans.factory.annotation.Value");

  /** The interfaces whose methods it calls then, besides those that extend {@link Aware}. */
  private static final Set<Class<?>> CALLED_OF_INTERFACES =
      Set.of(InitializingBean.class, DisposableBean.class);

  private final ConfigurableListableBeanFactory beanFactory;
  private final LockedMethods methods;

  LockedBeans(ConfigurableListableBeanFactory beanFactory, LockedMethods methods) {
    this.beanFactory = beanFactory;
    this.methods = methods;
  }

  @Override
  public void afterSingletonsInstantiated() {
    Annotated.inBeans(beanFactory).forEach((place, annotation) -> {
      if (isMock(madeBean(place))) {
        return; // A test has put it in place of the bean, and it does nothing.
      }
      checkProxy(place);
      checkCaller(place);
      warnIfScheduled(place, methods.add(place, annotation));
      beanFactory.registerDependentBean(
          methods.clientBean(place, annotation), String.valueOf(place.beanName()));
    });
  }

  /** Warns of a job that fails, and not just is not run, while it runs on another machine. */
  private static void warnIfScheduled(Place place, LockedMethod locked) {
    if (locked.throwsAtOnceIfBusy()
        && !AnnotatedElementUtils.findMergedRepeatableAnnotations(place.method(), Scheduled.class)
            .isEmpty()) {
      log.warn(
          "{} is @Scheduled, and throws if its lock is busy: while it runs on one machine, Spring"
              + " logs an error on each other one. If those are just to leave it out, write"
              + " @Locked(whenBusy = WhenBusy.SKIP)",
          place);
    }
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

  /** Checks that no container calls the method on the bean itself, where no proxy is. */
  private void checkCaller(Place place) {
    Method method = place.method();
    boolean isInferred = isInferred(place);
    if (!isInferred && !isCalledByTheContainer(place)) {
      return;
    }
    String problem = "Spring calls it on the bean itself, not on its proxy, when it makes or"
        + " destroys the bean, so that it would run without the lock";
    if (AnnotatedElementUtils.hasAnnotation(method, Locked.class)) {
      throw place.invalid(
          problem,
          isInferred
              ? "give it another name, or write @Bean(destroyMethod = \"\"), if Spring is not to call"
                  + " it; else take the lock inside of it, from the LockClient"
              : "move what it does to a locked method of another bean, and call that when the"
                  + " application has started (ApplicationRunner, @EventListener)");
    }
    log.warn("{}: @Locked of its class is not for this method: {}", place, problem);
  }

  private boolean isCalledByTheContainer(Place place) {
    Method method = place.method();
    MergedAnnotations annotations = MergedAnnotations.from(method);
    Class<?> declares =
        ClassUtils.getInterfaceMethodIfPossible(method, place.targetClass()).getDeclaringClass();
    return CALLED.stream().anyMatch(annotations::isPresent)
        || CALLED_OF_INTERFACES.contains(declares)
        || (declares.isInterface() && List.of(declares.getInterfaces()).contains(Aware.class))
        || isOfDefinition(place);
  }

  /**
   * Whether it is the init or destroy method of the bean's definition, or sets a property of it.
   */
  private boolean isOfDefinition(Place place) {
    AbstractBeanDefinition bean = definition(place);
    if (bean == null) {
      return false;
    }
    Stream<String> called = switch (place.method().getParameterCount()) {
      case 0 ->
        Stream.of(bean.getInitMethodNames(), bean.getDestroyMethodNames())
            .filter(Objects::nonNull)
            .flatMap(Arrays::stream);
      case 1 ->
        bean.getPropertyValues().stream()
            .map(PropertyValue::getName)
            .map(name -> "set" + StringUtils.capitalize(name));
      default -> Stream.of();
    };
    return called.anyMatch(place.method().getName()::equals);
  }

  /** Whether it is the destroy method that Spring infers where the bean's definition names none. */
  private boolean isInferred(Place place) {
    AbstractBeanDefinition bean = definition(place);
    Class<?> type = place.targetClass();
    if (bean == null
        || bean.isPrototype()
        || beanFactory.isFactoryBean(String.valueOf(place.beanName()))
        || DisposableBean.class.isAssignableFrom(type)) {
      return false;
    }
    String named = bean.getDestroyMethodName();
    boolean infers = named == null
        ? AutoCloseable.class.isAssignableFrom(type)
        : named.equals(AbstractBeanDefinition.INFER_METHOD);
    String inferred = ClassUtils.hasMethod(type, "close") ? "close" : "shutdown";
    return infers && place.method().equals(ClassUtils.getMethodIfAvailable(type, inferred));
  }

  private @Nullable AbstractBeanDefinition definition(Place place) {
    String name = String.valueOf(place.beanName());
    return beanFactory.containsBeanDefinition(name)
            && beanFactory.getMergedBeanDefinition(name) instanceof AbstractBeanDefinition bean
        ? bean
        : null;
  }

  /** Whether the bean is a mock of Mockito: no spy, and no proxy around one. */
  private static boolean isMock(@Nullable Object bean) {
    if (bean == null || bean instanceof Advised) {
      return false;
    }
    try {
      Class<?> mockito = ClassUtils.forName("org.mockito.Mockito", null);
      Object details = mockito.getMethod("mockingDetails", Object.class).invoke(null, bean);
      Class<?> type = ClassUtils.forName("org.mockito.MockingDetails", null);
      return (boolean) type.getMethod("isMock").invoke(details)
          && !(boolean) type.getMethod("isSpy").invoke(details);
    } catch (ReflectiveOperationException | LinkageError e) {
      return false; // Mockito is not there.
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
