package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;

/**
 * A last word on the settings of the auto-configured lock client, for those that have no property:
 * a bean of this type is called with the builder when all properties have been applied, before the
 * client is built. Several are called in the order of Spring's {@code @Order}.
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
