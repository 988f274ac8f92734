package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;
import tools.jackson.databind.JsonNode;

/**
 * A Prometheus server that scrapes instances of the shop each second. It is in the network of this
 * machine, since the instances listen to nobody else.
 */
final class Prometheus implements AutoCloseable {
  private static final int STEP_SECONDS = 2;
  private static final String CONFIGURATION = "/etc/prometheus/prometheus.yml";

  private final Web web = new Web();
  private final GenericContainer<?> server;
  private final URI address;

  @SuppressWarnings("resource") // Closed by close().
  Prometheus(List<Instance> instances) throws IOException {
    int port = freePort();
    address = URI.create("http://127.0.0.1:" + port);
    server = new GenericContainer<>("prom/prometheus:v2.53.3")
        .withNetworkMode("host")
        .withCopyToContainer(Transferable.of(configuration(instances)), CONFIGURATION)
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

  private static String configuration(List<Instance> instances) {
    return """
        global:
          scrape_interval: 1s
          scrape_timeout: 1s
        scrape_configs:
          - job_name: shop
            metrics_path: /actuator/prometheus
            static_configs:
              - targets: [%s]
        """.formatted(instances.stream()
        .map(instance -> "'" + instance.address().getAuthority() + "'")
        .collect(Collectors.joining(", ")));
  }

  /**
   * One line of a graph.
   *
   * @param numbers none is NaN, which a graph does not show
   */
  record Series(Map<String, String> labels, List<Double> numbers) {}

  /** The lines that a graph of this query would have between two times. */
  List<Series> graph(String query, Instant from, Instant to) throws Exception {
    JsonNode data = ask("/api/v1/query_range?query="
        + URLEncoder.encode(query, StandardCharsets.UTF_8) + "&start=" + from.getEpochSecond()
        + "&end=" + to.getEpochSecond() + "&step=" + STEP_SECONDS);
    List<Series> lines = new ArrayList<>();
    for (JsonNode result : data.get("result")) {
      Map<String, String> labels = new TreeMap<>();
      result
          .get("metric")
          .properties()
          .forEach(label -> labels.put(label.getKey(), label.getValue().asString()));
      List<Double> numbers = new ArrayList<>();
      for (JsonNode point : result.get("values")) {
        double number = Double.parseDouble(point.get(1).asString());
        if (!Double.isNaN(number)) {
          numbers.add(number);
        }
      }
      lines.add(new Series(labels, numbers));
    }
    return lines;
  }

  /** The values that a label of a metric had. */
  List<String> values(String metric, String label) throws Exception {
    List<String> values = new ArrayList<>();
    for (JsonNode value : ask("/api/v1/label/" + label + "/values?match%5B%5D=" + metric)) {
      values.add(value.asString());
    }
    return values;
  }

  private JsonNode ask(String path) throws Exception {
    Web.Answer answer = web.get(URI.create(address + path));
    if (answer.status() != 200) {
      throw new IllegalStateException("Prometheus refuses " + path + ": " + answer.body());
    }
    return answer.body().get("data");
  }

  @Override
  public void close() {
    server.stop();
  }
}
