package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/** The methods of a class that {@link Locked} is for. */
final class Annotated {
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
}
