package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.ClassUtils;

/** Matches the store that is to be used; none if there is a mistake in the choice. */
final class OnStoreCondition extends SpringBootCondition {
  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    StoreKind wanted =
        metadata.getAnnotations().get(ConditionalOnStore.class).getEnum("value", StoreKind.class);
    try {
      StoreKind chosen = StoreChoice.of(context.getEnvironment(), loader(context.getClassLoader()));
      return new ConditionOutcome(chosen == wanted, "the store is " + chosen.value());
    } catch (LockConfigurationException e) {
      // The lock client's own bean method says so again, and the application does not start.
      return ConditionOutcome.noMatch(String.valueOf(e.getMessage()));
    }
  }

  static ClassLoader loader(@Nullable ClassLoader given) {
    ClassLoader loader = given == null ? ClassUtils.getDefaultClassLoader() : given;
    return loader == null ? ClassLoader.getSystemClassLoader() : loader;
  }
}
