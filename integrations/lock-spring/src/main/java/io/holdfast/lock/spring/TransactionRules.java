package io.holdfast.lock.spring;

import io.holdfast.lock.LockClient;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/** The rules that an application's transactions impose on its locked methods. */
interface TransactionRules {

  /** The rules of the application, by what is on its class path. */
  static TransactionRules of(ConfigurableListableBeanFactory beanFactory, int order) {
    ClassLoader loader = TransactionRules.class.getClassLoader();
    if (ClassUtils.isPresent(
        "org.springframework.transaction.support.TransactionSynchronizationManager", loader)) {
      return new SpringTransactionRules(beanFactory, order);
    }
    return (place, annotation, kind, client) -> {
      if (annotation.guard()) {
        throw place.invalid(
            "guard",
            "there are no transactions to guard, since spring-tx is not on the class path",
            "add spring-jdbc, or leave guard out");
      }
      return Surroundings.NONE;
    };
  }

  /**
   * Checks a method, and returns what to do around its calls.
   *
   * @throws InvalidLockedMethodException its lock would not be around its transaction, or it can't
   *     be guarded
   */
  Surroundings surroundings(Place place, Locked annotation, ResultKind kind, LockClient client);
}
