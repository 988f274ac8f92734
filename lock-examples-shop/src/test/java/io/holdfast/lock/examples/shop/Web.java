package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** JSON over HTTP. */
final class Web {
  private static final Duration CONNECT_MAX = Duration.ofSeconds(5);
  private static final JsonMapper JSON = new JsonMapper();

  /** HTTP/1.1: what a load balancer speaks to instances. */
  private final HttpClient http = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .connectTimeout(CONNECT_MAX)
      .build();

  record Answer(int status, JsonNode body) {}

  static JsonNode json(String text) {
    return JSON.readTree(text);
  }

  Answer get(URI uri) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)));
  }

  Answer delete(URI uri) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri).DELETE().timeout(Duration.ofSeconds(30)));
  }

  Answer put(URI uri, String json) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri)
        .header("Content-Type", "application/json")
        .PUT(HttpRequest.BodyPublishers.ofString(json))
        .timeout(Duration.ofSeconds(30)));
  }

  /** @param timeout after which the request is given up, with an exception */
  Answer buy(URI instance, String event, String purchase, Duration timeout)
      throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(instance.resolve("/events/" + event + "/tickets"))
        .header("Idempotency-Key", purchase)
        .POST(HttpRequest.BodyPublishers.noBody())
        .timeout(timeout));
  }

  private Answer send(HttpRequest.Builder request) throws IOException, InterruptedException {
    var response = http.send(request.build(), BodyHandlers.ofString());
    return new Answer(response.statusCode(), json(response.body()));
  }
}
