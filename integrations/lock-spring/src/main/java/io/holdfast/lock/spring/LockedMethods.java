package io.holdfast.lock.spring;

import io.holdfast.lock.LockClient;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodClassKey;

/**
 * The locked methods of a context's beans, each read from its annotation when it is first asked
 * for.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class LockedMethods {
  private final ConfigurableListableBeanFactory beanFactory;
  private final int order;
  private final Map<MethodClassKey, LockedMethod> known = new ConcurrentHashMap<>();

  /** Made at the first use, since the beans that it reads must not be made too early. */
  private volatile @Nullable TransactionRules transactionRules;

  LockedMethods(ConfigurableListableBeanFactory beanFactory, int order) {
    this.beanFactory = beanFactory;
    this.order = order;
  }

  /**
   * Returns the locked method that is called by {@code method} on a bean of {@code targetClass}.
   */
  LockedMethod get(Method method, Class<?> targetClass) {
    Method specific = AopUtils.getMostSpecificMethod(method, targetClass);
    LockedMethod locked = known.get(new MethodClassKey(specific, targetClass));
    if (locked != null) {
      return locked;
    }
    Locked annotation = Annotated.find(specific, targetClass);
    if (annotation == null) {
      throw new IllegalStateException(specific + " is not locked");
    }
    // It was called during the start, before it was added.
    return add(new Place(null, specific, targetClass), annotation);
  }

  /**
   * Reads a locked method from its annotation.
   *
   * @throws InvalidLockedMethodException it can't be locked as the annotation says
   */
  LockedMethod add(Place place, Locked annotation) {
    LockedMethod locked = read(place, annotation);
    known.put(new MethodClassKey(place.method(), place.targetClass()), locked);
    return locked;
  }

  /** Returns the name of the bean of the client that an annotation asks for. */
  String clientBean(Place place, Locked annotation) {
    if (!annotation.client().isEmpty()) {
      return annotation.client();
    }
    try {
      return beanFactory.resolveNamedBean(LockClient.class).getBeanName();
    } catch (NoUniqueBeanDefinitionException e) {
      throw place.invalid(
          "client",
          "there are several LockClient beans (" + e.getBeanNamesFound() + ")",
          "name one of them, or make one the primary bean");
    } catch (NoSuchBeanDefinitionException e) {
      throw place.invalid(
          "client", "there is no LockClient bean", "declare one, built by JdbcLocks for example");
    }
  }

  private LockedMethod read(Place place, Locked annotation) {
    ResultKind kind = ResultKind.of(place);
    LockClient client = client(place, clientBean(place, annotation));
    LockOfName locks = LockOfName.of(place, annotation, client);
    LeaseSettings lease = new LeaseSettings(place, annotation, beanFactory::resolveEmbeddedValue);
    LockName name = LockName.parse(
        place,
        LeaseSettings.resolve(place, "name", annotation.name(), beanFactory::resolveEmbeddedValue));
    if (name.isConstant()) {
      checkConstant(place, name, client);
    }
    if (kind == ResultKind.STAGE && annotation.whenLost() == WhenLost.INTERRUPT) {
      throw place.invalid(
          "whenLost",
          "INTERRUPT is for the thread of the method, and its stage may run on others",
          "leave it at THROW, which fails the stage");
    }
    return new LockedMethod(
        place,
        annotation,
        name,
        locks,
        lease.options(client.defaultOptions(), locks, kind == ResultKind.STAGE),
        lease.waitFor(),
        busyOutcome(place, annotation, kind),
        annotation.whenLost(),
        kind,
        transactionRules().surroundings(place, annotation, kind, client));
  }

  private LockClient client(Place place, String beanName) {
    try {
      LockClient client = beanFactory.getBean(beanName, LockClient.class);
      @Nullable Object options = client.defaultOptions();
      if (options == null) {
        throw place.invalid(
            "client",
            "bean '" + beanName + "' gives no locks, as a mock does",
            "use real locks in a test, in memory: holdfast.store=memory, or InMemoryLocks");
      }
      return client;
    } catch (NoSuchBeanDefinitionException e) {
      throw place.invalid(
          "client", "there is no bean '" + beanName + "'", "name a bean of type LockClient");
    } catch (BeanNotOfRequiredTypeException e) {
      throw place.invalid(
          "client",
          "bean '" + beanName + "' is a " + e.getActualType().getName(),
          "name a bean of type LockClient");
    }
  }

  private static void checkConstant(Place place, LockName name, LockClient client) {
    try {
      var unused = client.get(name.constant());
    } catch (IllegalArgumentException e) {
      throw place.invalid("name", String.valueOf(e.getMessage()), "choose another name");
    }
  }

  private LockedMethod.BusyOutcome busyOutcome(Place place, Locked annotation, ResultKind kind) {
    Class<? extends BusyHandler> handlerType = annotation.busyHandler();
    if (handlerType != BusyHandler.class) {
      if (annotation.whenBusy() != WhenBusy.THROW) {
        throw place.invalid(
            "busyHandler", "whenBusy is " + annotation.whenBusy(), "leave one of the two out");
      }
      return new HandledBusy(place, handler(place, handlerType));
    }
    return switch (annotation.whenBusy()) {
      case THROW ->
        (call, timeout) -> {
          throw timeout;
        };
      case SKIP -> {
        Object skipped = kind.skipped(place);
        yield (call, timeout) -> skipped;
      }
    };
  }

  private BusyHandler handler(Place place, Class<? extends BusyHandler> type) {
    try {
      return beanFactory.getBean(type);
    } catch (NoSuchBeanDefinitionException e) {
      throw place.invalid(
          "busyHandler",
          "there is no single bean of type " + type.getName(),
          "declare one, or make one the primary bean");
    }
  }

  private TransactionRules transactionRules() {
    TransactionRules rules = transactionRules;
    if (rules == null) {
      rules = TransactionRules.of(beanFactory, order);
      transactionRules = rules;
    }
    return rules;
  }
}
