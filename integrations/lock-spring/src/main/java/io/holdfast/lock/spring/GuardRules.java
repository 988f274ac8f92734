package io.holdfast.lock.spring;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcGuard;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.BeansException;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.util.StringUtils;

/** The requirements on a method whose lease is to guard its transaction. */
final class GuardRules {
  private final ConfigurableListableBeanFactory beanFactory;
  private final Map<TransactionManager, GuardedTransactions> guarded = new ConcurrentHashMap<>();

  GuardRules(ConfigurableListableBeanFactory beanFactory) {
    this.beanFactory = beanFactory;
  }

  Surroundings surroundings(
      Place place, @Nullable TransactionAttribute transaction, ResultKind kind, LockClient client) {
    if (!JdbcGuard.isFor(client)) {
      throw place.invalid(
          "guard",
          "the store of its client has no guard for transactions",
          "take a client of JdbcLocks, on the transaction's database, or leave guard out and send"
              + " the lease's token with each write");
    }
    if (kind == ResultKind.STAGE) {
      throw place.invalid(
          "guard",
          "the method returns a stage, and its transaction commits at the return",
          "leave guard out, or return a plain value");
    }
    if (transaction == null) {
      throw place.invalid(
          "guard",
          "the method has no transaction of its own that its lease could guard",
          "add @Transactional to it, and @EnableTransactionManagement to the configuration");
    }
    checkTransaction(place, transaction);
    TransactionManager manager = managerOf(place, transaction);
    return new Guarded(
        place,
        transaction.getPropagationBehavior() == TransactionDefinition.PROPAGATION_REQUIRES_NEW,
        guarded.computeIfAbsent(manager, each -> guard(place, each)));
  }

  private static void checkTransaction(Place place, TransactionAttribute transaction) {
    switch (transaction.getPropagationBehavior()) {
      case TransactionDefinition.PROPAGATION_REQUIRED,
          TransactionDefinition.PROPAGATION_REQUIRES_NEW,
          TransactionDefinition.PROPAGATION_NESTED -> {}
      default ->
        throw place.invalid(
            "guard",
            "the propagation of its @Transactional begins no transaction that its lease could guard",
            "make it REQUIRED or REQUIRES_NEW");
    }
    if (transaction.isReadOnly()) {
      throw place.invalid(
          "guard",
          "its @Transactional is read-only, and the guard writes to the lock's row",
          "leave out one of the two");
    }
  }

  /** Finds the manager as Spring finds it at the call. */
  private TransactionManager managerOf(Place place, TransactionAttribute transaction) {
    String qualifier = transaction.getQualifier();
    try {
      if (StringUtils.hasText(qualifier)) {
        return qualified(qualifier);
      }
      TransactionManager ofClass = managerOfClass(place.targetClass());
      if (ofClass != null) {
        return ofClass;
      }
      TransactionManagementConfigurer configurer =
          beanFactory.getBeanProvider(TransactionManagementConfigurer.class).getIfAvailable();
      return configurer == null
          ? beanFactory.getBean(TransactionManager.class)
          : configurer.annotationDrivenTransactionManager();
    } catch (BeansException e) {
      throw place.invalid(
          "guard",
          "its transaction manager was not found (" + e.getMessage() + ")",
          "declare one, or name it in @Transactional(transactionManager = ...)");
    }
  }

  /** Returns the transaction manager that the class's qualifier names; null if it names none. */
  private @Nullable TransactionManager managerOfClass(Class<?> targetClass) {
    String qualifier = BeanFactoryAnnotationUtils.getQualifierValue(targetClass);
    if (!StringUtils.hasText(qualifier)) {
      return null;
    }
    try {
      return qualified(qualifier);
    } catch (NoSuchBeanDefinitionException e) {
      return null; // It is the qualifier of the bean itself.
    }
  }

  private TransactionManager qualified(String qualifier) {
    return BeanFactoryAnnotationUtils.qualifiedBeanOfType(
        beanFactory, TransactionManager.class, qualifier);
  }

  private static GuardedTransactions guard(Place place, TransactionManager manager) {
    DataSource dataSource = dataSourceOf(manager);
    if (dataSource == null || !(manager instanceof ConfigurableTransactionManager configurable)) {
      throw place.invalid(
          "guard",
          "its transaction manager (" + manager.getClass().getName() + ") has no DataSource, so its"
              + " transactions can't be guarded",
          "use one that has the DataSource of the locks, or leave guard out");
    }
    if (manager instanceof AbstractPlatformTransactionManager platform
        && platform.getTransactionSynchronization()
            == AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER) {
      throw place.invalid(
          "guard",
          "the synchronization of its transaction manager is switched off",
          "switch it on, since the guard needs it");
    }
    GuardedTransactions transactions = new GuardedTransactions(dataSource);
    configurable.addListener(transactions);
    return transactions;
  }

  /**
   * Returns the manager's DataSource; null if it has none. Managers for JDBC, JPA and Hibernate
   * have it as a property of the same name, but no common type.
   */
  private static @Nullable DataSource dataSourceOf(TransactionManager manager) {
    BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(manager);
    Object value = properties.isReadableProperty("dataSource")
        ? properties.getPropertyValue("dataSource")
        : null;
    return value instanceof DataSource dataSource ? dataSource : null;
  }
}
