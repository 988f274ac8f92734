package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** The name of the lock client: its own property, or else the application's name. */
final class ClientName {
  static final String PROPERTY = "holdfast.client-name";

  private ClientName() {}

  /** Returns the name; null if neither is set, and the client takes the host's. */
  static @Nullable String of(HoldfastProperties properties, Environment environment) {
    String own = properties.clientName();
    String name = own == null ? environment.getProperty("spring.application.name") : own;
    return StringUtils.hasText(name) ? name : null;
  }
}
