package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.spring.Locked;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.springframework.aot.AotDetector;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;

/** An application that is processed ahead of time, and looks at itself once it has started. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class AheadOfTimeApp {
  /** Starts it, and prints what it sees of itself. The arguments are properties of Spring Boot. */
  public static void main(String[] args) throws Exception {
    try (ConfigurableApplicationContext context =
        SpringApplication.run(AheadOfTimeApp.class, args)) {
      System.out.println("generated: " + AotDetector.useGeneratedArtifacts());
      System.out.println("locked: " + context.getBean(Orders.class).isLocked(new Order("42")));
      System.out.println("page: " + status(context, "/actuator/locks/page"));
      System.out.println("losses: " + status(context, "/actuator/locks/losses"));
      System.out.println("locks: " + status(context, "/actuator/locks"));
      System.out.println("health: " + status(context, "/actuator/health"));
    }
  }

  @Bean
  Orders orders(LockClient locks) {
    return new Orders(locks);
  }

  record Order(String id) {}

  static class Orders {
    private final LockClient locks;

    Orders(LockClient locks) {
      this.locks = locks;
    }

    @Locked(name = "orders/#{#order.id}", guard = true)
    @Transactional
    public boolean isLocked(Order order) {
      return locks.get("orders/" + order.id()).inspect().isPresent();
    }
  }

  private static int status(ConfigurableApplicationContext context, String path) throws Exception {
    URI uri = URI.create(
        "http://localhost:" + context.getEnvironment().getProperty("local.server.port") + path);
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
        .statusCode();
  }
}
