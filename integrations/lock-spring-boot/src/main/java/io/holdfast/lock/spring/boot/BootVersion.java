package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/** The checks of the version of Spring Boot, and of the drivers that it manages. */
final class BootVersion {
  private static final int OLDEST_MAJOR = 4;

  /** A class that older versions of Jedis do not have. */
  private static final String JEDIS = "redis.clients.jedis.RedisClient";

  private BootVersion() {}

  /**
   * Checks that this works with the version of Spring Boot.
   *
   * @param version null if it is not known; it is then accepted
   * @throws LockConfigurationException it is older than 4.0
   */
  static void check(@Nullable String version) {
    if (version == null || !version.matches("\\d+\\..*")) {
      return;
    }
    if (Integer.parseInt(version.substring(0, version.indexOf('.'))) < OLDEST_MAJOR) {
      throw new LockConfigurationException(
          "Holdfast's auto-configuration needs Spring Boot 4.0 or later, and this is " + version,
          "raise the version of Spring Boot, or remove lock-spring-boot from the class path (or set"
              + " holdfast.enabled=false) and build the lock client in a @Bean method");
    }
  }

  /** Returns why there are no beans for the chosen store: its driver is not the expected one. */
  static LockConfigurationException noStoreOf(StoreKind chosen, ClassLoader loader) {
    return chosen == StoreKind.REDIS && !ClassUtils.isPresent(JEDIS, loader)
        ? new LockConfigurationException(
            "The locks are to be in Redis, and the Jedis on the class path is too old for that"
                + " (Spring Boot 4.0 chooses 7.0)",
            "set the property jedis.version of your build to 7.4.1 or later")
        : new LockConfigurationException(
            "The locks are to be in " + chosen.value() + ", and there is no bean named "
                + LockAutoConfiguration.STORE,
            "do not exclude Holdfast's own beans, or set holdfast.enabled=false; if the application"
                + " was processed ahead of time (AOT), set " + StoreChoice.PROPERTY
                + " when it is built, too");
  }
}
