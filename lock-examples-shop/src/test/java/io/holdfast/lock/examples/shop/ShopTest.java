package io.holdfast.lock.examples.shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** Two instances of the shop in this JVM, on one database in memory. */
class ShopTest {
  private static final String DATABASE = "jdbc:h2:mem:" + UUID.randomUUID();

  private static ConfigurableApplicationContext first;
  private static ConfigurableApplicationContext second;

  @BeforeAll
  static void start() {
    first = start("shop-1");
    second = start("shop-2");
  }

  private static ConfigurableApplicationContext start(String name) {
    return SpringApplication.run(
        Shop.class,
        "--holdfast.client-name=" + name,
        "--server.address=127.0.0.1",
        "--server.port=0",
        "--spring.datasource.url=" + DATABASE,
        "--shop.payment=2ms",
        "--shop.wait=500ms");
  }

  @AfterAll
  static void end() {
    for (ConfigurableApplicationContext shop :
        new ConfigurableApplicationContext[] {first, second}) {
      if (shop != null) {
        shop.close();
      }
    }
  }

  private static Web web(ConfigurableApplicationContext shop) {
    return Web.onPort(
        shop.getEnvironment().getRequiredProperty("local.server.port", Integer.class));
  }

  @Test
  void eachTicketIsSoldOnce() throws Exception {
    web(first).open("rock-night", 40);
    try (Customers customers = Customers.of("rock-night", List.of(web(first), web(second)))) {
      customers.awaitSoldOut(Duration.ofSeconds(50));
      assertThat(web(second).sold("rock-night")).isEqualTo(40);
      assertThat(customers.tickets()).isEqualTo(40);
      assertThat(customers.different()).as("Unsafe: sold twice").isEqualTo(40);
    }
  }

  @Test
  void aPurchaseBuysOneTicketHoweverOftenItIsRepeated() throws Exception {
    assertThat(web(first).buy("gala", "mine").statusCode()).isEqualTo(404);
    assertThat(web(first).get("/events/gala").statusCode()).isEqualTo(404);
    web(first).open("gala", 1);
    web(second).open("gala", 7);
    for (ConfigurableApplicationContext shop : List.of(first, second)) {
      HttpResponse<String> answer = web(shop).buy("gala", "mine");
      assertThat(answer.statusCode()).isEqualTo(201);
      assertThat(Web.json(answer).get("number").asInt()).isEqualTo(1);
    }
    assertThat(web(first).buy("gala", "another").statusCode()).isEqualTo(410);
    assertThat(web(first).sold("gala")).isEqualTo(1);
  }

  @Test
  void whileSomebodyElseHasTheLockCustomersAreToldToTryAgain() throws Exception {
    web(first).open("opera", 1);
    try (Lease lease = first.getBean(LockClient.class).get("tickets/opera").lock()) {
      HttpResponse<String> busy = web(second).buy("opera", "mine");
      assertThat(busy.statusCode()).isEqualTo(503);
      assertThat(busy.headers().firstValue("Retry-After")).contains("1");

      HttpResponse<String> locks = web(second).get("/actuator/locks?prefix=tickets/opera");
      assertThat(Web.json(locks).at("/locks/0/holder").asString()).contains("shop-1");
      assertThat(Web.json(locks).at("/locks/0/token").asLong()).isEqualTo(lease.token());
    }
    assertThat(web(second).buy("opera", "mine").statusCode()).isEqualTo(201);
    assertThat(Web.json(web(first).get("/actuator/health")).get("status").asString())
        .isEqualTo("UP");
    assertThat(web(second).get("/actuator/prometheus").body())
        .contains("holdfast_lock_acquire_seconds_count{", "group=\"tickets\"", "outcome=\"taken\"");
  }
}
