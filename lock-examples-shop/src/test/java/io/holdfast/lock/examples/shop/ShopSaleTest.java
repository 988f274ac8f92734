package io.holdfast.lock.examples.shop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.testcontainers.DockerClientFactory;

/** The sale that {@code dev/shop} shows, on H2 and on PostgreSQL. */
@Tag("nightly")
@Timeout(value = 900, unit = TimeUnit.SECONDS) // Each of its waits has a deadline of its own.
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "there is no SIGSTOP")
class ShopSaleTest {
  private final ByteArrayOutputStream told = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(told, true, StandardCharsets.UTF_8);

  @Test
  void onH2EachTicketIsSoldOnceThoughOneIsFrozenAndOneIsKilled() throws Exception {
    try (Database database = Database.h2()) {
      assertThat(ShopSale.withTheLock(out, database)).as("Unsafe: %s", told).isTrue();
      assertThat(ShopSale.withAnOperator(out, database)).as("Unsafe: %s", told).isTrue();
    }
  }

  @Test
  void onPostgresEachTicketIsSoldOnceWithTheLockOnly() throws Exception {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    try (Database database = Database.postgres()) {
      assertThat(ShopSale.withTheLock(out, database)).as("Unsafe: %s", told).isTrue();
      assertThat(ShopSale.withAnOperator(out, database)).as("Unsafe: %s", told).isTrue();
      assertThat(ShopSale.withoutTheLock(out, database)).as("%s", told).isTrue();
    }
  }
}
