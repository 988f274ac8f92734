package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;
import tools.jackson.databind.JsonNode;

/**
 * A Prometheus server that scrapes instances of the shop each second. It is in the network of this
 * machine, since the instances listen to nobody else.
 */
final class Prometheus implements AutoCloseable {
  private static final String CONFIGURATION = "/etc/prometheus/prometheus.yml";

  private final GenericContainer<?> server;
  private final Web web;

  @SuppressWarnings("resource") // Closed by close().
  Prometheus(Instance... instances) throws IOException {
    int port = freePort();
    String targets = Stream.of(instances)
        .map(instance -> "'" + instance.web().address().getAuthority() + "'")
        .collect(Collectors.joining(", "));
    web = Web.onPort(port);
    server = new GenericContainer<>("prom/prometheus:v2.53.3")
        .withNetworkMode("host")
        .withCopyToContainer(Transferable.of("""
            global:
              scrape_interval: 1s
              scrape_timeout: 1s
            scrape_configs:
              - job_name: shop
                metrics_path: /actuator/prometheus
                static_configs:
                  - targets: [%s]
            """.formatted(targets)), CONFIGURATION)
        .withCommand(
            "--config.file=" + CONFIGURATION,
            "--storage.tsdb.path=/prometheus",
            "--web.listen-address=127.0.0.1:" + port)
        .waitingFor(Wait.forLogMessage(".*Server is ready to receive web requests.*", 1)
            .withStartupTimeout(Duration.ofMinutes(1)));
    server.start();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** Returns the highest value of a query over the last minutes; empty if it has none. */
  OptionalDouble most(String query) throws IOException, InterruptedException {
    List<Double> points = new ArrayList<>();
    for (JsonNode line :
        ask("query?query=" + encoded("max_over_time((" + query + ")[10m:1s])")).get("result")) {
      points.add(Double.parseDouble(line.get("value").get(1).asString()));
    }
    return points.stream().mapToDouble(point -> point).max();
  }

  /** Returns the values that a label of a metric had. */
  List<String> values(String metric, String label) throws IOException, InterruptedException {
    List<String> values = new ArrayList<>();
    ask("label/" + label + "/values?match" + encoded("[]") + "=" + metric)
        .forEach(value -> values.add(value.asString()));
    return values;
  }

  private JsonNode ask(String path) throws IOException, InterruptedException {
    HttpResponse<String> answer = web.get("/api/v1/" + path);
    if (answer.statusCode() != 200) {
      throw new IllegalStateException("Prometheus refuses " + path + ": " + answer.body());
    }
    return Web.json(answer).get("data");
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    server.stop();
  }
}
