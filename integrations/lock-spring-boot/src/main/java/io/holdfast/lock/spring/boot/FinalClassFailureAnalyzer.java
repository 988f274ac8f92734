package io.holdfast.lock.spring.boot;

import io.holdfast.lock.spring.Locked;
import java.lang.reflect.Modifier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopConfigException;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/** Says at the end of a failed start that a bean with locked methods has a final class. */
final class FinalClassFailureAnalyzer extends AbstractFailureAnalyzer<AopConfigException> {
  private final BeanFactory beans;

  FinalClassFailureAnalyzer(BeanFactory beans) {
    this.beans = beans;
  }

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, AopConfigException cause) {
    String name = beanName(rootFailure);
    Class<?> type = name != null && beans.containsBean(name) ? beans.getType(name, false) : null;
    if (type == null || !Modifier.isFinal(type.getModifiers()) || !isLocked(type)) {
      return null;
    }
    return new FailureAnalysis(
        "Bean '" + name + "', @Locked: its class " + type.getName()
            + " is final, and the proxy that locks its methods would be a subclass.",
        "Make it a class that is not final, and no record (in Kotlin: open), or move the method to"
            + " another bean.",
        cause);
  }

  /** Returns the name of the bean that could not be made: the innermost one. */
  private static @Nullable String beanName(Throwable failure) {
    String name = null;
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof BeanCreationException creation) {
        name = creation.getBeanName();
      }
    }
    return name;
  }

  private static boolean isLocked(Class<?> type) {
    return AnnotatedElementUtils.hasAnnotation(type, Locked.class)
        || !MethodIntrospector.selectMethods(type, (MethodFilter)
                method -> AnnotatedElementUtils.hasAnnotation(method, Locked.class))
            .isEmpty();
  }
}
