package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/**
 * A locked method, as messages name it.
 *
 * @param beanName null if it is not known
 */
record Place(@Nullable String beanName, Method method, Class<?> targetClass) {

  InvalidLockedMethodException invalid(String attribute, String problem, String remedy) {
    return new InvalidLockedMethodException(
        this + ", attribute " + attribute + " of @Locked", problem, remedy);
  }

  InvalidLockedMethodException invalid(String problem, String remedy) {
    return new InvalidLockedMethodException(this + ", @Locked", problem, remedy);
  }

  @Override
  public String toString() {
    return (beanName == null ? "A bean" : "Bean '" + beanName + "'")
        + ", method "
        + ClassUtils.getUserClass(targetClass).getSimpleName()
        + "."
        + method.getName()
        + Arrays.stream(method.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(Collectors.joining(", ", "(", ")"));
  }
}
