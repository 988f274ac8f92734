package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * The health of the store, which is asked for the holder of an unused lock: up if it answers, down
 * with the reason if it does not within the store timeout. Takes no lock.
 */
final class LockHealthIndicator extends AbstractHealthIndicator {
  static final String NAME = "holdfast/health";

  private final LockClient client;

  LockHealthIndicator(LockClient client) {
    super("The store of the locks gave no usable answer");
    this.client = client;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    boolean held = client.get(NAME).inspect().isPresent();
    builder.up().withDetail("asked", NAME + (held ? " (held)" : " (free)"));
  }
}
