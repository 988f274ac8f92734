package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * A bean of the application that the locks' store needs.
 *
 * @param name null if it is not a singleton of this bean factory
 */
record Found<T>(T bean, @Nullable String name) {

  /**
   * Returns the bean that would be injected where this type is asked for, or null if there is none
   * or more than one. The bean will outlive the store.
   */
  static <T> @Nullable Found<T> only(Class<T> type, ConfigurableListableBeanFactory beans) {
    T only = beans.getBeanProvider(type).getIfUnique();
    if (only == null) {
      return null;
    }
    for (String name : beans.getBeanNamesForType(type, false, false)) {
      if (beans.getSingleton(name) == only) {
        beans.registerDependentBean(name, LockAutoConfiguration.STORE);
        return new Found<>(only, name);
      }
    }
    return new Found<>(only, null);
  }

  /** Returns the bean in words, for messages. */
  String described() {
    return name == null ? "bean of the type " + bean.getClass().getName() : "bean '" + name + "'";
  }
}
