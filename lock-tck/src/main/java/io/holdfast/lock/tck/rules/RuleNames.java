package io.holdfast.lock.tck.rules;

import io.holdfast.lock.tck.Rule;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.DisplayNameGenerator;

/** Names a test by its rule and by the sentence that forms its method's name. */
public final class RuleNames extends DisplayNameGenerator.Standard {

  /** Called by JUnit. */
  RuleNames() {}

  @Override
  public String generateDisplayNameForNestedClass(
      List<Class<?>> enclosingInstanceTypes, Class<?> nestedClass) {
    return sentence(nestedClass.getSimpleName());
  }

  @Override
  public String generateDisplayNameForMethod(
      List<Class<?>> enclosingInstanceTypes, Class<?> testClass, Method testMethod) {
    Rule rule = testMethod.getAnnotation(Rule.class);
    return (rule == null ? "" : rule.value() + " ") + sentence(testMethod.getName());
  }

  private static String sentence(String camelCase) {
    return camelCase
        .replaceAll("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ")
        .toLowerCase(Locale.ROOT);
  }
}
