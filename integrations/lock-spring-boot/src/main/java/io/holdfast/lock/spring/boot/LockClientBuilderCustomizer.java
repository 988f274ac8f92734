package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;

/**
 * A bean that changes the builder of the auto-configured lock client, for settings that have no
 * property. It is called when all properties have been applied, before the client is built. Several
 * are called in the order of Spring's {@code @Order}.
 */
@FunctionalInterface
public interface LockClientBuilderCustomizer {
  /**
   * Changes the builder.
   *
   * @param builder the builder of the store in use, for example a {@code RedisLocks.Builder}; it
   *     must not be kept
   */
  void customize(LockClientBuilder<?> builder);
}
