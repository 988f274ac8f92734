package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One instance of the shop, over HTTP. */
record Web(URI address) {
  private static final JsonMapper JSON = new JsonMapper();
  private static final HttpClient HTTP = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .connectTimeout(Duration.ofSeconds(5))
      .build();

  /** The longest time for an answer; after it, an exception. */
  private static final Duration ANSWER_MAX = Duration.ofSeconds(20);

  static Web onPort(int port) {
    return new Web(URI.create("http://127.0.0.1:" + port));
  }

  static JsonNode json(HttpResponse<String> answer) {
    return JSON.readTree(answer.body());
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send(request(path));
  }

  HttpResponse<String> delete(String path) throws IOException, InterruptedException {
    return send(request(path).DELETE());
  }

  HttpResponse<String> open(String event, int tickets) throws IOException, InterruptedException {
    return send(request("/events/" + event + "?tickets=" + tickets).PUT(BodyPublishers.noBody()));
  }

  HttpResponse<String> buy(String event, String purchase) throws IOException, InterruptedException {
    return send(request("/events/" + event + "/tickets")
        .header("Idempotency-Key", purchase)
        .POST(BodyPublishers.noBody()));
  }

  /** Returns the number of tickets that the database says were sold. */
  int sold(String event) throws IOException, InterruptedException {
    return json(get("/events/" + event)).get("sold").asInt();
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(address.resolve(path)).timeout(ANSWER_MAX);
  }

  private static HttpResponse<String> send(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    return HTTP.send(request.build(), BodyHandlers.ofString());
  }
}
