package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/** The methods of a class that {@link Locked} is for. */
final class Annotated {
  private static final Logger log = LoggerFactory.getLogger(Annotated.class);

  private Annotated() {}

  /**
   * Returns the annotation of a method, or else that of its type if the method is public; null if
   * there is neither.
   */
  static @Nullable Locked find(Method method, Class<?> targetClass) {
    Method specific = AopUtils.getMostSpecificMethod(method, targetClass);
    if (!ClassUtils.isUserLevelMethod(specific) || specific.getDeclaringClass() == Object.class) {
      return null;
    }
    Locked own = AnnotatedElementUtils.findMergedAnnotation(specific, Locked.class);
    if (own != null || !isLockedWithItsType(specific)) {
      return own;
    }
    return AnnotatedElementUtils.findMergedAnnotation(
        ClassUtils.getUserClass(targetClass), Locked.class);
  }

  private static boolean isLockedWithItsType(Method method) {
    return Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers());
  }

  /** Returns all these methods of a class, each with its annotation. */
  static Map<Method, Locked> in(Class<?> targetClass) {
    if (!AnnotationUtils.isCandidateClass(targetClass, Locked.class)) {
      return Map.of();
    }
    return MethodIntrospector.selectMethods(targetClass, (MethodIntrospector.MetadataLookup<Locked>)
        method -> find(method, targetClass));
  }

  /** Returns these methods of all beans, lazy ones and other scopes included. Makes no bean. */
  static Map<Place, Locked> inBeans(ConfigurableListableBeanFactory beanFactory) {
    Map<Place, Locked> found = new LinkedHashMap<>();
    for (String beanName : beanFactory.getBeanNamesForType(Object.class)) {
      Class<?> type = typeOf(beanFactory, beanName);
      if (type != null) {
        inUsable(type)
            .forEach(
                (method, annotation) -> found.put(new Place(beanName, method, type), annotation));
      }
    }
    return found;
  }

  private static @Nullable Class<?> typeOf(
      ConfigurableListableBeanFactory beanFactory, String beanName) {
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

  private static Map<Method, Locked> inUsable(Class<?> type) {
    try {
      return in(type);
    } catch (IllegalStateException | LinkageError e) {
      log.debug("The methods of {} can't be loaded, so it can't be used either", type, e);
      return Map.of();
    }
  }
}
