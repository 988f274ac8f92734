package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The endpoint over HTTP, as an administrator sees it. */
class ActuatorTest {
  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  void showsWhoHoldsWhatAndReleasesNothingUnlessThatIsAllowed() throws Exception {
    try (ConfigurableApplicationContext context = start();
        Lease lease = locks(context).get("orders/4 2?").tryLock().orElseThrow()) {
      HttpResponse<String> list = send(context, "GET", "locks?prefix=" + text("orders/"));
      assertThat(list.statusCode()).isEqualTo(200);
      assertThat(list.body())
          .contains("\"name\":\"orders/4 2?\"", "\"token\":" + lease.token(), "shop")
          .containsPattern("\"since\":\"20\\d\\d-")
          .contains("\"released\":false", "\"more\":false");
      assertThat(send(context, "GET", "locks?prefix=nobody").body()).contains("\"locks\":[]");
      assertThat(send(context, "GET", "locks?limit=0").statusCode()).isEqualTo(400);

      assertThat(release(context, lease.token()).statusCode()).isEqualTo(405);
      lease.verify();
    }
  }

  @Test
  void releasesByForceWithTheTokenOnlyOnceThatIsAllowed() throws Exception {
    try (ConfigurableApplicationContext context = start(
        "management.endpoint.locks.access=unrestricted", "holdfast.actuator.force-release=true")) {
      Lease lease = locks(context).get("orders/4 2?").tryLock().orElseThrow();

      assertThat(send(context, "DELETE", "locks?name=" + text("orders/4 2?")).statusCode())
          .isEqualTo(400);
      assertThat(release(context, lease.token() + 5_000).body()).contains("\"released\":false");
      assertThat(locks(context).get("orders/4 2?").inspect()).isPresent();

      assertThat(release(context, lease.token()).body()).contains("\"released\":true");
      assertThat(locks(context).get("orders/4 2?").inspect()).isEmpty();
    }
  }

  @Test
  void unrestrictedAccessToAllEndpointsAllowsNoForcedRelease() throws Exception {
    try (ConfigurableApplicationContext context =
            start("management.endpoints.access.default=unrestricted");
        Lease lease = locks(context).get("orders/4 2?").tryLock().orElseThrow()) {
      HttpResponse<String> refused = release(context, lease.token());

      assertThat(refused.statusCode()).isEqualTo(403);
      assertThat(refused.body())
          .contains("\"released\":false", "holdfast.actuator.force-release=true");
      lease.verify();
    }
  }

  @Test
  void theStoresHealthIsTheApplications() throws Exception {
    try (ConfigurableApplicationContext context = start()) {
      assertThat(send(context, "GET", "health").body())
          .contains("\"locks\":{", "\"status\":\"UP\"");

      locks(context).close();

      HttpResponse<String> down = send(context, "GET", "health");
      assertThat(down.statusCode()).isEqualTo(503);
      assertThat(down.body()).containsPattern("\"locks\":\\{[^}]*\\}?[^}]*\"status\":\"DOWN\"");
    }
  }

  private static LockClient locks(ConfigurableApplicationContext context) {
    return context.getBean(LockClient.class);
  }

  private static ConfigurableApplicationContext start(String... more) {
    return new SpringApplicationBuilder(App.class)
        .properties(
            "server.port=0",
            "spring.application.name=shop",
            "spring.autoconfigure.exclude="
                + "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "management.endpoints.web.exposure.include=health,locks",
            "management.endpoint.health.show-details=always",
            "management.health.redis.enabled=false",
            "holdfast.store=memory")
        .properties(more)
        .run();
  }

  private HttpResponse<String> release(ConfigurableApplicationContext context, long token)
      throws IOException, InterruptedException {
    return send(context, "DELETE", "locks?name=" + text("orders/4 2?") + "&token=" + token);
  }

  private HttpResponse<String> send(
      ConfigurableApplicationContext context, String method, String path)
      throws IOException, InterruptedException {
    int port = ((WebServerApplicationContext) context).getWebServer().getPort();
    return http.send(
        HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/actuator/" + path))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private static String text(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8);
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class App {}
}
