package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.util.ClassUtils;

/**
 * The order of the shutdown: every executor and scheduler ends before the lock clients, so that
 * tasks that are still running then keep their locks. Web servers and message listeners end before
 * any bean is destroyed, and beans that have a lock client injected are destroyed before it.
 *
 * <p>Only the order of destruction is registered, and no other dependency: an executor may be made
 * before a lock client, and even be used by it.
 */
final class ClosedLast implements SmartInitializingSingleton {
  private static final String QUARTZ = "org.quartz.Scheduler";

  private final ConfigurableListableBeanFactory beans;

  ClosedLast(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  @Override
  public void afterSingletonsInstantiated() {
    Set<String> workers = new LinkedHashSet<>();
    addNames(workers, Executor.class);
    addNames(workers, TaskScheduler.class);
    addNames(workers, quartz());
    for (String client : beans.getBeanNamesForType(LockClient.class, false, false)) {
      Set<String> needed = new HashSet<>();
      addNeeded(client, needed);
      for (String worker : workers) {
        if (!needed.contains(worker)) {
          beans.registerDependentBean(client, worker);
        }
      }
    }
  }

  private void addNames(Set<String> names, @Nullable Class<?> type) {
    if (type != null) {
      names.addAll(Set.of(beans.getBeanNamesForType(type, false, false)));
    }
  }

  /** Adds a bean, and all beans that it needs and that must outlive it. */
  private void addNeeded(String bean, Set<String> needed) {
    if (needed.add(bean)) {
      for (String dependency : beans.getDependenciesForBean(bean)) {
        addNeeded(dependency, needed);
      }
    }
  }

  private @Nullable Class<?> quartz() {
    ClassLoader loader = beans.getBeanClassLoader();
    return ClassUtils.isPresent(QUARTZ, loader)
        ? ClassUtils.resolveClassName(QUARTZ, loader)
        : null;
  }
}
