package io.holdfast.lock.spring;

import io.holdfast.lock.LockClient;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;
import org.springframework.util.ClassUtils;

/** The rules of an application that has spring-tx on its class path. */
final class SpringTransactionRules implements TransactionRules {
  private final ConfigurableListableBeanFactory beanFactory;
  private final int order;
  private final @Nullable GuardRules guardRules;

  SpringTransactionRules(ConfigurableListableBeanFactory beanFactory, int order) {
    this.beanFactory = beanFactory;
    this.order = order;
    ClassLoader loader = SpringTransactionRules.class.getClassLoader();
    boolean canGuard = ClassUtils.isPresent("org.springframework.jdbc.core.JdbcTemplate", loader)
        && ClassUtils.isPresent("io.holdfast.lock.jdbc.JdbcGuard", loader);
    this.guardRules = canGuard ? new GuardRules(beanFactory) : null;
  }

  @Override
  public Surroundings surroundings(
      Place place, Locked annotation, ResultKind kind, LockClient client) {
    TransactionAttribute transaction = transactionOf(place);
    if (transaction != null) {
      checkOrder(place);
    }
    if (!annotation.guard()) {
      return new Unguarded(place, isApart(transaction));
    }
    if (guardRules == null) {
      throw place.invalid(
          "guard",
          "it needs lock-jdbc and spring-jdbc on the class path",
          "add them and take the client from JdbcLocks, or leave guard out");
    }
    return guardRules.surroundings(place, transaction, kind, client);
  }

  /** Whether what a method does is no part of its caller's transaction. */
  private static boolean isApart(@Nullable TransactionAttribute transaction) {
    if (transaction == null) {
      return false;
    }
    int propagation = transaction.getPropagationBehavior();
    return propagation == TransactionDefinition.PROPAGATION_REQUIRES_NEW
        || propagation == TransactionDefinition.PROPAGATION_NOT_SUPPORTED;
  }

  private @Nullable TransactionAttribute transactionOf(Place place) {
    return beanFactory.getBeanProvider(TransactionAttributeSource.class).stream()
        .map(source -> source.getTransactionAttribute(place.method(), place.targetClass()))
        .filter(attribute -> attribute != null)
        .findFirst()
        .orElse(null);
  }

  private void checkOrder(Place place) {
    beanFactory
        .getBeanProvider(BeanFactoryTransactionAttributeSourceAdvisor.class)
        .forEach(advisor -> {
          if (advisor.getOrder() <= order) {
            throw place.invalid(
                "the lock would be inside of the transaction and be released before the commit,"
                    + " since the order of transactions is " + advisor.getOrder()
                    + " and that of locks is " + order,
                "set @EnableHoldfastLocks(order = ...) to a lower number than"
                    + " @EnableTransactionManagement(order = ...)");
          }
        });
  }
}
