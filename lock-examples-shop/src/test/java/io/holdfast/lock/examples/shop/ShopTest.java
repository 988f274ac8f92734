package io.holdfast.lock.examples.shop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.testcontainers.DockerClientFactory;

/** Two instances of the shop on one database, under load. */
@Tag("one-jdk")
class ShopTest {
  private static final int TICKETS = 60;
  private static final Web WEB = new Web();
  private static Postgres postgres;

  @BeforeAll
  static void startDatabase() {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    postgres = new Postgres();
  }

  @AfterAll
  static void stopDatabase() {
    if (postgres != null) {
      postgres.close();
    }
  }

  @Test
  void eachTicketIsSoldOnceThoughTheInstanceThatHasTheLockIsKilled() throws Exception {
    List<Instance> instances = Instance.start(2, postgres);
    try (Sale sale = new Sale(postgres, instances, TICKETS)) {
      Sale.Outcome outcome = sale.run(true);

      assertThat(outcome.overlaps()).as("sales that were inside at once").isZero();
      assertThat(outcome.sold()).isEqualTo(TICKETS);
      assertThat(outcome.numbers()).as("different tickets").isEqualTo(TICKETS);
      assertThat(outcome.answered()).as("tickets that customers have").isEqualTo(TICKETS);
      assertThat(sale.books().soldBy()).as("who sold").hasSize(2);
    } finally {
      instances.forEach(Instance::close);
    }
  }

  @Test
  void withoutTheLockTooManyAreSold() throws Exception {
    List<Instance> instances = Instance.start(2, postgres, "holdfast.enabled=false");
    try (Sale sale = new Sale(postgres, instances, TICKETS)) {
      Sale.Outcome outcome = sale.run(false);

      assertThat(outcome.overlaps()).as("sales that were inside at once").isPositive();
      assertThat(outcome.sold()).isGreaterThan(TICKETS);
    } finally {
      instances.forEach(Instance::close);
    }
  }

  @Test
  void oneWhoFindsTheLockBusyIsToldToTryAgainAndAPurchaseBuysOneTicketOnly() throws Exception {
    List<Instance> instances = Instance.start(1, postgres, "shop.wait=100ms", "shop.moment=2s");
    try {
      URI shop = instances.get(0).address();
      String name = "gala-" + UUID.randomUUID().toString().substring(0, 8);
      URI event = shop.resolve("/events/" + name);
      assertThat(WEB.get(event).status()).isEqualTo(404);
      assertThat(WEB.put(event, "{\"tickets\": 1}").body().get("left").asInt()).isEqualTo(1);

      CompletableFuture<Web.Answer> first =
          CompletableFuture.supplyAsync(() -> buy(shop, name, "first"));
      awaitHolder(shop, "tickets/" + name);
      assertThat(buy(shop, name, "second").status()).isEqualTo(503);
      assertThat(first.get(20, TimeUnit.SECONDS).status()).isEqualTo(201);

      Web.Answer again = buy(shop, name, "first");
      assertThat(again.status()).isEqualTo(201);
      assertThat(again.body().get("number").asInt()).isEqualTo(1);
      assertThat(buy(shop, name, "second").status()).isEqualTo(409);
      assertThat(WEB.get(event).body().get("left").asInt()).isZero();
    } finally {
      instances.forEach(Instance::close);
    }
  }

  private static Web.Answer buy(URI shop, String event, String purchase) {
    try {
      return WEB.buy(shop, event, purchase, Duration.ofSeconds(20));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void awaitHolder(URI shop, String name) throws Exception {
    URI locks = shop.resolve("/actuator/locks?prefix=" + name);
    while (WEB.get(locks).body().get("locks").isEmpty()) {
      Thread.sleep(20); // The test's own timeout ends it.
    }
  }
}
